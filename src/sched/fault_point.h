// sched/fault_point.h - where an operation comes to data that may have to be read from the disk.
//
// With mapped files a thread learns of that only by waiting. While such waits are frequent, the
// owner of an event loop that this thread runs lets another thread take it over before: else as
// many pages are read at once as there are loops. Otherwise, on other threads and in tests, this
// costs one thread-local load.
#pragma once

namespace sched {

class FaultPoint {
  public:
    // Before a lock on data is taken.
    static void pass() {
        if (t_hook_ != nullptr) t_hook_();
    }
    // Of the calling thread; null: nothing. Must be idempotent, as of BlockingSection.
    static void set_hook(void (*hook)()) { t_hook_ = hook; }

  private:
    using Hook = void (*)();
    static inline constinit thread_local Hook t_hook_ = nullptr;
};

}  // namespace sched

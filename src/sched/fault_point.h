// sched/fault_point.h - where an operation comes to data that may have to be read from the disk.
//
// With mapped files a thread learns of that only by waiting. While such waits are frequent, the
// owner of an event loop that this thread runs lets another thread take it over before: else as
// many pages are read at once as there are loops. Otherwise, on other threads and in tests, this
// costs one thread-local load.
#pragma once

#include "sched/tick.h"

namespace sched {

class FaultPoint {
  public:
    // Before a lock on data is taken.
    static void pass() {
        if (detail::t_state.before_blocking != nullptr) detail::t_state.before_blocking();
    }
    // Sets what the calling thread does there; null: nothing. The hook must be idempotent: once the
    // loop has been handed over, further calls during the same operation do nothing.
    static void set_hook(void (*hook)()) { detail::t_state.before_blocking = hook; }
};

}  // namespace sched

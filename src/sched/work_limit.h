// sched/work_limit.h - how much work one document may be, in ticks (sched/tick.h).
//
// A lock is yielded between documents, not inside one: others wait for as long as it takes to
// match, sort, project, change or index a single one, or to plan a query. One document's work
// therefore has a limit (parameter documentWorkTicks), beyond which the operation ends with an
// error of its own.
#pragma once

#include <atomic>
#include <cstdint>

#include "sched/tick.h"

namespace sched {

// Makes tick() throw Error 90001, while it is in scope, once the calling thread's operation has
// counted more than the limit since. In the scope of another one it does nothing: the work is a
// part of that one's. Work that nothing may end counts, and goes on.
class WorkLimit {
  public:
    static constexpr int64_t kDefaultTicks = 10'000'000;  // about a second

    // `work`: a literal, for the error: "the update of one document".
    explicit WorkLimit(const char* work)
        : outermost_(detail::t_state.work_end == detail::ThreadState::kNoLimit) {
        if (!outermost_) return;
        detail::t_state.work = work;
        detail::t_state.work_end = ticks() + limit();
    }
    ~WorkLimit() {
        if (outermost_) detail::t_state.work_end = detail::ThreadState::kNoLimit;
    }
    WorkLimit(const WorkLimit&) = delete;
    WorkLimit& operator=(const WorkLimit&) = delete;

    // Throws Error 90001 if the limit is exceeded, or would be after `ahead` ticks more.
    static void check(int64_t ahead = 0) {
        if (ticks() > detail::t_state.work_end - ahead) [[unlikely]]
            fail_exceeded();
    }

    // The same of a script of a client's, which the calling thread runs: while it holds a lock, a
    // twentieth is the limit.
    static void check_script();

    // Sets the limit for work that begins later; at any time, from any thread.
    static void set_limit(int64_t ticks) { limit_.store(ticks, std::memory_order_relaxed); }
    static int64_t limit() { return limit_.load(std::memory_order_relaxed); }

  private:
    [[noreturn]] static void fail_exceeded();
    static constexpr int64_t kOfScript = 20;
    static inline std::atomic<int64_t> limit_{kDefaultTicks};

    const bool outermost_;
};

}  // namespace sched

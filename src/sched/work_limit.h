// sched/work_limit.h - how much work one document may be, in ticks (sched/operation.h).
//
// A lock is yielded between documents, not inside one: others wait for as long as it takes to
// match, sort, project or change a single one, or to plan a query. So that has a limit (parameter
// documentWorkTicks), beyond which the operation ends with an error of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "sched/operation.h"

namespace sched {

// While in scope tick() throws Error 90001 once the calling thread's operation has counted more
// than the limit since. In the scope of another one it does nothing: the work is a part of that
// one's. What is uninterruptible counts, and goes on.
class WorkLimit {
  public:
    static constexpr int64_t kDefaultTicks = 10'000'000;  // about a second

    // `work`: a literal, for the error: "the update of one document".
    explicit WorkLimit(const char* work) : outermost_(end_ == kNone) {
        if (!outermost_) return;
        work_ = work;
        end_ = Operation::ticks() + limit();
    }
    ~WorkLimit() {
        if (outermost_) end_ = kNone;
    }
    WorkLimit(const WorkLimit&) = delete;
    WorkLimit& operator=(const WorkLimit&) = delete;

    // Throws Error 90001 if the limit is exceeded, or would be after `ahead` ticks more.
    static void check(int64_t ahead = 0) {
        if (Operation::ticks() > end_ - ahead) [[unlikely]]
            fail_exceeded();
    }

    // At any time, from any thread; for work that begins later.
    static void set_limit(int64_t ticks) { limit_.store(ticks, std::memory_order_relaxed); }
    static int64_t limit() { return limit_.load(std::memory_order_relaxed); }

  private:
    static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
    [[noreturn]] static void fail_exceeded();
    static inline std::atomic<int64_t> limit_{kDefaultTicks};
    static inline thread_local constinit int64_t end_ = kNone;  // by Operation::ticks()
    static inline thread_local constinit const char* work_ = nullptr;

    const bool outermost_;
};

}  // namespace sched

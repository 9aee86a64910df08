// sched/blocking.h - telling the event loop that this thread is about to be away.
//
// Commands run on the threads of the event loops. Before one of them blocks (a contended lock, a
// sync, a sleep) or starts long work (a scan past its first batch, an index build) it opens a
// BlockingSection; the loop's owner then lets a spare thread take over the loop, so that no
// connection waits for another one's work. On other threads, and in tests, a BlockingSection costs
// one thread-local load and does nothing.
#pragma once

#include "sched/tick.h"

namespace sched {

class BlockingSection {
  public:
    BlockingSection() {
        if (detail::t_state.before_blocking != nullptr) detail::t_state.before_blocking();
    }
    BlockingSection(const BlockingSection&) = delete;
    BlockingSection& operator=(const BlockingSection&) = delete;

    // Sets the hook for the calling thread; null: nothing. The loop's owner calls this. Every
    // section calls the hook at its start; the hook must be idempotent: once the loop has been
    // handed over, further calls during the same operation do nothing.
    static void set_hook(void (*hook)()) { detail::t_state.before_blocking = hook; }
};

}  // namespace sched

// sched/compute_slots.h - compute slots: how many long operations compute at the same time.
//
// A limited number of them computes at once, so that short operations find a processor, and
// operations that want a lock that they hold wait for few threads. The others wait for a slot,
// first come first served, and hold no lock then. An operation is long when it has computed for a
// kSlice; it keeps a slot for as long again if others wait, and releases it when
// its thread leaves it, or waits long for a lock. Work that has no point at which it could yield
// computes without a slot.
#pragma once

#include "sched/tick.h"

namespace sched {

class ComputeSlots {
  public:
    // How many may compute at once.
    static int capacity();

    // Whether the operation of the calling thread, which may hold locks, has to release these and
    // call yield_slot(). Takes a slot if one is free.
    static bool must_yield();
    // REQUIRES: no locks held. Gives the slot to the next waiter and waits for another. Returns
    // without one when the operation is interrupted (its next check() says why).
    static void yield_slot();
    // The calling thread leaves its operation, or waits for something that may take long.
    static void release() {
        if (detail::t_state.has_slot) [[unlikely]]
            release_held();
    }

    // How many wait for a slot.
    static int waiting();

  private:
    static void release_held();
};

}  // namespace sched

#include "sched/tick.h"

#include "sched/compute_slots.h"
#include "sched/operation.h"
#include "sched/work_limit.h"

namespace sched::detail {

void on_tick_budget_exhausted() {
    ThreadState& state = t_state;
    state.ticks += ThreadState::kTicksPerLook - state.ticks_left;
    state.ticks_left = ThreadState::kTicksPerLook;
    const bool may_end = state.uninterruptible <= state.may_end;
    if (may_end) Operation::check();
    if (state.operation == nullptr) return;
    if (may_end) WorkLimit::check();
    const ThreadState::Clock::time_point now = ThreadState::Clock::now();
    if (!state.slice_begun) {
        state.slice_begun = true;
        state.slice_end = now + kSlice;
    } else if (now >= state.slice_end) {
        state.slice_over = true;
        state.is_long = true;
        if (state.preemptible == nullptr || state.uninterruptible != 0) return;
        if (state.operation->locks().global() != 0 && !state.preemptible->give_up()) return;
        start_slice();
        ComputeSlots::yield_slot();
    }
}

}  // namespace sched::detail

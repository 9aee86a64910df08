#include "sched/work_limit.h"

#include "base/error.h"
#include "sched/operation.h"

namespace sched {

void WorkLimit::fail_exceeded() {
    base::fail(
        base::kWorkLimitExceeded,
        "{} takes more than {} ticks of work, about 100 ns each: make the document or the request "
        "smaller, or raise the parameter documentWorkTicks",
        detail::t_state.work, limit());
}

void WorkLimit::check_script() {
    const detail::ThreadState& state = detail::t_state;
    if (state.work_end == detail::ThreadState::kNoLimit || state.operation == nullptr ||
        state.uninterruptible > state.may_end || state.operation->locks().global() == 0)
        return;
    const int64_t most = limit() / kOfScript;
    if (ticks() <= state.work_end - limit() + most) return;
    base::fail(
        base::kWorkLimitExceeded,
        "{}: its script takes more than {} ticks of work, about 100 ns each, while others "
        "wait for the collection: make it do less, or raise the parameter documentWorkTicks, "
        "of which this is a twentieth",
        state.work, most);
}

}  // namespace sched

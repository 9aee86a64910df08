#include "sched/work_limit.h"

#include "base/error.h"

namespace sched {

void WorkLimit::fail_exceeded() {
    base::fail(
        base::kWorkLimitExceeded,
        "{} takes more than {} ticks of work, about 100 ns each: make the document or the request "
        "smaller, or raise the parameter documentWorkTicks",
        detail::t_state.work, limit());
}

}  // namespace sched

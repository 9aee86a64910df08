#include "base/work_limit.h"

#include "base/error.h"

namespace base {

void WorkLimit::fail_exceeded() {
    fail(kWorkLimitExceeded,
         "{} takes more than {} ticks of work, about 100 ns each: make the document or the request "
         "smaller, or raise the parameter documentWorkTicks",
         work_, limit());
}

}  // namespace base

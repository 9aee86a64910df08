#include "base/spare_descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace base {

int64_t descriptors_max() {
    constexpr int64_t kMany = std::numeric_limits<int64_t>::max();
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMany;
    return limit.rlim_cur > static_cast<rlim_t>(kMany) ? kMany
                                                       : static_cast<int64_t>(limit.rlim_cur);
}

bool is_spare_descriptor(int descriptor) {
    constexpr int64_t kSpare = 32;
    const int64_t all = descriptors_max();
    // The system gives the lowest number that is free: all below are in use.
    return descriptor >= all - std::min(kSpare, all / 8);
}

}  // namespace base

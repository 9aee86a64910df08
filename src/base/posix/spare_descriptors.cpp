#include "base/spare_descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace base {

bool is_spare_descriptor(int descriptor) {
    constexpr rlim_t kSpare = 32;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    // The system gives the lowest number that is free: all below are in use.
    return static_cast<rlim_t>(descriptor) >= limit.rlim_cur - std::min(kSpare, limit.rlim_cur / 8);
}

}  // namespace base

// base/boot_clock.h - a clock that is never set, and goes on while the machine sleeps.
#pragma once

#include <time.h>

#include <cstdint>

namespace base {

inline int64_t ms_of_boot_clock() {
    constexpr int64_t kMsPerSecond = 1000, kNsPerMs = 1'000'000;
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * kMsPerSecond + now.tv_nsec / kNsPerMs;
}

}  // namespace base

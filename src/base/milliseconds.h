// base/milliseconds.h - time as replies and documents show it: whole milliseconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace base {

// Since 1970-01-01 UTC, as BSON dates count.
inline int64_t ms_since_1970(
    std::chrono::system_clock::time_point at = std::chrono::system_clock::now()) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

// How long it has been since then.
inline int64_t ms_since(std::chrono::steady_clock::time_point started) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 started)
        .count();
}

}  // namespace base

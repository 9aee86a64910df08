// storage/spin.h - trying again for a moment, before a thread blocks.
//
// Locks are mostly held for some microseconds, and blocking hands a whole event loop over, which
// costs more than that.
#pragma once

namespace storage {

// Calls `take` until it returns true, for a microsecond or so. False: it never did, the caller had
// better wait.
template <typename Take>
bool spin(const Take& take) {
    constexpr int kTries = 24;
    constexpr int kPausesPerTry = 32;
    for (int i = 0; i < kTries; ++i) {
        if (take()) return true;
        for (int pause = 0; pause < kPausesPerTry; ++pause)
            __builtin_ia32_pause();
    }
    return false;
}

}  // namespace storage

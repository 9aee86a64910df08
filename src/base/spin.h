// base/spin.h - trying again for a moment, before a thread blocks.
//
// Locks are mostly held for some microseconds, and blocking hands a whole event loop over, which
// costs more than that.
#pragma once

namespace base {

// Tells the processor that this thread waits for what another one writes; takes some ten
// nanoseconds.
inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");  // its own hint, yield, takes no time on most
#else
    asm volatile("" ::: "memory");
#endif
}

// Calls `take` until it returns true, for a microsecond or so. False: it never did, the caller had
// better wait.
template <typename Take>
bool spin(const Take& take) {
    constexpr int kTries = 24;
    constexpr int kPausesPerTry = 32;
    for (int i = 0; i < kTries; ++i) {
        if (take()) return true;
        for (int pause = 0; pause < kPausesPerTry; ++pause)
            pause_processor();
    }
    return false;
}

}  // namespace base

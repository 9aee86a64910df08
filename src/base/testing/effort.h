// base/testing/effort.h - how much the randomised tests do.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace base {

// A sanitizer makes code several times slower: tests that repeat random work do a tenth of it
// there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kEffortDivisor = 10;
#else
constexpr int kEffortDivisor = 1;
#endif

// The number of repetitions of a test that usually does `usual`. TEST_EFFORT in the environment
// multiplies it: for long runs on demand, or, below 1, on an emulated processor.
inline int test_effort(int usual) {
    const char* const wish = std::getenv("TEST_EFFORT");
    const double factor = wish == nullptr ? 1 : std::atof(wish);
    return std::max(1, static_cast<int>(usual * factor / kEffortDivisor));
}

}  // namespace base

// query/match/random_fraction.h - the chance that $sampleRate and $rand have.
#pragma once

#include <random>

#include "base/thread_scratch.h"

namespace query {

// Returns a number from 0 up to 1, another one each time.
inline double random_fraction() {
    struct Source : std::mt19937_64 {
        Source() : std::mt19937_64(std::random_device{}()) {}
    };
    return std::uniform_real_distribution<double>(0, 1)(base::thread_scratch<Source>());
}

}  // namespace query

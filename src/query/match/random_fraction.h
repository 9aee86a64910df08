// query/match/random_fraction.h - the chance that $sampleRate and $rand have.
#pragma once

#include <random>

namespace query {

// Returns a number from 0 up to 1, another one each time.
inline double random_fraction() {
    thread_local std::mt19937_64 source{std::random_device{}()};
    return std::uniform_real_distribution<double>(0, 1)(source);
}

}  // namespace query

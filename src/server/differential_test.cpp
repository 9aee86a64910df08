// Random cases that must come out the same in every way (server/testing/differential.h).
// tests/differential/run.py runs as many as wanted, or for as long: DIFFERENTIAL_SEED in the
// environment says which data come first, DIFFERENTIAL_SEEDS how many or DIFFERENTIAL_SECONDS how
// long.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "base/log.h"
#include "server/testing/differential.h"

namespace server::differential {
namespace {

constexpr int kReadsPerData = 40;
constexpr int kWritesPerData = 6;

uint64_t from_environment(const char* name, uint64_t otherwise) {
    const char* given = std::getenv(name);
    return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

// The data of a seed, and some operations on it. Returns how many; empty `failure`: all agree.
int run_seed(Ways& ways, uint64_t seed, std::string& failure) {
    Generator generator(seed);
    Case one;
    generator.make_data(one);
    int done = 0;
    const auto agrees = [&](Node operation) {
        one.operation = std::move(operation);
        ++done;
        const std::string differs = ways.check(one);
        if (differs.empty()) return true;
        const Case small = shrink(ways, one);
        Case loaded = small;
        ways.load(loaded);
        failure = fmt::format("seed {}:\n{}{}\n", seed, small.show(), ways.check(loaded));
        return false;
    };
    ways.load(one);
    for (int i = 0; i < kReadsPerData; ++i)
        if (!agrees(generator.read())) return done;
    for (int i = 0; i < kWritesPerData; ++i) {
        if (i > 0) ways.load(one);
        if (!agrees(generator.write())) return done;
    }
    return done;
}

TEST(Differential, AllWaysAgree) {
    using Clock = std::chrono::steady_clock;
    const auto seconds = from_environment("DIFFERENTIAL_SECONDS", 0);
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    uint64_t seed = from_environment("DIFFERENTIAL_SEED", 1);
    const auto kFailuresShown = from_environment("DIFFERENTIAL_FAILURES", 1);
    const uint64_t seeds = from_environment("DIFFERENTIAL_SEEDS", 8);
    Ways ways;
    int cases = 0;
    uint64_t failures = 0;
    for (uint64_t n = 0; seconds == 0 ? n < seeds : Clock::now() < end; ++n, ++seed) {
        std::string failure;
        cases += run_seed(ways, seed, failure);
        if (failure.empty()) continue;
        ADD_FAILURE() << failure;
        if (++failures >= kFailuresShown) break;
    }
    fmt::print("{} cases, up to seed {}\n", cases, seed);
}

}  // namespace
}  // namespace server::differential

// crash/testing/random.h - numbers from a seed, the same on every machine. For this a call has one
// argument at most that takes a number: the compiler for another machine evaluates the arguments in
// another order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/testing/choices.h"

namespace crash {

inline uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}
inline uint64_t mixed(uint64_t a, uint64_t b) {
    return mixed(mixed(a) ^ b);
}

class Random {
  public:
    explicit Random(uint64_t seed) : state_(mixed(seed)) {}
    uint64_t next() { return mixed(state_++); }
    size_t below(size_t n) { return static_cast<size_t>(next() % n); }
    bool chance(int percent) { return below(100) < static_cast<size_t>(percent); }
    template <typename List>
    const auto& pick(const List& list) {
        return list[below(std::size(list))];
    }

  private:
    uint64_t state_;
};

// Chooses what a power cut leaves: about `percent` of the writes that were not synced, 0 to 100.
// Runs of one kind meet more than single ones by chance: nothing, all, little, much, half.
class SomeSurvives final : public os::Choices {
  public:
    SomeSurvives(uint64_t seed, int percent) : random_(seed), percent_(percent) {}
    size_t choose(size_t alternatives) override {
        if (percent_ == 0) return 0;
        if (percent_ == 100) return alternatives - 1;
        return random_.chance(percent_) ? 1 + random_.below(alternatives - 1) : 0;
    }

  private:
    Random random_;
    const int percent_;
};

}  // namespace crash

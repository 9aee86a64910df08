// os/testing/choices.h - the decisions about what a power cut leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace os {

// Decides what survives. A run of choices can be exhausted: see EveryChoice.
class Choices {
  public:
    virtual ~Choices() = default;
    virtual size_t choose(size_t alternatives) = 0;  // 0 .. alternatives - 1
};

// Walks the whole tree of choices: do { use } while (next()).
class EveryChoice final : public Choices {
  public:
    size_t choose(size_t alternatives) override;
    bool next();

  private:
    struct Step {
        size_t chosen, alternatives;
    };
    std::vector<Step> steps_;
    size_t at_ = 0;
};

// One of many samples: the first keeps nothing that was not synced, the second all of it, the
// others some.
class SampledChoices final : public Choices {
  public:
    explicit SampledChoices(unsigned seed) : seed_(seed), random_(seed) {}
    size_t choose(size_t alternatives) override {
        if (seed_ < 2) return seed_ * (alternatives - 1);
        return random_() % alternatives;
    }

  private:
    const unsigned seed_;
    std::mt19937 random_;
};

}  // namespace os

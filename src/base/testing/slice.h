// base/testing/slice.h - which cases of an exhaustive test are tried.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace base {

// One case in `of`, of all that a test numbers through. No two slices of one kind have a case in
// common, and all of them together are the whole.
class Slice {
  public:
    constexpr Slice(uint64_t of, uint64_t at) : of_(of), at_(at % of) {}

    // Whether the next case is tried.
    constexpr bool takes_next() { return offered_++ % of_ == at_; }
    // How many cases there were up to now, tried or not.
    constexpr uint64_t offered() const { return offered_; }

  private:
    uint64_t of_, at_;
    uint64_t offered_ = 0;
};

// For a test whose cases are too many for each change: one in `usual`. TEST_SLICE in the
// environment says which: a number, as tests/unit.py gives one for each day; or "whole", for all of
// them. Of a number fewer are tried where TEST_EFFORT is below 1 (effort.h).
inline Slice slice_from(const char* wish, uint64_t usual, const char* effort = nullptr) {
    const double factor = effort == nullptr ? 1 : std::atof(effort);
    if (factor > 0 && factor < 1)
        usual = static_cast<uint64_t>(static_cast<double>(usual) / factor);
    if (wish == nullptr) return {usual, 0};
    if (std::string_view(wish) == "whole") return {1, 0};
    return {usual, std::strtoull(wish, nullptr, 10)};
}
inline Slice test_slice(uint64_t usual) {
    return slice_from(std::getenv("TEST_SLICE"), usual, std::getenv("TEST_EFFORT"));
}

}  // namespace base

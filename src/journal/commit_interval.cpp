#include "journal/commit_interval.h"

#include <charconv>

#include "base/error.h"

namespace journal {

namespace {

constexpr int kLowestMs = 2;
constexpr int kHighestAtStartMs = 300;
constexpr int kHighestAtRuntimeMs = 499;

}  // namespace

CommitInterval parse_commit_interval(std::string_view milliseconds, IntervalSource source) {
    const bool start = source == IntervalSource::start_up;
    const int highest = start ? kHighestAtStartMs : kHighestAtRuntimeMs;
    int value = 0;
    const char* const end = milliseconds.data() + milliseconds.size();
    const auto [stop, error] = std::from_chars(milliseconds.data(), end, value);
    if (error != std::errc{} || stop != end)
        base::fail(base::kBadValue,
                   "journalCommitInterval must be a whole number of ms, not \"{}\"", milliseconds);
    if (value < kLowestMs || value > highest) {
        // The lower bound in the first text is wrong; operators and scripts know it so (D9).
        if (start)
            base::fail(base::kBadValue, "--journalCommitInterval out of allowed range (0-300ms)");
        base::fail(base::kBadValue, "journalCommitInterval must be between {} and {} ms, not {}",
                   kLowestMs, highest, value);
    }
    return int64_t{value} * 1000;
}

double shown_commit_interval_ms(CommitInterval interval) {
    return static_cast<double>(interval.value_or(0)) / 1000.0;
}

}  // namespace journal

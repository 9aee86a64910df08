#include "journal/commit_interval.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "journal/commit_schedule.h"

namespace journal {
namespace {

std::string refusal(std::string_view text, IntervalSource source) {
    try {
        parse_commit_interval(text, source);
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), base::kBadValue);
        return e.what();
    }
    return "accepted";
}

TEST(CommitInterval, RangesDifferByWhereTheValueComesFrom) {
    EXPECT_EQ(parse_commit_interval("2", IntervalSource::start_up), 2000);
    EXPECT_EQ(parse_commit_interval("300", IntervalSource::start_up), 300'000);
    EXPECT_EQ(parse_commit_interval("499", IntervalSource::runtime), 499'000);
    for (const char* text : {"0", "1", "301", "-5"})
        EXPECT_EQ(refusal(text, IntervalSource::start_up),
                  "--journalCommitInterval out of allowed range (0-300ms)");
    for (const char* text : {"0", "1", "500"})
        EXPECT_NE(refusal(text, IntervalSource::runtime), "accepted") << text;
    for (const char* text : {"", "x", "5x", "2.5"})
        EXPECT_NE(refusal(text, IntervalSource::start_up), "accepted") << text;
}

TEST(CommitInterval, SliceIsAThirdPlusOne) {
    EXPECT_EQ(CommitSchedule::slice_us(2000), 1000);
    EXPECT_EQ(CommitSchedule::slice_us(3000), 2000);
    EXPECT_EQ(CommitSchedule::slice_us(10'000), 4000);
    EXPECT_EQ(CommitSchedule::slice_us(30'000), 11'000);
    EXPECT_EQ(CommitSchedule::slice_us(100'000), 34'000);
    EXPECT_EQ(CommitSchedule::slice_us(300'000), 101'000);
    EXPECT_EQ(CommitSchedule::slice_us(499'000), 167'000);
}

TEST(CommitInterval, ShownAsZeroWhenNotSet) {
    EXPECT_EQ(shown_commit_interval_ms({}), 0);
    EXPECT_EQ(shown_commit_interval_ms(2000), 2);
}

}  // namespace
}  // namespace journal

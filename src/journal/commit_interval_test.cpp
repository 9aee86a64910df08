#include "journal/commit_schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "options/journal.h"
#include "options/testing/reset.h"

namespace journal {
namespace {

std::string refusal(std::string_view text, options::Source source) {
    try {
        options::journal_commit_interval.set_text(text, source);
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), base::kBadValue);
        return e.what();
    }
    return "accepted";
}

class CommitIntervalTest : public testing::Test {
  protected:
    ~CommitIntervalTest() override { options::reset(options::journal_commit_interval); }
};

TEST_F(CommitIntervalTest, RangesDifferByWhereTheValueComesFrom) {
    using options::Source;
    EXPECT_FALSE(configured_commit_interval());
    EXPECT_EQ(refusal("2", Source::start_up), "accepted");
    EXPECT_EQ(configured_commit_interval(), 2000);
    EXPECT_EQ(refusal("300", Source::start_up), "accepted");
    EXPECT_EQ(configured_commit_interval(), 300'000);
    EXPECT_EQ(refusal("499", Source::parameter), "accepted");
    EXPECT_EQ(configured_commit_interval(), 499'000);
    for (const char* text : {"0", "1", "301", "-5"})
        EXPECT_EQ(refusal(text, Source::start_up),
                  "--journalCommitInterval out of allowed range (0-300ms)");
    for (const char* text : {"0", "1", "500"})
        EXPECT_EQ(refusal(text, Source::parameter),
                  fmt::format("journalCommitInterval must be between 2 and 499 ms, not {}", text));
    for (const char* text : {"", "x", "5x", "2.5"})
        EXPECT_NE(refusal(text, Source::start_up), "accepted") << text;
    EXPECT_EQ(configured_commit_interval(), 499'000);
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

}  // namespace
}  // namespace journal

#include "journal/counters.h"

#include <gtest/gtest.h>

namespace journal {
namespace {

TEST(CountersTest, ReportTheLastCompletedInterval) {
    Counters counters;
    counters.rotate_if_due(1000);
    counters.record(Metric::commits);
    EXPECT_EQ(counters.last_interval()[Metric::commits], 0u);
    counters.rotate_if_due(1000 + Counters::kIntervalUs - 1);
    EXPECT_EQ(counters.last_interval()[Metric::commits], 0u);
    counters.rotate_if_due(1000 + Counters::kIntervalUs + 50'000);
    EXPECT_EQ(counters.last_interval()[Metric::commits], 1u);
    EXPECT_EQ(counters.last_interval().interval_us, Counters::kIntervalUs + 50'000);
    counters.record(Metric::commits, 5);
    EXPECT_EQ(counters.last_interval()[Metric::commits], 1u);
    counters.rotate_if_due(10'000'000);
    EXPECT_EQ(counters.last_interval()[Metric::commits], 5u);
    counters.rotate_if_due(20'000'000);
    EXPECT_EQ(counters.last_interval()[Metric::commits], 0u) << "not cumulative";
    EXPECT_EQ(counters.last_interval().compression(), 0.0);
}

}  // namespace
}  // namespace journal

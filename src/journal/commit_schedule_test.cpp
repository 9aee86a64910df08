// Timing arithmetic of journal spec 1.7 with a clock that moves only when a thread sleeps.

#include "journal/commit_schedule.h"

#include <gtest/gtest.h>

#include "os/testing/sim_clock.h"

namespace journal {
namespace {

struct Demand : CommitDemand {
    bool has_written() const override { return true; }
    bool much_uncommitted() const override { return much; }
    bool much = false;
};

class CommitScheduleTest : public testing::Test {
  protected:
    // Milliseconds of each sleep of one cycle.
    std::vector<int64_t> cycle() {
        const size_t before = clock.sleeps().size();
        schedule.wait();
        std::vector<int64_t> result;
        const auto all = clock.sleeps();
        for (size_t i = before; i < all.size(); ++i)
            result.push_back(all[i] / 1000);
        return result;
    }
    using Slices = std::vector<int64_t>;

    os::SimClock clock;
    Demand demand;
    CommitSchedule schedule{clock, demand};
};

TEST_F(CommitScheduleTest, SlicesOfTheTable) {
    const std::pair<int, int64_t> table[] = {{2, 1},   {3, 2},    {4, 2},     {5, 2},    {10, 4},
                                             {30, 11}, {100, 34}, {300, 101}, {499, 167}};
    for (const auto& [interval, slice] : table) {
        schedule.set_interval(interval * 1000);
        EXPECT_EQ(cycle(), (Slices{slice, slice, slice})) << interval;
        schedule.note_waiter();
        EXPECT_EQ(cycle(), Slices{slice}) << interval;
        schedule.note_commit(1);
    }
}

TEST_F(CommitScheduleTest, DefaultsDependOnTheDevice) {
    EXPECT_EQ(cycle(), (Slices{34, 34, 34}));
    schedule.set_default_interval_ms(CommitSchedule::kOtherDeviceIntervalMs);
    EXPECT_EQ(cycle(), (Slices{11, 11, 11}));
    schedule.set_interval(100'000);
    EXPECT_EQ(cycle(), (Slices{34, 34, 34})) << "a configured value is taken as it is";
}

TEST_F(CommitScheduleTest, HasteEndsASleepAlsoTheNextOne) {
    schedule.set_interval(10'000);
    clock.set_during_sleep([&] { schedule.hurry(); });
    EXPECT_EQ(cycle(), Slices{4});
    clock.set_during_sleep([] {});
    const int64_t before = clock.monotonic_us();
    schedule.hurry();  // while a commit runs
    cycle();
    EXPECT_EQ(clock.monotonic_us(), before);
    EXPECT_EQ(cycle(), (Slices{4, 4, 4})) << "and then no more";
}

TEST_F(CommitScheduleTest, AWaiterIsSeenAtTheNextBoundaryOnly) {
    schedule.set_interval(10'000);
    int sleeps = 0;
    int comes_in = 2;
    clock.set_during_sleep([&] {
        if (++sleeps == comes_in) schedule.note_waiter();
    });
    EXPECT_EQ(cycle(), (Slices{4, 4}));
    schedule.note_commit(1);
    sleeps = 0;
    comes_in = 3;
    EXPECT_EQ(cycle(), (Slices{4, 4, 4}));
}

TEST_F(CommitScheduleTest, TheEndOfACommitHidesWaitersThatCameDuringIt) {
    schedule.set_interval(10'000);
    schedule.note_waiter();  // while a commit runs, which does not satisfy it
    schedule.note_commit(0);
    EXPECT_EQ(cycle(), (Slices{4, 4, 4})) << "the old server's forgotten waiter";
    schedule.note_waiter();
    EXPECT_EQ(cycle(), Slices{4});
}

TEST_F(CommitScheduleTest, AWriteEndsNoWait) {
    schedule.set_interval(10'000);
    clock.set_during_sleep([&] { schedule.note_write(); });
    EXPECT_EQ(cycle(), (Slices{4, 4, 4}));
}

TEST_F(CommitScheduleTest, EveryTenthCycleRemaps) {
    for (int i = 1; i <= 30; ++i)
        EXPECT_EQ(schedule.remap_due(), i % 10 == 0) << i;
}

TEST_F(CommitScheduleTest, MuchUncommittedEndsTheWaitToo) {
    schedule.set_interval(10'000);
    demand.much = true;
    EXPECT_EQ(cycle(), Slices{4});
}

TEST_F(CommitScheduleTest, StopEndsTheWaitAndAllLaterOnes) {
    clock.set_during_sleep([&] { schedule.stop(); });
    EXPECT_EQ(cycle(), Slices{34});
    EXPECT_TRUE(schedule.stopping());
    EXPECT_EQ(cycle(), Slices{});
}

TEST_F(CommitScheduleTest, ANewIntervalActsOnTheNextCycle) {
    schedule.set_interval(30'000);
    clock.set_during_sleep([&] { schedule.set_interval(2'000); });
    EXPECT_EQ(cycle(), (Slices{11, 11, 11}));
    EXPECT_EQ(cycle(), (Slices{1, 1, 1}));
}

}  // namespace
}  // namespace journal

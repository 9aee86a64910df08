// Timing arithmetic of journal spec 1.7 with a clock that moves only when somebody sleeps.

#include "journal/commit_pacer.h"

#include <gtest/gtest.h>

#include "os/testing/sim_clock.h"

namespace journal {
namespace {

struct Demand : CommitDemand {
    bool somebody_waits() const override { return waiting; }
    bool much_uncommitted() const override { return much; }
    bool waiting = false, much = false;
};

class CommitPacerTest : public testing::Test {
  protected:
    // Milliseconds of each sleep of one cycle.
    std::vector<int64_t> cycle() {
        const size_t before = clock.sleeps().size();
        pacer.wait();
        std::vector<int64_t> result;
        const auto all = clock.sleeps();
        for (size_t i = before; i < all.size(); ++i)
            result.push_back(all[i] / 1000);
        return result;
    }
    using Slices = std::vector<int64_t>;

    os::SimClock clock;
    Demand demand;
    CommitPacer pacer{clock, demand};
};

TEST_F(CommitPacerTest, SlicesOfTheTable) {
    const std::pair<int, int64_t> table[] = {{2, 1},   {3, 2},    {4, 2},     {5, 2},    {10, 4},
                                             {30, 11}, {100, 34}, {300, 101}, {499, 167}};
    for (const auto& [interval, slice] : table) {
        pacer.set_interval(interval * 1000);
        demand.waiting = false;
        EXPECT_EQ(cycle(), (Slices{slice, slice, slice})) << interval;
        demand.waiting = true;
        EXPECT_EQ(cycle(), Slices{slice}) << interval;
    }
}

TEST_F(CommitPacerTest, DefaultsDependOnTheDevice) {
    EXPECT_EQ(cycle(), (Slices{34, 34, 34}));
    pacer.set_default_interval_ms(CommitPacer::kOtherDeviceIntervalMs);
    EXPECT_EQ(cycle(), (Slices{11, 11, 11}));
    pacer.set_interval(100'000);
    EXPECT_EQ(cycle(), (Slices{34, 34, 34})) << "a configured value is taken as it is";
}

TEST_F(CommitPacerTest, AWaiterIsSeenAtTheNextBoundaryOnly) {
    pacer.set_interval(10'000);
    int sleeps = 0;
    clock.set_during_sleep([&] { demand.waiting = ++sleeps == 2; });
    EXPECT_EQ(cycle(), (Slices{4, 4}));
    sleeps = 0;
    clock.set_during_sleep([&] { demand.waiting = ++sleeps == 3; });
    EXPECT_EQ(cycle(), (Slices{4, 4, 4}));
}

TEST_F(CommitPacerTest, MuchUncommittedEndsTheWaitToo) {
    pacer.set_interval(10'000);
    demand.much = true;
    EXPECT_EQ(cycle(), Slices{4});
}

TEST_F(CommitPacerTest, StopEndsTheWaitAndAllLaterOnes) {
    clock.set_during_sleep([&] { pacer.stop(); });
    EXPECT_EQ(cycle(), Slices{34});
    EXPECT_TRUE(pacer.stopping());
    EXPECT_EQ(cycle(), Slices{});
}

TEST_F(CommitPacerTest, ANewIntervalActsOnTheNextCycle) {
    pacer.set_interval(30'000);
    clock.set_during_sleep([&] { pacer.set_interval(2'000); });
    EXPECT_EQ(cycle(), (Slices{11, 11, 11}));
    EXPECT_EQ(cycle(), (Slices{1, 1, 1}));
}

}  // namespace
}  // namespace journal

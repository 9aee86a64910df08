// Random schedules over the code that decides elections (testing/schedule.h). A slice is tried by
// each run of the tests; TEST_SLICE=whole tries all 105,000.
#include "election/testing/schedule.h"

#include <gtest/gtest.h>

#include "base/testing/slice.h"

namespace election {
namespace {

constexpr uint64_t kSchedules = 15'000;  // of each aim
constexpr int kSteps = 3000;
constexpr uint64_t kSlice = 20;

class SchedulesTest : public testing::Test {
  protected:
    static Counts run(Aim aim) {
        Counts counts;
        base::Slice slice = base::test_slice(kSlice);
        int64_t tried = 0;
        for (uint64_t seed = 0; seed < kSchedules; ++seed) {
            if (!slice.takes_next()) continue;
            ++tried;
            const std::string failure = run_schedule(seed, kSteps, aim, &counts);
            EXPECT_EQ(failure, "") << "schedule " << seed;
            if (!failure.empty()) break;
        }
        std::printf(
            "%ld schedules of %d steps: elections %ld, of them renewals %ld; acknowledged %ld, "
            "configurations %ld, coordinators told again %ld, complete copies %ld\n",
            tried, kSteps, counts.elections, counts.renewals, counts.acknowledged,
            counts.configurations, counts.rebuilds, counts.copies);
        // What finds nothing because it does nothing is no test.
        EXPECT_GT(counts.elections, tried);
        EXPECT_GT(counts.acknowledged, 2 * tried);
        EXPECT_GT(counts.copies, 0);
        return counts;
    }
};

TEST_F(SchedulesTest, LoseNothingWithTheSameVoters) {
    EXPECT_GT(run(Aim::still).renewals, 0);
}

TEST_F(SchedulesTest, LoseNothingWhileVotersComeAndGo) {
    EXPECT_GT(run(Aim::reconfigure).configurations, 0);
}

TEST_F(SchedulesTest, LoseNothingWhileVotersComeAndGoOften) {
    EXPECT_GT(run(Aim::churn).configurations, 0);
}

TEST_F(SchedulesTest, LoseNothingWhileDisksAreLost) {
    run(Aim::loss);
}

TEST_F(SchedulesTest, LoseNothingWhereMessagesAreVeryLate) {
    run(Aim::late);
}

TEST_F(SchedulesTest, LoseNothingWhileTheCoordinatorLosesItsData) {
    EXPECT_GT(run(Aim::rebuild).rebuilds, 0);
}

TEST_F(SchedulesTest, LoseNothingWithAllOfIt) {
    const Counts counts = run(Aim::all);
    EXPECT_GT(counts.configurations, 0);
    EXPECT_GT(counts.rebuilds, 0);
}

}  // namespace
}  // namespace election

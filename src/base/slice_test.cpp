#include "base/testing/slice.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace base {
namespace {

// What a test tries that has so many cases.
std::vector<int> tried(Slice slice, int cases) {
    std::vector<int> taken;
    for (int i = 0; i < cases; ++i)
        if (slice.takes_next()) taken.push_back(i);
    EXPECT_EQ(slice.offered(), static_cast<uint64_t>(cases));
    return taken;
}

// Holds the promise of the usual tests: in so many days each case had its turn.
TEST(SliceTest, AllTogetherAreTheWholeAndEachCaseIsInOne) {
    constexpr uint64_t kDay = 20418;
    for (const uint64_t of : {1, 2, 5, 12, 100}) {
        std::vector<int> all;
        for (uint64_t at = kDay; at < kDay + of; ++at)
            for (const int one : tried(Slice(of, at), 97))
                all.push_back(one);
        EXPECT_EQ(all.size(), 97u) << of;
        EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), 97u) << of;
    }
}

TEST(SliceTest, TheEnvironmentSaysWhich) {
    EXPECT_EQ(tried(slice_from("2", 4), 9), (std::vector{2, 6}));
    EXPECT_EQ(tried(slice_from("20420", 4), 9), (std::vector{0, 4, 8}));
    EXPECT_EQ(tried(slice_from("whole", 4), 9).size(), 9u);
    EXPECT_EQ(tried(slice_from(nullptr, 4), 9), (std::vector{0, 4, 8}));
    EXPECT_EQ(tried(slice_from("2", 2, "0.5"), 9), (std::vector{2, 6}));
    EXPECT_EQ(tried(slice_from("2", 4, "3"), 9), (std::vector{2, 6}));
    EXPECT_EQ(tried(slice_from("whole", 4, "0.1"), 9).size(), 9u);
}

}  // namespace
}  // namespace base

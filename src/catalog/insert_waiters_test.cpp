#include "catalog/insert_waiters.h"

#include <gtest/gtest.h>

namespace catalog {
namespace {

TEST(InsertWaitersTest, CallsEachOnce) {
    InsertWaiters waiters;
    int first = 0;
    int second = 0;
    const auto kept = waiters.add([&first] { ++first; });
    const auto also_kept = waiters.add([&second] { ++second; });
    waiters.wake();
    waiters.wake();
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 1);
    EXPECT_EQ(waiters.size(), 0U);
}

TEST(InsertWaitersTest, ForgetsThoseWhoseWaitEnded) {
    InsertWaiters waiters;
    int woken = 0;
    const auto kept = waiters.add([&woken] { ++woken; });
    for (int i = 0; i < 10'000; ++i)
        EXPECT_NE(waiters.add([&woken] { woken += 1000; }), nullptr);
    EXPECT_LE(waiters.size(), 100U);
    waiters.wake();
    EXPECT_EQ(woken, 1);
}

}  // namespace
}  // namespace catalog

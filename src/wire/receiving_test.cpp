#include "wire/receiving.h"

#include <gtest/gtest.h>

namespace wire {
namespace {

using namespace std::chrono_literals;

struct TestReceiver : Receiving::Receiver {
    void stop_receiving() override { stopped = true; }
    bool stopped = false;
};

constexpr int64_t kMegabyte = 1 << 20;

TEST(Receiving, WhatTakesTooLongIsStopped) {
    Receiving receiving;
    receiving.set_limits({.bytes = 100 * kMegabyte, .time = 10s});
    TestReceiver small, large, complete;
    EXPECT_TRUE(receiving.may_go_on(small, 16));
    EXPECT_TRUE(receiving.may_go_on(large, kMegabyte));
    EXPECT_TRUE(receiving.may_go_on(complete, 16));
    receiving.over(complete);
    const auto now = Receiving::Clock::now();
    receiving.sweep(now + 9s);
    EXPECT_FALSE(small.stopped);
    receiving.sweep(now + 11s);
    EXPECT_TRUE(small.stopped);
    EXPECT_FALSE(large.stopped) << "it has a second more for each 64 KB";
    receiving.sweep(now + 10s + 17s);
    EXPECT_TRUE(large.stopped);
    EXPECT_FALSE(complete.stopped);
    EXPECT_EQ(receiving.bytes(), 0);
}

TEST(Receiving, LargeOnesTakeTurnsWhereMemoryIsShort) {
    Receiving receiving;
    receiving.set_limits({.bytes = 10 * kMegabyte, .time = 10s});
    TestReceiver first, second, small;
    EXPECT_TRUE(receiving.may_go_on(first, 6 * kMegabyte));
    EXPECT_FALSE(receiving.may_go_on(second, 6 * kMegabyte));
    EXPECT_TRUE(receiving.may_go_on(first, 40 * kMegabyte)) << "the oldest one gets to its end";
    EXPECT_TRUE(receiving.may_go_on(small, 2048)) << "small ones always go on";
    EXPECT_FALSE(receiving.may_go_on(second, 6 * kMegabyte));
    receiving.over(first);
    EXPECT_TRUE(receiving.may_go_on(second, 6 * kMegabyte));
    EXPECT_EQ(receiving.bytes(), 6 * kMegabyte + 2048);
    receiving.over(second);
    receiving.over(second);
    receiving.over(small);
    EXPECT_EQ(receiving.bytes(), 0);
    EXPECT_FALSE(first.stopped || second.stopped || small.stopped);
}

TEST(Receiving, TheOldestGiveWayWhereAllTakeTheirTime) {
    Receiving receiving;
    receiving.set_limits({.bytes = 10 * kMegabyte, .time = 1000s});
    TestReceiver first, second, third, small;
    for (TestReceiver* receiver : {&first, &second, &third})
        receiving.may_go_on(*receiver, 6 * kMegabyte);
    receiving.may_go_on(small, 16);
    const auto now = Receiving::Clock::now();
    receiving.enforce(now);
    EXPECT_FALSE(first.stopped) << "it has not had its time";
    receiving.enforce(now + Receiving::kPatience + 11s);
    EXPECT_FALSE(first.stopped) << "nor the second more for each 512 KB";
    receiving.enforce(now + Receiving::kPatience + 13s);
    EXPECT_TRUE(first.stopped && second.stopped);
    EXPECT_FALSE(third.stopped || small.stopped);
    receiving.over(third);
    receiving.over(small);
    EXPECT_EQ(receiving.bytes(), 0);
}

}  // namespace
}  // namespace wire

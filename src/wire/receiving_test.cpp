#include "wire/receiving.h"

#include <gtest/gtest.h>

namespace wire {
namespace {

using namespace std::chrono_literals;

struct TestReceiver : Receiving::Receiver {
    void evict() override { stopped = true; }
    bool stopped = false;
};

constexpr int64_t kMegabyte = 1 << 20;

// The tests have their receivers in arrays: of two that begin at the same time the one at the lower
// address counts as the older one.

TEST(Receiving, WhatTakesTooLongIsStopped) {
    Receiving receiving;
    receiving.set_limits({.bytes = 100 * kMegabyte, .time = 10s});
    TestReceiver each[3];
    auto& [small, large, complete] = each;
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
    EXPECT_EQ(receiving.bytes(), 16 + kMegabyte) << "they have not closed yet";
    receiving.over(small);
    receiving.over(large);
    EXPECT_EQ(receiving.bytes(), 0);
}

TEST(Receiving, LargeOnesGoOneByOneWhereMemoryIsShort) {
    Receiving receiving;
    receiving.set_limits({.bytes = 10 * kMegabyte, .time = 10s});
    TestReceiver each[3];
    auto& [first, second, small] = each;
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

TEST(Receiving, LargeOnesWaitWhileWhatIsServedHoldsAsMuchAgain) {
    Receiving receiving;
    receiving.set_limits({.bytes = 10 * kMegabyte, .time = 10s});
    TestReceiver each[4];
    auto& [first, second, third, small] = each;
    EXPECT_TRUE(receiving.may_go_on(first, 40 * kMegabyte)) << "nothing else is there";
    receiving.complete(first);
    EXPECT_EQ(receiving.bytes(), 0);
    EXPECT_EQ(receiving.served_bytes(), 40 * kMegabyte);
    const auto now = Receiving::Clock::now();
    EXPECT_FALSE(receiving.may_go_on(second, kMegabyte, now));
    EXPECT_FALSE(receiving.may_go_on(third, kMegabyte, now + 1s));
    EXPECT_TRUE(receiving.may_go_on(small, 2048, now + 1s)) << "small ones always go on";
    EXPECT_FALSE(receiving.may_go_on(third, kMegabyte, now + 100s));
    receiving.sweep(now + 100s);
    receiving.enforce(now + 100s);
    EXPECT_FALSE(second.stopped || third.stopped) << "they wait for what is served";
    receiving.over(first, now + 100s);
    EXPECT_EQ(receiving.served_bytes(), 0);
    EXPECT_TRUE(receiving.may_go_on(second, 5 * kMegabyte, now + 100s));
    receiving.complete(second);
    EXPECT_TRUE(receiving.may_go_on(third, 9 * kMegabyte, now + 100s)) << "as much again";
    EXPECT_FALSE(receiving.may_go_on(third, 16 * kMegabyte, now + 100s));
    EXPECT_TRUE(receiving.may_go_on(second, 16, now + 100s)) << "its next message";
    EXPECT_EQ(receiving.served_bytes(), 0);
    EXPECT_TRUE(receiving.may_go_on(third, 16 * kMegabyte, now + 100s));
    for (TestReceiver& receiver : each)
        receiving.over(receiver);
    EXPECT_EQ(receiving.bytes(), 0);
}

TEST(Receiving, WhatIsSmallIsNotCountedWhileItIsServed) {
    Receiving receiving;
    TestReceiver small;
    EXPECT_TRUE(receiving.may_go_on(small, Receiving::kSmallBytes));
    receiving.complete(small);
    EXPECT_EQ(receiving.bytes() + receiving.served_bytes(), 0);
    receiving.over(small);
}

TEST(Receiving, SmallOnesHaveHalfOfTheMemory) {
    Receiving receiving;
    receiving.set_limits({.bytes = 4 * kMegabyte, .time = 1000s});
    constexpr int kFit = 32;  // of 64 KB
    TestReceiver each[kFit + 2];
    const auto start = Receiving::Clock::now();
    for (int i = 0; i < kFit; ++i)
        EXPECT_TRUE(receiving.may_go_on(each[i], Receiving::kSmallBytes, start));
    TestReceiver& next = each[kFit];
    TestReceiver& last = each[kFit + 1];
    EXPECT_FALSE(receiving.may_go_on(next, Receiving::kSmallBytes, start));
    EXPECT_FALSE(receiving.may_go_on(last, 1, start + 1s));
    EXPECT_TRUE(receiving.may_go_on(each[1], Receiving::kSmallBytes, start)) << "it has its room";
    EXPECT_EQ(receiving.bytes(), 2 * kMegabyte);
    EXPECT_FALSE(each[0].stopped) << "it has not had its time";
    EXPECT_FALSE(receiving.may_go_on(next, Receiving::kSmallBytes, start + 2s));
    EXPECT_TRUE(each[0].stopped);
    EXPECT_FALSE(each[1].stopped) << "there will be room";
    EXPECT_FALSE(receiving.may_go_on(each[0], 1, start + 2s));
    EXPECT_FALSE(receiving.may_go_on(next, Receiving::kSmallBytes, start + 2s));
    EXPECT_FALSE(each[1].stopped) << "the first one has not closed yet";
    EXPECT_EQ(receiving.bytes(), 2 * kMegabyte);
    receiving.over(each[0]);
    EXPECT_TRUE(receiving.may_go_on(next, Receiving::kSmallBytes, start + 2s));
    receiving.over(each[1]);
    EXPECT_TRUE(receiving.may_go_on(last, Receiving::kSmallBytes, start + 2s));
    for (TestReceiver& receiver : each)
        receiving.over(receiver);
    EXPECT_EQ(receiving.bytes(), 0);
    EXPECT_FALSE(next.stopped || last.stopped);
}

TEST(Receiving, SmallOnesEndThatCouldGoOnForTheLongestTime) {
    Receiving receiving;
    constexpr int64_t kBytes = 50'000;
    receiving.set_limits({.bytes = 4 * kBytes, .time = 1000s});
    TestReceiver each[5];
    auto& [first, second, third, fourth, fifth] = each;
    const auto start = Receiving::Clock::now();
    EXPECT_TRUE(receiving.may_go_on(first, kBytes, start));
    EXPECT_TRUE(receiving.may_go_on(second, kBytes, start));
    for (TestReceiver* receiver : {&third, &fourth, &fifth})
        EXPECT_FALSE(receiving.may_go_on(*receiver, kBytes, start));
    const auto go_on_instead_of = [&](TestReceiver& receiver, TestReceiver& evicted, auto now) {
        EXPECT_FALSE(receiving.may_go_on(receiver, kBytes, now));
        EXPECT_TRUE(evicted.stopped);
        receiving.over(evicted);
        EXPECT_TRUE(receiving.may_go_on(receiver, kBytes, now));
    };
    go_on_instead_of(fifth, first, start + 1100ms);
    go_on_instead_of(third, second, start + 1900ms);
    go_on_instead_of(fourth, fifth, start + 2500ms);
    EXPECT_FALSE(third.stopped) << "it began before the fifth, but waited longer";
    for (TestReceiver& receiver : each)
        receiving.over(receiver);
    EXPECT_EQ(receiving.bytes(), 0);
}

TEST(Receiving, SmallOnesThatAreHeldBackEndWhereNothingElseIsThere) {
    Receiving receiving;
    receiving.set_limits({.bytes = 8 * 2048, .time = 1000s});
    TestReceiver each[4];
    const auto start = Receiving::Clock::now();
    for (TestReceiver& receiver : each)
        EXPECT_TRUE(receiving.may_go_on(receiver, 2048, start));
    for (TestReceiver& receiver : each)
        EXPECT_FALSE(receiving.may_go_on(receiver, 3 * 2048, start + 500ms));
    EXPECT_FALSE(receiving.may_go_on(each[3], 3 * 2048, start + 1400ms));
    EXPECT_FALSE(receiving.may_go_on(each[3], 3 * 2048, start + 1600ms));
    EXPECT_TRUE(each[0].stopped && each[1].stopped);
    EXPECT_FALSE(each[2].stopped || each[3].stopped);
    receiving.over(each[0]);
    receiving.over(each[1]);
    EXPECT_TRUE(receiving.may_go_on(each[3], 3 * 2048, start + 1600ms));
    EXPECT_EQ(receiving.bytes(), 4 * 2048);
}

TEST(Receiving, SmallOnesAreStoppedWhereThereIsNothingLarge) {
    Receiving sending;
    sending.set_limits({.bytes = kMegabyte, .time = 1000s});
    TestReceiver each[20];
    const auto start = Receiving::Clock::now();
    for (TestReceiver& receiver : each)
        sending.goes_on(receiver, Receiving::kSmallBytes, start);
    sending.enforce(start + Receiving::kLargeStallTimeout);
    EXPECT_FALSE(each[0].stopped) << "it has not had its time";
    sending.enforce(start + Receiving::kLargeStallTimeout + 1s);
    EXPECT_TRUE(each[3].stopped);
    EXPECT_FALSE(each[4].stopped);
    sending.enforce(start + Receiving::kLargeStallTimeout + 1s);
    EXPECT_FALSE(each[4].stopped) << "those have not closed yet";
    for (TestReceiver& receiver : each)
        if (receiver.stopped) sending.over(receiver);
    EXPECT_EQ(sending.bytes(), kMegabyte);
}

TEST(Receiving, TheOldestAreStoppedWhereNothingMoves) {
    Receiving receiving;
    receiving.set_limits({.bytes = 10 * kMegabyte, .time = 1000s});
    TestReceiver each[4];
    auto& [first, second, third, small] = each;
    const auto start = Receiving::Clock::now();
    for (TestReceiver* receiver : {&first, &second, &third})
        receiving.may_go_on(*receiver, 6 * kMegabyte, start);
    receiving.may_go_on(small, 16, start);
    receiving.enforce(start + Receiving::kLargeStallTimeout);
    EXPECT_FALSE(first.stopped) << "it has not had its time";
    receiving.enforce(start + Receiving::kLargeStallTimeout + 1s);
    EXPECT_TRUE(first.stopped && second.stopped);
    EXPECT_FALSE(third.stopped || small.stopped);
    EXPECT_FALSE(receiving.may_go_on(small, kMegabyte, start)) << "those have not closed yet";
    for (TestReceiver& receiver : each)
        receiving.over(receiver);
    EXPECT_EQ(receiving.bytes(), 0);
}

TEST(Receiving, GrowingIsGettingOn) {
    Receiving receiving;
    receiving.set_limits({.bytes = 16 * kMegabyte, .time = 1000s});
    TestReceiver each[2];
    auto& [first, second] = each;
    const auto start = Receiving::Clock::now();
    for (int i = 0; i < 14; ++i) {  // a megabyte in 4 s each
        receiving.goes_on(first, (9 + i) * kMegabyte, start + i * 4s);
        receiving.may_go_on(second, (8 + i) * kMegabyte, start + i * 4s);
        receiving.enforce(start + i * 4s);
        EXPECT_EQ(first.stopped, 4 * i > 5 + 2 * (9 + i)) << i << ", its own time";
        if (first.stopped) break;
    }
}

TEST(Receiving, WhatIsHeldBackHasItsTimeAfterwards) {
    Receiving receiving;
    receiving.set_limits({.bytes = 10 * kMegabyte, .time = 10s});
    TestReceiver each[2];
    auto& [first, second] = each;
    const auto start = Receiving::Clock::now();
    EXPECT_TRUE(receiving.may_go_on(first, 9 * kMegabyte, start));
    EXPECT_FALSE(receiving.may_go_on(second, 2 * kMegabyte, start));
    receiving.sweep(start + 100s);
    EXPECT_FALSE(first.stopped || second.stopped) << "144 s more for 9 MB; not its turn";
    receiving.over(first, start + 100s);
    EXPECT_TRUE(receiving.may_go_on(second, 2 * kMegabyte, start + 100s));
    receiving.sweep(start + 141s);
    EXPECT_FALSE(second.stopped);
    receiving.sweep(start + 143s);
    EXPECT_TRUE(second.stopped) << "10 s and 32 for 2 MB";
}

TEST(Receiving, WhatIsServedMayLeaveNoRoomForOthers) {
    Receiving receiving;
    receiving.set_limits({.bytes = 16 * kMegabyte, .with_served_bytes = 20 * kMegabyte});
    TestReceiver served, next;
    const auto start = Receiving::Clock::now();
    EXPECT_TRUE(receiving.may_go_on(served, 15 * kMegabyte, start));
    receiving.complete(served, start);
    EXPECT_TRUE(receiving.may_go_on(next, 4 * kMegabyte, start));
    EXPECT_FALSE(receiving.may_go_on(next, 8 * kMegabyte, start));
    receiving.over(served, start + 1s);
    EXPECT_TRUE(receiving.may_go_on(next, 15 * kMegabyte, start + 1s));
    receiving.over(next, start + 1s);
}

TEST(Receiving, OneThatDoesNotUseItsTimeIsStoppedWhateverTheOthersDo) {
    Receiving receiving;
    receiving.set_limits({.bytes = 10 * kMegabyte, .time = 1000s});
    TestReceiver each[3];
    auto& [stuck, other, waiting] = each;
    const auto start = Receiving::Clock::now();
    EXPECT_TRUE(receiving.may_go_on(stuck, 9 * kMegabyte, start));
    EXPECT_FALSE(receiving.may_go_on(waiting, 2 * kMegabyte, start));
    for (int i = 1; i <= 24; ++i) {
        const auto now = start + i * 1s;
        receiving.may_go_on(other, kMegabyte, now);
        receiving.over(other, now);
        receiving.enforce(now);
        EXPECT_EQ(stuck.stopped, i > 5 + 18) << i;
    }
    receiving.over(stuck, start + 24s);
    EXPECT_TRUE(receiving.may_go_on(waiting, 2 * kMegabyte, start + 25s));
}

}  // namespace
}  // namespace wire

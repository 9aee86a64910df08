#include "sched/operation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/error.h"
#include "base/testing/effort.h"
#include "sched/interruption.h"

namespace sched {
namespace {

int code_of_check(const Operation& operation) {
    try {
        operation.check_interrupt();
        return 0;
    } catch (const base::Error& error) {
        return error.code();
    }
}

TEST(Operation, EndsAtItsNextCheckWhenKilled) {
    Operation operation;
    operation.start();
    EXPECT_EQ(code_of_check(operation), 0);
    operation.kill(operation.id());
    EXPECT_TRUE(operation.kill_pending());
    EXPECT_EQ(code_of_check(operation), 11601);
}

TEST(Operation, SparesTheNextOneOfItsConnection) {
    Operation operation;
    operation.start();
    const uint32_t first = operation.id();
    operation.finish();
    operation.start();
    operation.kill(first);
    EXPECT_FALSE(operation.kill_pending());
    EXPECT_EQ(code_of_check(operation), 0);

    operation.kill(operation.id());
    operation.finish();
    operation.start();
    EXPECT_EQ(code_of_check(operation), 0);
}

TEST(Operation, WhatMayNotEndStillUsesItsSliceUp) {
    Operation operation;
    const Operation::Scope scope(&operation);
    operation.start();
    operation.kill(operation.id());
    {
        const Uninterruptible whole;
        while (!slice_over())
            tick();
    }
    EXPECT_THROW(
        {
            for (int i = 0; i < 100; ++i)
                tick();
        },
        base::Error);
    start_slice();
}

// The engine does so for what an operation shares with others, again and again while it writes.
TEST(Operation, ItsSlicesGoOnAfterDetachedWork) {
    Operation operation;
    operation.start();
    const Operation::Scope scope(&operation);
    const auto end = Operation::Clock::now() + 100 * kSlice;
    while (!slice_over() && Operation::Clock::now() < end) {
        tick();
        const Operation::Scope detached(nullptr);
    }
    EXPECT_TRUE(slice_over());
    EXPECT_TRUE(is_long());
}

// A mistake becomes another error one level up, the end of an operation does not.
TEST(Operation, ItsInterruptNamesItsCause) {
    const auto wrapped = [](const base::Error& cause) {
        try {
            fail_because(cause, 16810, "bad query: {}", cause.what());
        } catch (const base::Error& error) {
            return error;
        }
    };
    for (const int code :
         {base::kExceededTimeLimit, base::kInterrupted, base::kInterruptedAtShutdown}) {
        const base::Error end(code, "the end");
        EXPECT_TRUE(is_interruption(end));
        EXPECT_EQ(wrapped(end).code(), code);
        EXPECT_STREQ(wrapped(end).what(), "the end");
    }
    const base::Error mistake(base::kBadValue, "no number");
    EXPECT_FALSE(is_interruption(mistake));
    EXPECT_EQ(wrapped(mistake).code(), 16810);
    EXPECT_STREQ(wrapped(mistake).what(), "bad query: no number");
}

// For the thread sanitizer: currentOp and killOp examine operations while they come and go.
TEST(Operation, IsSeenByOtherThreadsWhileItRuns) {
    Operation operation;
    std::atomic<int> seen{0};
    const int enough = base::test_effort(1000);
    std::thread watcher([&] {
        uint32_t last = 0;
        Operation::Clock::time_point latest{};
        while (seen < enough) {
            if (!operation.active()) continue;
            const uint32_t id = operation.id();
            EXPECT_GE(id, last);
            const auto started = operation.started();
            EXPECT_GE(started, latest);
            operation.kill(id);
            last = id;
            latest = started;
            ++seen;
        }
    });
    while (seen < enough) {
        operation.start();
        operation.finish();
    }
    watcher.join();
}

}  // namespace
}  // namespace sched

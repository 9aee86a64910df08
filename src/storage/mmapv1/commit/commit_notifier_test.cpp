#include "storage/mmapv1/commit/commit_notifier.h"

#include <gtest/gtest.h>

namespace mmapv1 {
namespace {

struct Waiter : storage::CommitWaiter {
    Waiter() {
        done = [](storage::CommitWaiter* w) { static_cast<Waiter*>(w)->finished = true; };
    }
    bool finished = false;
};

// Holds J13.
TEST(CommitNotifier, OnlyACommitThatBeginsLaterCounts) {
    journal::Counters counters;
    CommitNotifier notifier(counters);
    Waiter early, late;
    notifier.add(&early);
    const uint64_t first = notifier.begin_commit();
    notifier.add(&late);
    notifier.finish_commit(first);
    EXPECT_TRUE(early.finished);
    EXPECT_FALSE(late.finished);
    notifier.finish_commit(notifier.begin_commit());
    EXPECT_TRUE(late.finished);
}

TEST(CommitNotifier, OneCommitFinishesAllItCovers) {
    journal::Counters counters;
    CommitNotifier notifier(counters);
    Waiter waiters[5];
    for (Waiter& waiter : waiters)
        notifier.add(&waiter);
    notifier.finish_commit(notifier.begin_commit());
    for (const Waiter& waiter : waiters)
        EXPECT_TRUE(waiter.finished);
    counters.rotate_if_due(0);
    counters.rotate_if_due(journal::Counters::kIntervalUs);
    EXPECT_EQ(counters.last_interval()[journal::Metric::acknowledged_waiters], 5u);
}

TEST(CommitNotifier, TheEndOfACommitHidesThoseWhoCameMeanwhile) {
    journal::Counters counters;
    CommitNotifier notifier(counters);
    Waiter late, later;
    EXPECT_FALSE(notifier.somebody_waits());
    const uint64_t running = notifier.begin_commit();
    notifier.add(&late);
    EXPECT_TRUE(notifier.somebody_waits());
    notifier.finish_commit(running);
    EXPECT_FALSE(notifier.somebody_waits()) << "the old server's forgotten waiter";
    notifier.add(&later);
    EXPECT_TRUE(notifier.somebody_waits());
    notifier.finish_commit(notifier.begin_commit());
    EXPECT_TRUE(late.finished && later.finished);
}

TEST(CommitNotifier, AWaiterMayRegisterAgainFromDone) {
    struct Again : storage::CommitWaiter {
        CommitNotifier* notifier;
        int times = 0;
    } again{};
    journal::Counters counters;
    CommitNotifier notifier(counters);
    again.notifier = &notifier;
    again.done = [](storage::CommitWaiter* w) {
        auto* self = static_cast<Again*>(w);
        ++self->times;
        self->notifier->add(self);
    };
    notifier.add(&again);
    notifier.finish_commit(notifier.begin_commit());
    EXPECT_EQ(again.times, 1);
    notifier.finish_commit(notifier.begin_commit());
    EXPECT_EQ(again.times, 2);
}

}  // namespace
}  // namespace mmapv1

#include "storage/mmapv1/commit/commit_notifier.h"

#include <gtest/gtest.h>

#include <string>

namespace mmapv1 {
namespace {

struct FlagWaiter : storage::CommitWaiter {
    FlagWaiter() {
        done = [](storage::CommitWaiter* w) { static_cast<FlagWaiter*>(w)->finished = true; };
    }
    bool finished = false;
};

// Records its calls.
struct Schedule : journal::CommitSchedule {
    Schedule() : CommitSchedule(os::system_clock(), nothing) {}
    void note_waiter() override { told += " waiter"; }
    void note_commit(int satisfied) override { told += " " + std::to_string(satisfied); }

    struct Nothing : journal::CommitDemand {
        bool has_written() const override { return false; }
        bool much_uncommitted() const override { return false; }
    } nothing;
    std::string told;
};

struct Notifying {
    journal::Counters counters;
    Schedule schedule;
    CommitNotifier notifier{counters, schedule};
};

// Holds J13.
TEST(CommitNotifier, OnlyACommitThatBeginsLaterCounts) {
    Notifying it;
    FlagWaiter early, late;
    it.notifier.add(&early);
    const uint64_t first = it.notifier.begin_commit();
    it.notifier.add(&late);
    it.notifier.finish_commit(first);
    EXPECT_TRUE(early.finished);
    EXPECT_FALSE(late.finished);
    it.notifier.finish_commit(it.notifier.begin_commit());
    EXPECT_TRUE(late.finished);
}

TEST(CommitNotifier, OneCommitFinishesAllItCovers) {
    Notifying it;
    FlagWaiter waiters[5];
    for (FlagWaiter& waiter : waiters)
        it.notifier.add(&waiter);
    it.notifier.finish_commit(it.notifier.begin_commit());
    for (const FlagWaiter& waiter : waiters)
        EXPECT_TRUE(waiter.finished);
    it.counters.rotate_if_due(0);
    it.counters.rotate_if_due(journal::Counters::kIntervalUs);
    EXPECT_EQ(it.counters.last_interval()[journal::Metric::acknowledged_waiters], 5u);
}

TEST(CommitNotifier, TellsTheScheduleOfWaitersAndCommitsInTheirOrder) {
    Notifying it;
    FlagWaiter early, late;
    it.notifier.add(&early);
    const uint64_t running = it.notifier.begin_commit();
    it.notifier.add(&late);
    it.notifier.finish_commit(running);
    it.notifier.finish_commit(it.notifier.begin_commit());
    it.notifier.finish_commit(it.notifier.begin_commit());
    EXPECT_EQ(it.schedule.told, " waiter waiter 1 1 0");
    EXPECT_TRUE(early.finished && late.finished);
}

TEST(CommitNotifier, AWaiterMayRegisterAgainFromDone) {
    Notifying it;
    struct Again : storage::CommitWaiter {
        CommitNotifier* notifier;
        int times = 0;
    } again{};
    again.notifier = &it.notifier;
    again.done = [](storage::CommitWaiter* w) {
        auto* self = static_cast<Again*>(w);
        ++self->times;
        self->notifier->add(self);
    };
    it.notifier.add(&again);
    it.notifier.finish_commit(it.notifier.begin_commit());
    EXPECT_EQ(again.times, 1);
    it.notifier.finish_commit(it.notifier.begin_commit());
    EXPECT_EQ(again.times, 2);
}

}  // namespace
}  // namespace mmapv1

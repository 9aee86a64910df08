#include "storage/kv/log_sync.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "storage/kv/bytes.h"
#include "storage/kv/testing/memory_map.h"

namespace kv {
namespace {

constexpr Table kTable{kFirstTable};
constexpr int64_t kShortestUs = 2000;
constexpr int64_t kHourUs = int64_t{3600} * 1'000'000;

class LogSyncTest : public testing::Test {
  protected:
    LogSyncTest() {
        store.before_unlock();
        map->add_table(kTable, Kind::documents);
    }
    void write() {
        const storage::DatabaseLock lock(locks, "test", true);
        store.session().put(kTable, as_bytes("key"), as_bytes("value"));
    }
    template <typename Condition>
    static void wait_until(const Condition& condition) {
        while (!condition())
            std::this_thread::yield();
    }

    storage::LockManager locks;
    MemoryMap* map = new MemoryMap;
    Store store{std::unique_ptr<Map>(map), locks};
};

TEST_F(LogSyncTest, AWaiterIsServedOnceTheLogIsSynced) {
    LogSync durability(store, {.commit_interval = kHourUs});
    write();
    EXPECT_EQ(map->syncs, 0);
    durability.await_commit_blocking();
    EXPECT_EQ(map->syncs, 1);
    write();
    durability.await_commit_blocking();
    EXPECT_EQ(map->syncs, 2);
}

TEST_F(LogSyncTest, ACommitThatMemoryIsTooLittleForIsRefusedBeforeItBegins) {
    map->commit_bytes = 1000;
    LogSync durability(store, {.commit_interval = kHourUs});
    const storage::DatabaseLock lock(locks, "test", true);
    EXPECT_NO_THROW(durability.make_room(1000));
    try {
        durability.make_room(1001);
        FAIL();
    } catch (const base::Error& error) {
        EXPECT_EQ(error.code(), base::kOperationFailed);
        EXPECT_NE(std::string(error.what()).find("one commit carries 1000;"), std::string::npos)
            << error.what();
    }
    EXPECT_EQ(store.changed_bytes(), 0U);
}

TEST_F(LogSyncTest, WhatIsSyncedAlreadyNeedsNoOtherSync) {
    LogSync durability(store, {.commit_interval = kHourUs});
    write();
    durability.await_commit_blocking();
    durability.await_commit_blocking();
    EXPECT_EQ(map->syncs, 1);
}

TEST_F(LogSyncTest, WritesWithoutAWaiterAreSyncedAfterTheInterval) {
    LogSync durability(store, {.commit_interval = kShortestUs});
    write();
    wait_until([this] { return map->syncs == 1; });
}

TEST_F(LogSyncTest, WhoComesDuringASyncIsServedByTheNext) {
    LogSync durability(store, {.commit_interval = kHourUs});
    struct SecondWaiter : storage::CommitWaiter {
        std::atomic<bool> is_done{false};
    } second;
    second.done = [](storage::CommitWaiter* waiter) {
        static_cast<SecondWaiter*>(waiter)->is_done = true;
    };
    bool is_first = true;
    map->on_sync = [&] {
        if (!std::exchange(is_first, false)) return;
        write();
        EXPECT_FALSE(durability.await_commit(&second));
    };
    write();
    durability.await_commit_blocking();
    wait_until([&] { return second.is_done.load(); });
    EXPECT_EQ(map->syncs, 2);
}

TEST_F(LogSyncTest, ANewIntervalEndsTheOldOne) {
    LogSync durability(store, {.commit_interval = kHourUs});
    write();
    durability.set_commit_interval(kShortestUs);
    wait_until([this] { return map->syncs == 1; });
}

TEST_F(LogSyncTest, TheEndSyncsForTheLastTime) {
    LogSync durability(store, {.commit_interval = kHourUs});
    write();
    durability.stop();
    EXPECT_EQ(map->syncs, 1);
}

TEST_F(LogSyncTest, WithoutALogNothingIsPromised) {
    LogSync durability(store, {.journaling = false});
    EXPECT_FALSE(durability.journaling());
    write();
    storage::CommitWaiter waiter;
    EXPECT_TRUE(durability.await_commit(&waiter));
    durability.commit_now();
    durability.stop();
    EXPECT_EQ(map->syncs, 0);
}

TEST_F(LogSyncTest, CheckpointsFollowTheSyncDelay) {
    LogSync durability(
        store, {.journaling = false, .commit_interval = kShortestUs, .sync_delay_seconds = 0.001});
    wait_until([this] { return map->checkpoints > 2; });
    durability.set_sync_delay_seconds(0);
}

TEST_F(LogSyncTest, LargeWritesAreCommittedOnTheWay) {
    LogSync durability(store, {});
    const storage::DatabaseLock lock(locks, "test", true);
    EXPECT_FALSE(durability.commit_if_needed());
    const std::string large(size_t{5} << 20, 'x');
    store.session().put(kTable, as_bytes("key"), as_bytes(large));
    durability.begin_undo();
    EXPECT_FALSE(durability.commit_if_needed());
    durability.end_undo();
    EXPECT_TRUE(durability.commit_if_needed());
    EXPECT_EQ(store.changed_bytes(), 0U);
}

// The thread of fsync with lock (storage/fsync_lock.cpp) does the same.
TEST_F(LogSyncTest, FsyncWithLockLeavesTheFilesAlone) {
    LogSync durability(store, {.commit_interval = kShortestUs});
    durability.lock_commits();
    {
        const storage::GlobalLock lock(locks, storage::GlobalMode::W);
        store.session().put(kTable, as_bytes("key"), as_bytes("value"));
        durability.sync_and_truncate_journal();
        EXPECT_FALSE(map->is_paused);
        durability.flush_all(true);
    }
    EXPECT_TRUE(map->is_paused);
    std::thread([&] { durability.flush_all(true); }).join();  // fsync once more, of a client
    EXPECT_TRUE(map->is_paused);
    const int syncs = map->syncs;
    EXPECT_GT(syncs, 0);
    std::thread waiting([&] {
        write();
        durability.await_commit_blocking();
    });
    durability.unlock_commits();
    waiting.join();
    EXPECT_FALSE(map->is_paused);
    EXPECT_GT(map->syncs, syncs);
    EXPECT_EQ(map->syncs_while_paused, 0);
}

TEST_F(LogSyncTest, ThereAreNoJournalFilesToMeasure) {
    LogSync durability(store, {});
    bson::Builder out;
    EXPECT_THROW(durability.run_latency_test(out), base::Error);
}

}  // namespace
}  // namespace kv

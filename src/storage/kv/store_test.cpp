#include "storage/kv/store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "storage/kv/bytes.h"
#include "storage/kv/testing/memory_map.h"

namespace kv {
namespace {

using storage::Access;
using storage::DatabaseLock;
using storage::GlobalLock;
using storage::GlobalMode;

constexpr Table kTable{kFirstTable};

class StoreTest : public testing::Test {
  protected:
    StoreTest() { map->add_table(kTable, Kind::documents); }

    void put(std::string_view key, std::string_view value) {
        store.session().put(kTable, as_bytes(key), as_bytes(value));
    }
    std::string get(std::string_view key) {
        Bytes value;
        return store.session().get(kTable, as_bytes(key), &value) ? std::string(as_text(value))
                                                                  : "none";
    }
    // Returns the committed value.
    std::string rows_of(std::string_view key) {
        const std::lock_guard guard(rows->mutex);
        const auto found = rows->all.find({kTable, MemoryMap::Row(key.begin(), key.end())});
        return found == rows->all.end() ? "none" : std::string(as_text(found->second));
    }
    // Returns the value that another thread sees under a lock of its own.
    std::string elsewhere(std::string_view key) {
        std::string seen;
        std::thread([&] {
            const DatabaseLock lock(locks, "other", false);
            seen = get(key);
        }).join();
        return seen;
    }

    std::shared_ptr<MemoryMap::Rows> rows = std::make_shared<MemoryMap::Rows>();
    storage::LockManager locks;
    MemoryMap* map = new MemoryMap(rows);
    Store store{std::unique_ptr<Map>(map), locks};
};

TEST_F(StoreTest, WhatALockCoversBecomesVisibleWhenItGoes) {
    store.before_unlock();
    {
        const DatabaseLock lock(locks, "test", true);
        put("a", "1");
        EXPECT_EQ(get("a"), "1");
        EXPECT_EQ(elsewhere("a"), "none");
    }
    EXPECT_EQ(elsewhere("a"), "1");
    EXPECT_EQ(map->commits, 1);
}

TEST_F(StoreTest, ReadersCommitNothing) {
    store.before_unlock();
    const uint64_t before = store.commits();
    {
        const DatabaseLock lock(locks, "test", false);
        get("a");
    }
    { const GlobalLock lock(locks, GlobalMode::W); }
    EXPECT_EQ(map->commits, 0);
    EXPECT_EQ(store.commits(), before);
}

TEST_F(StoreTest, HoldersOfWWhoBecomeReadersShowWhatTheyWrote) {
    store.before_unlock();
    locks.lock_global(GlobalMode::W);
    put("a", "1");
    locks.downgrade_W_to_R();
    EXPECT_EQ(elsewhere("a"), "1");
    locks.unlock_global();
}

TEST_F(StoreTest, CountersGoWithTheRowsThatTheyCount) {
    Counter counter(kTable);
    store.count(counter, 1, 10);
    store.count(counter, 1, 5);
    EXPECT_EQ(counter.rows, 0);
    EXPECT_EQ(store.total(counter).rows, 2);
    Counter before(kTable);
    store.read(before);
    EXPECT_EQ(before.rows, 0);
    store.commit();
    EXPECT_EQ(counter.rows, 2);
    EXPECT_EQ(store.total(counter).rows, 2);
    Counter after(kTable);
    store.read(after);
    EXPECT_EQ(after.rows, 2);
    EXPECT_EQ(after.bytes, 15);
    store.count(counter, -1, -5);
    store.forget(kTable);
    store.commit();
    store.read(after);
    EXPECT_EQ(after.rows, 0);
}

// Each session has a row of its own.
TEST_F(StoreTest, CountersAddUpWhateverSessionsHaveAdded) {
    locks.allow_concurrent_changes();
    Counter counter(kTable);
    store.count(counter, 1, 10);
    store.before_unlock();
    std::optional<DatabaseLock> lock(std::in_place, locks, "test", Access::documents);
    store.count(counter, 5, 50);
    std::thread([&] {
        const DatabaseLock beside(locks, "test", Access::documents);
        store.count(counter, 7, 70);
        EXPECT_EQ(store.total(counter).rows, 1 + 7);
    }).join();
    EXPECT_EQ(counter.rows, 1 + 7);
    EXPECT_EQ(store.total(counter).rows, 1 + 5 + 7);
    lock.reset();
    lock.emplace(locks, "test", Access::documents);
    store.count(counter, -2, -20);
    lock.reset();
    Counter after(kTable);
    store.read(after);
    EXPECT_EQ(after.rows, 1 + 5 + 7 - 2);
    EXPECT_EQ(after.bytes, 10 + 50 + 70 - 20);
    EXPECT_EQ(counter.rows, after.rows);
    store.forget(kTable);
    store.commit();
    store.read(after);
    EXPECT_EQ(after.rows, 0);
}

// A version before this one has left one row, without the number of a session.
TEST_F(StoreTest, ACounterOfOneRowCounts) {
    const Counts old{3, 30};
    store.session().put(kCounters, big_endian(static_cast<uint32_t>(kTable)),
                        {reinterpret_cast<const uint8_t*>(&old), sizeof old});
    Counter counter(kTable);
    store.read(counter);
    EXPECT_EQ(counter.rows, 3);
    store.count(counter, 1, 10);
    store.commit();
    Counter after(kTable);
    store.read(after);
    EXPECT_EQ(after.rows, 4);
    EXPECT_EQ(after.bytes, 40);
}

TEST_F(StoreTest, ReadersBesideWritersSeeOneMoment) {
    locks.allow_concurrent_changes();
    put("a", "1");
    put("b", "1");
    store.before_unlock();
    const auto write_both = [this](std::string_view value) {
        std::thread([&] {
            const DatabaseLock lock(locks, "test", Access::documents);
            store.lock_row(kTable, as_bytes("a"));
            store.changing().put(kTable, as_bytes("a"), as_bytes(value));
            store.changing().put(kTable, as_bytes("b"), as_bytes(value));
        }).join();
    };
    for (const Access access : {Access::read, Access::documents}) {
        const DatabaseLock lock(locks, "test", access);
        const std::string then = get("a");
        write_both(then + "2");
        EXPECT_EQ(get("b"), then);
        EXPECT_EQ(get("a"), then);
        store.commit();
        EXPECT_EQ(get("a"), then + "2");
    }
}

TEST_F(StoreTest, ARowIsLockedByOneThreadAtATime) {
    locks.allow_concurrent_changes();
    put("a", "1");
    store.before_unlock();
    // Whether another thread cannot have the row.
    const auto conflicts = [this](std::string_view key) {
        bool is_refused = false;
        std::thread([&] {
            const DatabaseLock lock(locks, "test", Access::documents);
            try {
                store.lock_row(kTable, as_bytes(key));
            } catch (const storage::WriteConflict& conflict) {
                EXPECT_FALSE(conflict.needs_all);
                is_refused = true;
            }
        }).join();
        return is_refused;
    };
    const DatabaseLock lock(locks, "test", Access::documents);
    EXPECT_EQ(get("a"), "1");
    store.lock_row(kTable, as_bytes("a"));
    store.lock_row(kTable, as_bytes("a"));
    EXPECT_TRUE(store.has_row_locks());
    EXPECT_TRUE(store.may_change(kTable, as_bytes("a")));
    EXPECT_FALSE(store.may_change(kTable, as_bytes("b")));
    EXPECT_TRUE(conflicts("a"));
    EXPECT_FALSE(conflicts("b"));
    EXPECT_EQ(store.conflicts(), 1U);
    store.commit();
    EXPECT_FALSE(store.has_row_locks());
    EXPECT_FALSE(conflicts("a"));
}

// The owner of a row lock reads the latest row, even where it has read before.
TEST_F(StoreTest, ARowLockShowsTheRowAsItIs) {
    locks.allow_concurrent_changes();
    put("a", "1");
    store.before_unlock();
    const DatabaseLock lock(locks, "test", Access::documents);
    EXPECT_EQ(get("a"), "1");
    std::thread([&] {
        const DatabaseLock beside(locks, "test", Access::documents);
        store.lock_row(kTable, as_bytes("a"));
        store.changing().put(kTable, as_bytes("a"), as_bytes("2"));
    }).join();
    EXPECT_EQ(get("a"), "1");
    store.lock_row(kTable, as_bytes("a"));
    EXPECT_EQ(get("a"), "2");
}

TEST_F(StoreTest, ARowLockLastsUntilTheCommitHasPassed) {
    locks.allow_concurrent_changes();
    store.before_unlock();
    int refused = 0;
    const auto lock_elsewhere = [&] {
        std::thread([&] {
            const DatabaseLock beside(locks, "test", Access::documents);
            try {
                store.lock_row(kTable, as_bytes("a"));
            } catch (const storage::WriteConflict&) {
                ++refused;
            }
        }).join();
    };
    {
        const DatabaseLock lock(locks, "test", Access::documents);
        store.lock_row(kTable, as_bytes("a"));
        store.changing().put(kTable, as_bytes("a"), as_bytes("1"));
        map->on_commit = [&, is_first = true]() mutable {
            if (std::exchange(is_first, false)) lock_elsewhere();
        };
    }
    EXPECT_EQ(refused, 1);
    lock_elsewhere();
    EXPECT_EQ(refused, 1);
}

TEST_F(StoreTest, AConflictIsWaitedForUntilTheOtherCommits) {
    locks.allow_concurrent_changes();
    store.before_unlock();
    std::optional<DatabaseLock> lock(std::in_place, locks, "test", Access::documents);
    store.lock_row(kTable, as_bytes("a"));
    store.changing().put(kTable, as_bytes("a"), as_bytes("1"));
    std::atomic<bool> is_refused = false;
    std::string seen;
    std::thread other([&] {
        const DatabaseLock beside(locks, "test", Access::documents);
        store.lock_row(kTable, as_bytes("b"));
        store.changing().put(kTable, as_bytes("b"), as_bytes("1"));
        while (true) {
            try {
                store.lock_row(kTable, as_bytes("a"));
                seen = get("a");
                return;
            } catch (const storage::WriteConflict&) {
                is_refused = true;
                locks.await_conflict();
            }
        }
    });
    while (!is_refused)
        std::this_thread::yield();
    // The other thread's earlier change is committed, so that two threads never wait for each
    // other.
    while (rows_of("b") != "1")
        std::this_thread::yield();
    lock.reset();
    other.join();
    EXPECT_EQ(seen, "1");
}

TEST_F(StoreTest, ADropThatWasCutShortIsFinishedByTheNextStart) {
    put("a", "1");
    store.session().put(kDropped, big_endian(static_cast<uint32_t>(kTable)), {});
    store.session().commit();
    storage::LockManager later_locks;
    Store later(std::make_unique<MemoryMap>(rows), later_locks);
    Bytes value;
    EXPECT_FALSE(later.session().get(kTable, as_bytes("a"), &value));
    const auto dropped = later.session().cursor(kDropped);
    dropped->seek({});
    EXPECT_TRUE(dropped->at_end());
    EXPECT_GT(later.new_table(Kind::documents), kTable);
}

// One that no row names is about to go, and would take the new one's rows along.
TEST_F(StoreTest, ANewTableHasTheNumberOfNoneThatWasThere) {
    rows->tables.insert(Table{50});
    storage::LockManager later_locks;
    Store later(std::make_unique<MemoryMap>(rows), later_locks);
    later.end_start();
    EXPECT_GT(later.new_table(Kind::documents), Table{50});
}

TEST_F(StoreTest, ATableGoesOnceItsDropIsCommitted) {
    put("a", "1");
    store.commit();
    store.drop(kTable);
    EXPECT_EQ(map->drops, 0);
    store.commit();
    EXPECT_EQ(map->drops, 1);
    EXPECT_EQ(get("a"), "none");
}

TEST_F(StoreTest, SpaceIsAskedForAllThatIsBegun) {
    store.before_unlock();
    {
        const DatabaseLock lock(locks, "test", true);
        store.check_space(100);
        store.check_space(20);
        std::thread([this] {
            const DatabaseLock other(locks, "other", true);
            store.check_space(3);
            EXPECT_EQ(map->begun_bytes, 123U);
        }).join();
        store.commit();
        store.check_space(4);
        EXPECT_EQ(map->begun_bytes, 4U);
    }
    const DatabaseLock lock(locks, "test", true);
    store.check_space(5);
    EXPECT_EQ(map->begun_bytes, 5U);
}

TEST_F(StoreTest, WantOfSpaceDoesNotCutAChangeInTwo) {
    store.check_space();
    put("a", "1");
    map->is_full = true;
    EXPECT_NO_THROW(store.check_space());
    store.commit();
    try {
        store.check_space();
        FAIL();
    } catch (const base::Error& error) {
        EXPECT_EQ(error.code(), base::kOutOfDiskSpace);
    }
}

}  // namespace
}  // namespace kv

#include "storage/ordered/home.h"

#include <gtest/gtest.h>

#include <thread>

#include "storage/ordered/bytes.h"
#include "storage/ordered/testing/memory_map.h"

namespace ordered {
namespace {

using storage::DatabaseLock;
using storage::GlobalLock;
using storage::GlobalMode;

constexpr Table kTable{kFirstTable};

class HomeTest : public testing::Test {
  protected:
    HomeTest() { map->add_table(kTable, Kind::documents); }

    void put(std::string_view key, std::string_view value) {
        home.session().put(kTable, as_bytes(key), as_bytes(value));
    }
    std::string get(std::string_view key) {
        Bytes value;
        return home.session().get(kTable, as_bytes(key), &value) ? std::string(as_text(value))
                                                                 : "none";
    }
    // What another thread sees under a lock of its own.
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
    Home home{std::unique_ptr<Map>(map), locks};
};

TEST_F(HomeTest, WhatALockCoversBecomesVisibleWhenItGoes) {
    home.before_unlock();
    {
        const DatabaseLock lock(locks, "test", true);
        put("a", "1");
        EXPECT_EQ(get("a"), "1");
        EXPECT_EQ(elsewhere("a"), "none");
    }
    EXPECT_EQ(elsewhere("a"), "1");
    EXPECT_EQ(map->commits, 1);
}

TEST_F(HomeTest, ReadersCommitNothing) {
    home.before_unlock();
    const uint64_t before = home.commits();
    {
        const DatabaseLock lock(locks, "test", false);
        get("a");
    }
    { const GlobalLock lock(locks, GlobalMode::W); }
    EXPECT_EQ(map->commits, 0);
    EXPECT_EQ(home.commits(), before);
}

TEST_F(HomeTest, HoldersOfWWhoBecomeReadersShowWhatTheyWrote) {
    home.before_unlock();
    locks.lock_global(GlobalMode::W);
    put("a", "1");
    locks.downgrade_W_to_R();
    EXPECT_EQ(elsewhere("a"), "1");
    locks.unlock_global();
}

TEST_F(HomeTest, CountersGoWithTheRowsThatTheyCount) {
    Counter counter(kTable);
    home.count(counter, 1, 10);
    home.count(counter, 1, 5);
    Counter before(kTable);
    home.read(before);
    EXPECT_EQ(before.rows, 0);
    home.commit();
    Counter after(kTable);
    home.read(after);
    EXPECT_EQ(after.rows, 2);
    EXPECT_EQ(after.bytes, 15);
    home.count(counter, -1, -5);
    home.forget(counter);
    home.commit();
    home.read(after);
    EXPECT_EQ(after.rows, 0);
}

TEST_F(HomeTest, ADropThatWasCutShortIsFinishedByTheNextStart) {
    put("a", "1");
    home.session().put(kDropped, big_endian(static_cast<uint32_t>(kTable)), {});
    home.session().commit();
    storage::LockManager later_locks;
    Home later(std::make_unique<MemoryMap>(rows), later_locks);
    Bytes value;
    EXPECT_FALSE(later.session().get(kTable, as_bytes("a"), &value));
    const auto dropped = later.session().cursor(kDropped);
    dropped->seek({});
    EXPECT_TRUE(dropped->at_end());
    EXPECT_GT(later.new_table(Kind::documents), kTable);
}

TEST_F(HomeTest, ATableGoesOnceItsDropIsCommitted) {
    put("a", "1");
    home.commit();
    home.drop(kTable);
    EXPECT_EQ(map->drops, 0);
    home.commit();
    EXPECT_EQ(map->drops, 1);
    EXPECT_EQ(get("a"), "none");
}

TEST_F(HomeTest, WantOfSpaceDoesNotCutAChangeInTwo) {
    home.check_space();
    put("a", "1");
    map->is_full = true;
    EXPECT_NO_THROW(home.check_space());
    home.commit();
    try {
        home.check_space();
        FAIL();
    } catch (const base::Error& error) {
        EXPECT_EQ(error.code(), base::kOutOfDiskSpace);
    }
}

}  // namespace
}  // namespace ordered

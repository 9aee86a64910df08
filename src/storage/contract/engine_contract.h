// storage/contract/engine_contract.h - what Engine and Durability promise: databases come and go,
// what was stored is there after a clean restart, waiters are called.
#pragma once

#include <algorithm>
#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "storage/contract/harness.h"

namespace storage::contract {

class EngineContract : public testing::TestWithParam<MakeEngine> {
  protected:
    void SetUp() override { harness_ = GetParam()(); }
    Engine& engine() { return harness_->engine(); }
    void restart() { harness_->restart(); }

    bool has_database(const std::string& name) {
        const GlobalLock lock(engine().locks(), GlobalMode::R);
        const std::vector<std::string> names = engine().database_names();
        return std::find(names.begin(), names.end(), name) != names.end();
    }
    // Inserts {_id: id}, creating what is missing.
    void insert(const std::string& db, int id) {
        const DatabaseLock lock(engine().locks(), db, true);
        DatabaseStore* store = engine().database(db);
        if (store == nullptr) store = &engine().create_database(db);
        CollectionStore* c = store->collection(db + ".c");
        if (c == nullptr) c = &store->create_collection(db + ".c", {});
        c->records().insert(bson::make("_id", id));
    }
    int64_t count(const std::string& db) {
        const DatabaseLock lock(engine().locks(), db, false);
        DatabaseStore* store = engine().database(db);
        CollectionStore* c = store == nullptr ? nullptr : store->collection(db + ".c");
        return c == nullptr ? -1 : c->records().count();
    }

    std::unique_ptr<EngineHarness> harness_;
};

TEST_P(EngineContract, DatabasesComeAndGo) {
    EXPECT_FALSE(engine().name().empty());
    EXPECT_FALSE(has_database("one"));
    EXPECT_EQ(count("one"), -1);
    insert("one", 1);
    insert("two", 1);
    EXPECT_TRUE(has_database("one"));
    EXPECT_TRUE(has_database("two"));
    {
        const GlobalLock lock(engine().locks(), GlobalMode::W);
        EXPECT_GT(engine().database_bytes("one"), 0);
        engine().drop_database("one");
    }
    EXPECT_FALSE(has_database("one"));
    EXPECT_EQ(count("one"), -1);
    EXPECT_EQ(count("two"), 1);
    insert("one", 5);
    EXPECT_EQ(count("one"), 1);
}

TEST_P(EngineContract, CreatingTwiceIsCreatingOnce) {
    const GlobalLock lock(engine().locks(), GlobalMode::W);
    DatabaseStore& made = engine().create_database("one");
    EXPECT_EQ(made.name(), "one");
    EXPECT_EQ(&engine().create_database("one"), &made);
    EXPECT_EQ(engine().database("one"), &made);
    EXPECT_EQ(failure([&] { engine().drop_database("two"); }), base::kNamespaceNotFound);
}

TEST_P(EngineContract, ClosedDatabasesOpenAgain) {
    insert("one", 1);
    {
        const GlobalLock lock(engine().locks(), GlobalMode::W);
        engine().close_database("one");
    }
    EXPECT_TRUE(has_database("one"));
    EXPECT_EQ(count("one"), 1);
}

TEST_P(EngineContract, ACleanRestartKeepsEverything) {
    for (int i = 0; i < 1000; ++i)
        insert(i % 2 == 0 ? "one" : "two", i);
    {
        const GlobalLock lock(engine().locks(), GlobalMode::W);
        engine().create_database("gone");
        engine().drop_database("gone");
    }
    for (int round = 0; round < 3; ++round) {
        restart();
        EXPECT_EQ(count("one"), 500 + round);
        EXPECT_EQ(count("two"), 500);
        EXPECT_FALSE(has_database("gone"));
        insert("one", 5000 + round);
    }
}

TEST_P(EngineContract, ACommitCanBeAwaited) {
    insert("one", 1);
    engine().durability().await_commit_blocking();

    struct PromiseWaiter : CommitWaiter {
        std::promise<void> passed;
    };
    insert("one", 2);
    PromiseWaiter waiter;
    waiter.done = [](CommitWaiter* w) { static_cast<PromiseWaiter*>(w)->passed.set_value(); };
    std::future<void> passed = waiter.passed.get_future();
    if (!engine().durability().await_commit(&waiter)) passed.get();

    insert("one", 3);
    {
        const GlobalLock lock(engine().locks(), GlobalMode::W);
        engine().durability().commit_now();
    }
    engine().durability().flush_all(true);
    EXPECT_EQ(count("one"), 3);
}

TEST_P(EngineContract, WaitersOfManyThreadsAreAllCalled) {
    constexpr int kThreads = 4;
    constexpr int kInserts = 25;
    std::atomic<int> confirmed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([this, t, &confirmed] {
            for (int i = 0; i < kInserts; ++i) {
                insert("one", t * kInserts + i);
                engine().durability().await_commit_blocking();
                ++confirmed;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(confirmed, kThreads * kInserts);
    EXPECT_EQ(count("one"), kThreads * kInserts);
}

TEST_P(EngineContract, BulkWritesMayCommitInBetween) {
    const std::string db = "one";
    insert(db, 0);
    {
        const DatabaseLock lock(engine().locks(), db, true);
        RecordStore& records = engine().database(db)->collection("one.c")->records();
        for (int i = 1; i < 3000; ++i) {
            records.insert(bson::make("_id", i, "p", std::string(4000, 'x')));
            engine().durability().commit_if_needed();
        }
    }
    EXPECT_EQ(count(db), 3000);
    restart();
    EXPECT_EQ(count(db), 3000);
}

}  // namespace storage::contract

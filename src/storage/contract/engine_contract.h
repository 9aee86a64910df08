// storage/contract/engine_contract.h - what Engine and Durability promise: databases come and go,
// what was stored is there after a clean restart, waiters are called.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bson/json.h"
#include "storage/contract/harness.h"
#include "storage/write_unit.h"

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
            WriteUnit::between(engine().durability());
        }
    }
    EXPECT_EQ(count(db), 3000);
    restart();
    EXPECT_EQ(count(db), 3000);
}

// Records and entries come and go, enough of them for new buckets, extents and files.
class UndoContract : public EngineContract {
  protected:
    void SetUp() override {
        EngineContract::SetUp();
        lock_.emplace(engine().locks(), GlobalMode::W);
        store_ = &engine().create_database("one").create_collection("one.c", {});
        const auto spec = bson::make("v", 1, "key", bson::make("a", 1), "name", "a", "ns", "one.c");
        store_->finish_index(store_->begin_index(spec));
        engine().database("one")->create_collection("one.ring", ring_options());
    }
    void TearDown() override {
        ValidateOptions options;
        options.full = true;
        bson::Builder metrics;
        for (const std::string& error : store_->validate(options, metrics).errors)
            ADD_FAILURE() << error;
        lock_.reset();
        EngineContract::TearDown();
    }

    static CollectionOptions ring_options() {
        CollectionOptions options;
        options.capped = true;
        options.capped_bytes = 4096;
        return options;
    }
    RecordStore& ring() { return engine().database("one")->collection("one.ring")->records(); }
    RecordStore& records() { return store_->records(); }
    SortedIndex& index() { return *store_->index(0).index; }
    uint64_t below(uint64_t limit) { return random_() % limit; }

    // Every document and every entry, in order.
    std::string contents() {
        std::string text = std::to_string(records().count());
        live_.clear();
        const auto documents = records().cursor(Direction::forward);
        while (const auto record = documents->next()) {
            live_.push_back(record->id);
            text.append(std::to_string(record->id.value)).append(bson::to_text(record->doc));
        }
        const auto entries = index().cursor(Direction::forward);
        for (entries->seek_to_start(); !entries->at_end(); entries->next())
            text.append(bson::to_text(entries->key())).append(std::to_string(entries->id().value));
        index().validate([](const std::string& error) { ADD_FAILURE() << error; });
        text.append(std::to_string(ring().count()));
        const auto in_order = ring().cursor(Direction::forward);
        while (const auto record = in_order->next())
            text.append(bson::to_text(record->doc));
        return text;
    }
    bson::Object key_of(RecordId id) { return bson::make("", records().get(id)["a"].as_string()); }
    void insert() {
        const auto doc = bson::make("_id", ++last_, "a",
                                    std::to_string(random_()) + std::string(below(800), 'k'), "p",
                                    std::string(below(20) == 0 ? 90'000 : below(300), 'p'));
        const RecordId id = records().insert(doc);
        index().insert(key_of(id), id, true);
        live_.push_back(id);
    }
    void remove() {
        const size_t at = below(live_.size());
        index().remove(key_of(live_[at]), live_[at]);
        records().remove(live_[at]);
        live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    void replace() {
        const RecordId id = live_[below(live_.size())];
        bson::Object doc(records().get(id));
        const auto changed =
            bson::make("_id", -doc["_id"].to_int32(), "a", doc["a"].as_string(), "p", "short");
        if (changed.size() <= doc.size() && records().fits(id, changed.size()))
            records().overwrite(id, changed);
    }
    void change(uint64_t most) {
        for (uint64_t n = below(most); n > 0; --n) {
            const uint64_t what = below(7);
            if (what == 6)
                ring().insert(bson::make("_id", ++last_, "p", std::string(below(900), 'r')));
            else if (live_.size() < 10 || what < 3)
                insert();
            else if (what < 5)
                remove();
            else
                replace();
        }
    }

    std::optional<GlobalLock> lock_;
    CollectionStore* store_ = nullptr;
    std::mt19937_64 random_{7};
    int last_ = 0;
    std::vector<RecordId> live_;
};

TEST_P(UndoContract, WhatIsTakenBackIsAsBefore) {
    Durability& durability = engine().durability();
    for (int round = 0; round < 40; ++round) {
        change(100);
        const std::string before = contents();
        durability.begin_undo();
        change(300);
        WriteUnit::between(durability);
        durability.undo();
        ASSERT_EQ(contents(), before) << "round " << round;
    }
}

// Files that were added may stay: they are used again.
TEST_P(UndoContract, WhatHasGrownIsTakenBackAndGrowsAgain) {
    constexpr int kDocuments = 400;  // of 90,000 bytes
    const auto grow = [this] {
        for (int i = 0; i < kDocuments; ++i) {
            ++last_;
            const auto doc =
                bson::make("_id", last_, "a", std::to_string(last_), "p", std::string(90'000, 'p'));
            const RecordId id = records().insert(doc);
            index().insert(key_of(id), id, true);
        }
    };
    change(100);
    const std::string before = contents();
    for (int round = 0; round < 2; ++round) {
        engine().durability().begin_undo();
        grow();
        engine().durability().undo();
        ASSERT_EQ(contents(), before);
    }
    const int64_t documents = records().count();
    grow();
    engine().durability().commit_now();
    EXPECT_EQ(records().count(), documents + kDocuments);
    const std::string grown = contents();
    engine().close_database("one");
    store_ = engine().database("one")->collection("one.c");
    EXPECT_EQ(contents(), grown);
}

TEST_P(UndoContract, PairsMayLieInEachOther) {
    Durability& durability = engine().durability();
    for (int round = 0; round < 20; ++round) {
        const std::string before = contents();
        durability.begin_undo();
        change(100);
        const std::string outer = contents();
        durability.begin_undo();
        change(200);
        durability.undo();
        ASSERT_EQ(contents(), outer) << "round " << round;
        durability.begin_undo();
        change(200);
        durability.end_undo();
        const std::string kept = contents();
        if (round % 3 == 0) {
            durability.end_undo();
            ASSERT_EQ(contents(), kept) << "round " << round;
            durability.commit_now();
        } else {
            durability.undo();
            ASSERT_EQ(contents(), before) << "round " << round;
        }
    }
}

TEST_P(UndoContract, ARingGoesOnFromItsOldest) {
    const auto ids = [this] {
        std::vector<int> found;
        const auto cursor = ring().cursor(Direction::forward);
        while (const auto record = cursor->next())
            found.push_back(record->doc["_id"].as_int32());
        return found;
    };
    const auto insert = [this](int id) {
        ring().insert(bson::make("_id", id, "p", std::string(300, 'r')));
    };
    for (int id = 0; id < 100; ++id)
        insert(id);
    std::vector<int> expected = ids();
    engine().durability().begin_undo();
    for (int id = 100; id < 105; ++id)
        insert(id);
    EXPECT_NE(ids(), expected);
    engine().durability().undo();
    EXPECT_EQ(ids(), expected);
    for (int id = 200; id < 203; ++id)
        insert(id);
    expected.insert(expected.end(), {200, 201, 202});
    const std::vector<int> now = ids();
    ASSERT_GT(now.size(), 4U);
    expected.erase(expected.begin(), expected.end() - static_cast<std::ptrdiff_t>(now.size()));
    EXPECT_EQ(now, expected);
}

TEST_P(UndoContract, AnIndexIsAgainWithoutArrays) {
    engine().durability().begin_undo();
    store_->set_multikey(0);
    EXPECT_TRUE(store_->index(0).multikey);
    engine().durability().undo();
    EXPECT_FALSE(store_->index(0).multikey);
    store_->set_multikey(0);
    engine().durability().commit_now();
    lock_.reset();
    restart();
    lock_.emplace(engine().locks(), GlobalMode::W);
    store_ = engine().database("one")->collection("one.c");
    EXPECT_TRUE(store_->index(0).multikey);
}

TEST_P(UndoContract, CallsAreMadeForWhatIsTakenBack) {
    Durability& durability = engine().durability();
    std::string made;
    const auto note = [&](char name) { durability.on_undo([&made, name] { made += name; }); };
    EXPECT_FALSE(durability.keeps_undo());
    durability.begin_undo();
    EXPECT_TRUE(durability.keeps_undo());
    note('a');
    durability.begin_undo();
    note('b');
    note('c');
    durability.end_undo();
    durability.begin_undo();
    note('d');
    note('e');
    durability.undo();
    EXPECT_EQ(made, "ed");
    EXPECT_TRUE(durability.keeps_undo());
    durability.undo();
    EXPECT_EQ(made, "edcba");
    durability.begin_undo();
    note('f');
    durability.end_undo();
    EXPECT_FALSE(durability.keeps_undo());
    durability.begin_undo();
    durability.undo();
    EXPECT_EQ(made, "edcba");
}

// Changes that come after it are others, and are kept.
TEST_P(UndoContract, NothingOfItIsLeftAfterARestart) {
    change(200);
    const std::string before = contents();
    engine().durability().begin_undo();
    change(300);
    engine().durability().undo();
    engine().durability().commit_now();
    lock_.reset();
    restart();
    lock_.emplace(engine().locks(), GlobalMode::W);
    store_ = engine().database("one")->collection("one.c");
    EXPECT_EQ(contents(), before);
    change(100);
}

}  // namespace storage::contract

// storage/kv/testing/concurrent_contract.h - documents that many threads change at the same
// time, by the engine over some map: nothing is lost, nothing is there twice, and readers see whole
// changes. For the thread sanitizer too.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "bson/builder.h"
#include "storage/kv/testing/harness.h"
#include "storage/write_conflict.h"

namespace kv {

class ConcurrentContract : public testing::TestWithParam<MakeMap (*)()> {
  protected:
    static constexpr int kThreads = 12, kHot = 3, kTokens = 8, kRounds = 100;

    void SetUp() override {
        const storage::DatabaseLock lock(engine().locks(), "test", true);
        storage::DatabaseStore& db = engine().create_database("test");
        storage::CollectionStore& made = db.create_collection("test.c", {});
        made.finish_index(made.begin_index(bson::make("v", 1, "key", bson::make("k", 1), "name",
                                                      "k_1", "ns", made.ns(), "unique", true)));
        for (int i = 0; i < kHot; ++i)
            insert(named("hot", i));
        for (int i = 0; i < kTokens; ++i)
            insert(named("token", i));
    }

    Engine& engine() { return harness_.engine(); }
    storage::CollectionStore& collection() {
        return *engine().database("test")->collection("test.c");
    }
    storage::RecordStore& records() { return collection().records(); }
    storage::SortedIndex& index() { return *collection().index(0).index; }

    static std::string named(const char* what, int number) {
        return std::string(what) + std::to_string(number);
    }
    static bson::Object key_of(const std::string& k) { return bson::make("", k); }

    // Repeats `change` after a conflict, as change_document (command/write/document_change.h) does.
    template <typename Change>
    auto change(const Change& change) {
        const storage::DatabaseLock lock(engine().locks(), "test", storage::Access::documents);
        while (true) {
            try {
                return change();
            } catch (const storage::WriteConflict&) {
                engine().locks().await_conflict();
            }
        }
    }
    bool insert(const std::string& k) {
        const storage::RecordId id = records().insert(bson::make("k", k, "n", 0));
        try {
            if (index().insert(key_of(k), id, false) == storage::InsertResult::inserted)
                return true;
        } catch (const storage::WriteConflict&) {
            records().remove(id);
            throw;
        }
        records().remove(id);
        return false;
    }
    // The record with that key, locked; null: there is none any more.
    storage::RecordId find(const std::string& k) {
        const storage::RecordId id = index().find_one(key_of(k));
        return id && records().lock_record(id) ? id : storage::RecordId{};
    }
    void add_one(const std::string& k) {
        change([&] {
            const storage::RecordId id = find(k);
            ASSERT_TRUE(id);
            const bson::Object doc = bson::make("k", k, "n", records().get(id)["n"].as_int32() + 1);
            records().overwrite(id, doc);
        });
    }
    // A document goes and comes under another id, with the same key.
    void replace(const std::string& k) {
        change([&] {
            const storage::RecordId id = find(k);
            // A conflict about the key shows before anything is changed.
            if (!id) return;
            EXPECT_FALSE(index().has_duplicate(key_of(k), id));
            EXPECT_TRUE(index().remove(key_of(k), id));
            records().remove(id);
            EXPECT_TRUE(insert(k));
        });
    }
    // Each entry leads to its document, and all tokens are there.
    void read() {
        const storage::DatabaseLock lock(engine().locks(), "test", storage::Access::read);
        const auto cursor = index().cursor(storage::Direction::forward);
        int tokens = 0;
        for (cursor->seek_to_start(); !cursor->at_end(); cursor->next()) {
            const std::string_view k = cursor->key().first().as_string();
            ASSERT_EQ(records().get(cursor->id())["k"].as_string(), k);
            if (k.starts_with("token")) ++tokens;
        }
        ASSERT_EQ(tokens, kTokens);
    }
    void expect_sums(int unique) {
        const storage::DatabaseLock lock(engine().locks(), "test", storage::Access::read);
        for (int i = 0; i < kHot; ++i) {
            const storage::RecordId id = index().find_one(key_of(named("hot", i)));
            EXPECT_EQ(records().get(id)["n"].as_int32(), kThreads * kRounds);
        }
        EXPECT_EQ(records().count(), kHot + kTokens + unique);
        storage::ValidateOptions options;
        options.full = true;
        options.derive_keys = [](bson::Doc, bson::Doc doc, const auto& add) {
            bson::Builder key;
            key.append_as("", doc["k"]);
            add(key.doc());
        };
        bson::Builder out;
        const storage::ValidateReport report = collection().validate(options, out);
        EXPECT_TRUE(report.valid()) << testing::PrintToString(report.errors);
    }

    EngineHarness harness_{GetParam()()};
};

TEST_P(ConcurrentContract, HotDocumentsAndUniqueKeysAddUp) {
    std::atomic<int> inserted = 0;
    std::atomic<bool> is_done = false;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (int round = 0; round < kRounds; ++round) {
                for (int i = 0; i < kHot; ++i)
                    add_one(named("hot", i));
                if (change([&] { return insert(named("unique", round)); })) ++inserted;
                replace(named("token", (round + t) % kTokens));
            }
        });
    }
    std::thread reader([&] {
        while (!is_done)
            read();
    });
    for (std::thread& thread : threads)
        thread.join();
    is_done = true;
    reader.join();
    EXPECT_EQ(inserted, kRounds);
    expect_sums(kRounds);
    harness_.restart();
    expect_sums(kRounds);
}

// One thread does not wait for another's document.
TEST_P(ConcurrentContract, ADocumentIsWrittenWhileAnotherOneIsBeingChanged) {
    const storage::DatabaseLock lock(engine().locks(), "test", storage::Access::documents);
    ASSERT_TRUE(find("hot0"));
    std::thread([&] {
        change([&] {
            const storage::RecordId id = find("hot1");
            records().overwrite(id, bson::make("k", "hot1", "n", 7));
        });
        const storage::DatabaseLock seen(engine().locks(), "test", storage::Access::read);
        EXPECT_EQ(records().get(index().find_one(key_of("hot1")))["n"].as_int32(), 7);
    }).join();
}

// A thread that locks a document sees afterwards what another has done to it.
TEST_P(ConcurrentContract, ARowLockTellsThatADocumentHasGone) {
    const storage::DatabaseLock lock(engine().locks(), "test", storage::Access::documents);
    const storage::RecordId id = index().find_one(key_of("token0"));
    std::thread([&] { replace("token0"); }).join();
    EXPECT_EQ(records().get(id)["k"].as_string(), "token0");
    EXPECT_FALSE(records().lock_record(id));
    engine().durability().commit_if_needed();
    EXPECT_NE(index().find_one(key_of("token0")), id);
}

}  // namespace kv

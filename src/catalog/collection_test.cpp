// A change that is refused half-way: every index holds what it held before.
#include "catalog/collection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "sched/operation.h"
#include "storage/contract/memory_engine.h"
#include "storage/lock.h"

namespace catalog {
namespace {

// Has room for so many entries more, as an engine does whose commit is nearly full.
class TightDurability final : public storage::contract::MemoryDurability {
  public:
    TightDurability() : MemoryDurability(true) {}
    void check_room() const override {
        if (left_ && (*left_)-- == 0) base::fail(base::kOperationFailed, "no room");
    }
    void make_room(int64_t bytes) override { most_bytes = std::max(most_bytes, bytes); }
    void leave(std::optional<int> entries) { left_ = entries; }

    int64_t most_bytes = 0;  // that room was made for

  private:
    mutable std::optional<int> left_;
};

class RefusedChange : public testing::Test {
  protected:
    RefusedChange() : lock_(locks_, storage::GlobalMode::W), store_("test.c", {}) {
        for (const char* spec :
             {R"({"key": {"_id": 1}, "name": "_id_", "ns": "test.c"})",
              R"({"key": {"a": 1}, "name": "a", "ns": "test.c"})",
              R"({"key": {"b": -1, "a": 1}, "name": "b", "ns": "test.c", "unique": true})"})
            store_.finish_index(store_.begin_index(bson::from_json(spec)));
        collection_.emplace(store_, durability_);
        changed_ = collection_->insert(bson::from_json(kBefore));
        collection_->insert(bson::from_json(R"({"_id": 2, "a": [3, 9], "b": 8})"));
    }

    // Returns every entry of every index, and the documents.
    std::string contents() {
        std::string text;
        for (const auto& index : collection_->indexes()) {
            const auto cursor = index->store->cursor(storage::Direction::forward);
            text += index->name + ":";
            for (cursor->seek_to_start(); !cursor->at_end(); cursor->next())
                text += " " + bson::key_to_text(cursor->key()) + "=" +
                        std::to_string(cursor->id().value);
            text += "\n";
        }
        const auto all = store_.records().cursor(storage::Direction::forward);
        while (const auto record = all->next())
            text += bson::to_text(record->doc) + "\n";
        return text;
    }

    // Refuses one entry after the other. Returns how many it could.
    int expect_whole_or_nothing(const std::function<void()>& change) {
        const std::string before = contents();
        int refused = 0;
        for (;; ++refused) {
            durability_.leave(refused);
            try {
                change();
                break;
            } catch (const base::Error& error) {
                EXPECT_EQ(error.code(), base::kOperationFailed) << error.what();
            }
            durability_.leave({});
            EXPECT_EQ(contents(), before) << "refused entry " << refused;
            if (HasFailure()) break;
        }
        EXPECT_NE(contents(), before);
        return refused;
    }
    // A document with many entries in two indexes.
    static bson::Object with_many(int id, int first) {
        bson::Builder doc;
        doc.append("_id", id);
        {
            bson::Builder list = doc.sub_array("a");
            for (int i = 0; i < kMany; ++i)
                list.push(first + i);
        }
        return doc.append("b", id).object();
    }
    static constexpr int kMany = 100;

    // Several entries in each of two indexes.
    static constexpr const char* kBefore = R"({"_id": 1, "a": [1, 2, 3, 4], "b": 7})";

    storage::LockManager locks_;
    const storage::GlobalLock lock_;
    storage::contract::MemoryCollection store_;
    TightDurability durability_;
    std::optional<Collection> collection_;
    storage::RecordId changed_;
};

// The commit has room for all entries, or the first one is refused.
TEST_F(RefusedChange, AChangeOfFewEntriesIsRefusedBeforeTheFirst) {
    EXPECT_EQ(expect_whole_or_nothing([this] {
                  changed_ =
                      collection_
                          ->update(changed_, bson::from_json(R"({"_id": 1, "a": [2, 5], "b": 9})"))
                          .id;
              }),
              1);
    EXPECT_EQ(expect_whole_or_nothing([this] { collection_->remove(changed_); }), 1);
}

// Whichever entry is refused, those before it are taken back. The change has made room for them.
TEST_F(RefusedChange, AChangeOfManyEntriesIsTakenBack) {
    storage::RecordId large = collection_->insert(with_many(3, 0));
    durability_.most_bytes = 0;
    EXPECT_GT(expect_whole_or_nothing(
                  [&] { large = collection_->update(large, with_many(3, kMany)).id; }),
              3 * kMany);
    EXPECT_GT(durability_.most_bytes, 4 * kMany << 10);
    EXPECT_GT(expect_whole_or_nothing([&] { collection_->remove(large); }), kMany);
}

// One that was written with more memory than there is now can be removed.
TEST_F(RefusedChange, ARemovalNeedsNoRoomForTheDocument) {
    bson::Builder builder;
    builder.append("_id", 9).append("text", std::string(100'000, 'x'));
    const storage::RecordId large = collection_->insert(builder.doc());
    EXPECT_GE(durability_.most_bytes, 100'000);
    durability_.most_bytes = 0;
    collection_->remove(large);
    EXPECT_LT(durability_.most_bytes, 100'000);
}

TEST_F(RefusedChange, AnInsertLeavesNoEntry) {
    EXPECT_EQ(expect_whole_or_nothing([this] {
                  collection_->insert(bson::from_json(R"({"_id": 3, "a": [10, 11], "b": 1})"));
              }),
              1);
    EXPECT_GT(expect_whole_or_nothing([this] { collection_->insert(with_many(4, 500)); }), kMany);
}

// An operation that is killed while it looks for the keys of one document, which may take long,
// ends there, and leaves nothing.
TEST_F(RefusedChange, AKilledOperationEndsWhileItLooksForKeys) {
    const auto with_thousands = [](int id) {
        bson::Builder doc;
        doc.append("_id", id);
        {
            bson::Builder list = doc.sub_array("a");
            for (int i = 0; i < 10'000; ++i)
                list.push(i);
        }
        return doc.append("b", id).object();
    };
    const storage::RecordId large = collection_->insert(with_thousands(3));
    const std::string before = contents();
    const auto killed = [&](const std::function<void()>& change) {
        sched::Operation operation;
        operation.start();
        operation.kill(operation.id());
        const sched::Operation::Scope scope(&operation);
        try {
            change();
        } catch (const base::Error& error) {
            return error.code();
        }
        return 0;
    };
    EXPECT_EQ(killed([&] { collection_->insert(with_thousands(4)); }), base::kInterrupted);
    EXPECT_EQ(contents(), before);
    EXPECT_EQ(killed([&] { collection_->update(changed_, with_thousands(1)); }),
              base::kInterrupted);
    EXPECT_EQ(contents(), before);
    EXPECT_EQ(killed([&] { collection_->remove(large); }), base::kInterrupted);
    EXPECT_EQ(contents(), before);
    // path_indexed() looks at each field of the indexes to tell whether a change concerns one.
    EXPECT_EQ(killed([&] {
                  for (int i = 0; i < 1000; ++i)
                      collection_->path_indexed("x.y");
              }),
              base::kInterrupted);
    // An operation that must not be interrupted, as part of a larger one, is not.
    EXPECT_EQ(killed([&] {
                  const sched::Uninterruptible whole;
                  collection_->remove(large);
              }),
              0);
    EXPECT_NE(contents(), before);
}

// A damaged file may hold such an index: the collection can be read, and dropped.
TEST(FaultyIndex, MakesItsCollectionReadOnly) {
    storage::LockManager locks;
    const storage::GlobalLock lock(locks, storage::GlobalMode::W);
    storage::contract::MemoryDurability durability(true);
    storage::contract::MemoryCollection store("test.c", {});
    store.records().insert(bson::make("_id", 1));
    store.finish_index(
        store.begin_index(bson::from_json(R"({"key": {"a": 1}, "name": "a", "ns": "test.c",
                            "partialFilterExpression": {"a": {"$strange": 1}}})")));
    Collection collection(store, durability);
    const Index* index = collection.find_index("a");
    EXPECT_EQ(index->store, nullptr);
    EXPECT_NE(index->fault, "");
    EXPECT_THROW(collection.insert(bson::make("_id", 2)), base::Error);
    store.drop_index(0);
    collection.reload_indexes(true);
    EXPECT_NO_THROW(collection.insert(bson::make("_id", 2)));
}

}  // namespace
}  // namespace catalog

// The B-tree says of each change of a bucket what it is: an entry that is put into it, or another.

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "storage/mmapv1/btree/bucket_parts.h"
#include "storage/mmapv1/btree/testing/tree.h"

namespace mmapv1::test {
namespace {

class ToldBuckets : public MemoryBuckets {
  public:
    // `takes`: an entry that it knows of needs no declarations.
    explicit ToldBuckets(bool takes) : MemoryBuckets(false), takes_(takes) {}

    bool declare_insert(const BucketInsert& insert) override {
        inserts.push_back(insert);
        return takes_;
    }
    void note_bucket_change(uint8_t* bucket) override { changed.insert(bucket); }

    // Counters and nodes of each bucket; not its place in the tree.
    std::map<uint8_t*, std::vector<uint8_t>> state() const {
        std::map<uint8_t*, std::vector<uint8_t>> result;
        for (size_t i = 0; i < count(); ++i) {
            uint8_t* const data = bucket(location(i));
            const int n = Bucket(location(i), data).n();
            std::vector<uint8_t>& bytes = result[data];
            for (const auto part : {counters_of(data), nodes_of(data, 0, n < 0 ? 0 : size_t(n))})
                bytes.insert(bytes.end(), part.begin(), part.end());
        }
        return result;
    }

    std::vector<BucketInsert> inserts;
    std::set<uint8_t*> changed;

  private:
    const bool takes_;
};

TEST(ToldChanges, EveryChangeOfABucketIsTold) {
    ToldBuckets store(false);
    create_empty_btree(store);
    const auto index = make_btree_index(store, 0);
    std::mt19937 random(1);
    std::set<int> held;
    auto before = store.state();
    int entries = 0, others = 0;
    for (int i = 0; i < 6000; ++i) {
        store.inserts.clear();
        store.changed.clear();
        const int key = static_cast<int>(random() % 3000);
        if (held.insert(key).second) {
            ASSERT_EQ(index->insert(int_key(key), record(static_cast<uint64_t>(key)), true),
                      InsertResult::inserted);
        } else {
            ASSERT_TRUE(index->remove(int_key(key), record(static_cast<uint64_t>(key))));
            held.erase(key);
        }
        std::set<uint8_t*> told = store.changed;
        for (const BucketInsert& insert : store.inserts)
            told.insert(insert.bucket);
        auto after = store.state();
        for (const auto& [bucket, bytes] : after) {
            if (before.contains(bucket) && before[bucket] == bytes) continue;
            ASSERT_TRUE(told.contains(bucket)) << "operation " << i;
        }
        before = std::move(after);
        entries += static_cast<int>(store.inserts.size());
        others += store.inserts.empty() ? 1 : 0;
    }
    EXPECT_GT(entries, 2000);
    EXPECT_GT(others, 2000);
    EXPECT_GT(store.count(), 5u) << "buckets have been split";
}

TEST(ToldChanges, AnEntryIsWhereItIsToldToBe) {
    ToldBuckets store(false);
    create_empty_btree(store);
    const auto index = make_btree_index(store, 0);
    for (const int key : {5, 1, 3, 9, 2}) {
        store.inserts.clear();
        const RecordId id = record(static_cast<uint64_t>(key));
        ASSERT_EQ(index->insert(int_key(key), id, true), InsertResult::inserted);
        ASSERT_EQ(store.inserts.size(), 1u);
        const BucketInsert& insert = store.inserts[0];
        ASSERT_EQ(insert.bucket, store.bucket(store.root()));
        const Bucket bucket(store.root(), insert.bucket);
        EXPECT_EQ(bucket.n(), insert.count + 1);
        const BucketEntry entry = bucket.entry(insert.position);
        EXPECT_EQ(entry.record.loc().id(), id);
        EXPECT_EQ(int32_t{entry.record.offset}, static_cast<int32_t>(insert.record_offset));
        EXPECT_EQ(entry.record.file_number(), static_cast<int32_t>(insert.record_file));
        const auto bytes = key_of(insert.bucket, insert.key_data, insert.key_bytes);
        EXPECT_EQ(entry.key, bytes.data());
        EXPECT_EQ(entry.key_bytes, bytes.size());
    }
}

TEST(ToldChanges, WhatTakesAnEntryHasNoDeclarationOfIt) {
    for (const bool takes : {false, true}) {
        ToldBuckets store(takes);
        create_empty_btree(store);
        const auto index = make_btree_index(store, 0);
        const int64_t before = store.declared_bytes();
        index->insert(int_key(1), record(1), true);
        EXPECT_EQ(store.declared_bytes() - before, takes ? 0 : kNodeBytes + 9 + 6);
        EXPECT_FALSE(index->find_one(int_key(1)).is_null());
    }
}

}  // namespace
}  // namespace mmapv1::test

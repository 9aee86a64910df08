// storage/mmapv1/btree/testing/tree.h - what the tests of the B-tree share: a tree over plain
// memory and the ordered set it has to agree with.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "bson/builder.h"
#include "bson/compare.h"
#include "storage/mmapv1/btree/bucket.h"
#include "storage/mmapv1/btree/index.h"
#include "storage/mmapv1/btree/testing/memory_buckets.h"
#include "storage/mmapv1/btree/validate.h"

namespace mmapv1::test {

using storage::Direction;
using storage::IndexCursor;
using storage::InsertResult;
using storage::RecordId;

inline RecordId record(uint64_t i) {
    return RecordId{0x10000 + i * 32};
}

inline bson::Object int_key(int v) {
    return bson::make("", v);
}

inline bson::Object text_key(int v, size_t width) {
    std::string s = std::to_string(v);
    s.insert(0, width > s.size() ? width - s.size() : 0, '0');
    return bson::make("", s);
}

struct Tree {
    explicit Tree(uint32_t descending = 0, bool checked = false)
        : store(checked), descending(descending) {
        create_empty_btree(store);
        index = make_btree_index(store, descending);
    }

    BTreeReport report() {
        BTreeCheck check;
        check.root = store.root();
        check.descending = descending;
        check.bucket = [this](DiskLoc loc) -> const uint8_t* {
            return store.holds(loc) ? store.bucket(loc) : nullptr;
        };
        check.error = [](DiskLoc, const std::string& text) { ADD_FAILURE() << text; };
        return validate_btree(check);
    }
    Bucket root() { return Bucket(store.root(), store.bucket(store.root())); }

    MemoryBuckets store;
    uint32_t descending;
    std::unique_ptr<storage::SortedIndex> index;
};

// The order of the tree's entries: keys by their order, then records.
struct KeyLess {
    uint32_t descending;
    bool operator()(const std::pair<bson::Object, RecordId>& a,
                    const std::pair<bson::Object, RecordId>& b) const {
        const int c = bson::compare_keys(a.first, b.first, descending);
        return c != 0 ? c < 0 : a.second < b.second;
    }
};
using Model = std::set<std::pair<bson::Object, RecordId>, KeyLess>;

inline void expect_scan(const Tree& tree, const Model& model, Direction direction) {
    auto cursor = tree.index->cursor(direction);
    cursor->seek_to_start();
    const auto expect_entry = [&](const std::pair<bson::Object, RecordId>& entry) {
        ASSERT_FALSE(cursor->at_end());
        ASSERT_EQ(cursor->id(), entry.second);
        ASSERT_EQ(bson::Object(cursor->key()).bytes(), entry.first.bytes());
        cursor->next();
    };
    if (direction == Direction::forward) {
        for (auto it = model.begin(); it != model.end(); ++it)
            expect_entry(*it);
    } else {
        for (auto it = model.rbegin(); it != model.rend(); ++it)
            expect_entry(*it);
    }
    EXPECT_TRUE(cursor->at_end());
}

inline void expect_equal(Tree& tree, const Model& model) {
    const BTreeReport report = tree.report();
    ASSERT_EQ(report.used_keys, static_cast<int64_t>(model.size()));
    ASSERT_EQ(report.buckets, tree.store.bucket_count());
    ASSERT_TRUE(tree.store.all_changes_declared());
    expect_scan(tree, model, Direction::forward);
    expect_scan(tree, model, Direction::backward);
}

}  // namespace mmapv1::test

#include <algorithm>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/testing/failed_check.h"
#include "storage/mmapv1/btree/testing/tree.h"

namespace mmapv1::test {
namespace {

TEST(BTree, StoresTheWorkedExample) {
    // mmapv1 spec 11.4: the index of one document {_id: 1} at (0, 0x40b0).
    Tree tree;
    ASSERT_EQ(tree.index->insert(int_key(1), DiskLoc{0, 0x40b0}.id(), false),
              InsertResult::inserted);
    const uint8_t* b = tree.store.bucket(tree.store.root());
    const std::vector<uint8_t> head = {0xfe, 0xff, 0xff, 0xff, 0,    0,    0,    0xfe, 0xff, 0xff,
                                       0xff, 0,    0,    0,    0x01, 0x00, 0xc1, 0x1f, 0x09, 0x00,
                                       0x01, 0x00, 0xfe, 0xff, 0xff, 0xff, 0,    0,    0,    0xb0,
                                       0x40, 0,    0,    0,    0,    0,    0xd1, 0x1f};
    EXPECT_EQ(std::vector<uint8_t>(b, b + head.size()), head);
    const std::vector<uint8_t> key = {0x14, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
    EXPECT_EQ(std::vector<uint8_t>(b + 22 + 8145, b + kBucketBytes), key);
}

TEST(BTree, EmptyIndexHasOneBucketWithoutKeys) {
    Tree tree;
    EXPECT_EQ(tree.index->storage_bytes(), kBucketBytes);
    EXPECT_EQ(tree.report().used_keys, 0);
    EXPECT_TRUE(tree.index->find_one(int_key(1)).is_null());
    for (const Direction d : {Direction::forward, Direction::backward}) {
        auto cursor = tree.index->cursor(d);
        cursor->seek_to_start();
        EXPECT_TRUE(cursor->at_end());
        cursor->seek(int_key(1), false);
        EXPECT_TRUE(cursor->at_end());
        cursor->save();
        EXPECT_TRUE(cursor->restore());
    }
}

TEST(BTree, AnIndexWithoutARootReadsAsEmpty) {
    MemoryBuckets store(true);
    const auto index = make_btree_index(store, 0);
    EXPECT_TRUE(index->find_one(int_key(1)).is_null());
    EXPECT_FALSE(index->remove(int_key(1), record(1)));
    auto cursor = index->cursor(Direction::backward);
    cursor->seek_to_start();
    EXPECT_TRUE(cursor->at_end());
    EXPECT_THROW(index->insert(int_key(1), record(1), true), base::Error);
    create_empty_btree(store);
    EXPECT_THROW(create_empty_btree(store), base::Error);
    EXPECT_EQ(index->insert(int_key(1), record(1), true), InsertResult::inserted);
}

TEST(BTree, AscendingInsertsLeaveBucketsNineTenthsFull) {
    Tree tree;
    for (int i = 0; i < 327; ++i)
        ASSERT_EQ(tree.index->insert(int_key(i), record(i), false), InsertResult::inserted);
    // 326 entries of 25 bytes fill a body; the split leaves 293 of them on the left.
    ASSERT_EQ(tree.root().n(), 1);
    const Bucket root = tree.root();
    EXPECT_EQ(Bucket(root.child(0), tree.store.bucket(root.child(0))).n(), 293);
    EXPECT_EQ(Bucket(root.child(1), tree.store.bucket(root.child(1))).n(), 33);
}

// Buckets that the old server needed for the same inserts and deletes, from recorded cases.
TEST(BTree, NeedsAsManyBucketsAsTheOldServer) {
    const auto fill = [](Tree& tree, int from, int n, auto key) {
        for (int id = from; id < from + n; ++id)
            ASSERT_EQ(tree.index->insert(key(id), record(id), true), InsertResult::inserted);
    };
    const auto ascending = [](int id) { return int_key(id); };
    const auto scattered = [](int id) { return int_key((7919 * id + 13) % 100003); };
    {
        Tree tree;
        fill(tree, 0, 348, ascending);
        EXPECT_EQ(tree.store.bucket_count(), 3);
    }
    {
        Tree tree;
        for (int id = 3000; id > 0; --id)
            tree.index->insert(int_key(id), record(3000 - id), false);
        EXPECT_EQ(tree.store.bucket_count(), 19);
    }
    {
        Tree tree;
        fill(tree, 0, 918, [](int id) { return text_key((1500000 - id) % 1000000, 46); });
        EXPECT_EQ(tree.store.bucket_count(), 15);
    }
    {
        Tree tree;
        fill(tree, 0, 2539, [](int id) { return int_key((61189 * int64_t{id} + 13) % 100003); });
        EXPECT_EQ(tree.store.bucket_count(), 9);
    }
    {
        Tree tree;
        fill(tree, 0, 1180, ascending);
        EXPECT_EQ(tree.store.bucket_count(), 5);
        for (int id = 0; id < 500; ++id)
            ASSERT_TRUE(tree.index->remove(int_key(id), record(id)));
        EXPECT_EQ(tree.store.bucket_count(), 4);
        fill(tree, 5000, 300, ascending);
        EXPECT_EQ(tree.store.bucket_count(), 5);
    }
    {
        Tree tree;
        fill(tree, 0, 1187, scattered);
        EXPECT_EQ(tree.store.bucket_count(), 5);
        for (int id = 500; id < 1000; ++id)
            ASSERT_TRUE(tree.index->remove(scattered(id), record(id)));
        EXPECT_EQ(tree.store.bucket_count(), 5);
    }
}

// A recorded case whose bulk-built tree has a null child deep inside: the key above it can only be
// marked unused, and goes when its bucket is packed, but not while keys are inserted before it.
TEST(BTree, KeepsAnUnusedEntryAsTheOldServerDid) {
    Tree tree;
    const auto key = [](int id) { return text_key((7919 * id + 13) % 100003, 900); };
    Model sorted(KeyLess{0});
    for (int id = 0; id < 185; ++id)
        sorted.emplace(key(id), record(id));
    auto builder = tree.index->bulk_builder(true);
    for (const auto& [k, id] : sorted)
        ASSERT_EQ(builder->add(k, id), InsertResult::inserted);
    builder->finish();
    EXPECT_EQ(tree.store.bucket_count(), 27);
    const auto remove_every = [&](int step) {
        for (int id = 0; id < 185; id += step)
            tree.index->remove(key(id), record(id));
    };
    remove_every(3);
    EXPECT_EQ(tree.store.bucket_count(), 27);
    remove_every(2);
    EXPECT_EQ(tree.store.bucket_count(), 15);
    remove_every(1);
    EXPECT_EQ(tree.store.bucket_count(), 1);
    EXPECT_EQ(tree.report().unused_keys, 1);
    EXPECT_EQ(tree.report().used_keys, 0);
    for (int id = 1000; id < 1100; ++id)
        tree.index->insert(key(id), record(id), true);
    EXPECT_EQ(tree.store.bucket_count(), 19);
}

TEST(BTree, BulkBuildFillsLeavesAndLeavesTheLastChildOut) {
    Tree tree;
    auto builder = tree.index->bulk_builder(false);
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(builder->add(int_key(i), record(i)), InsertResult::inserted);
    EXPECT_EQ(builder->add(int_key(999), record(5000)), InsertResult::duplicate);
    EXPECT_EQ(builder->add(text_key(1, 2000), record(5000)), InsertResult::too_long);
    builder->finish();
    // 326 + 326 + 326 + 22 keys, the last of each moved up.
    const Bucket root = tree.root();
    ASSERT_EQ(root.n(), 4);
    EXPECT_TRUE(root.child(4).is_null());
    EXPECT_EQ(Bucket(root.child(0), tree.store.bucket(root.child(0))).n(), 325);
    EXPECT_EQ(Bucket(root.child(3), tree.store.bucket(root.child(3))).n(), 21);
    EXPECT_EQ(tree.report().used_keys, 1000);
    EXPECT_EQ(tree.store.bucket_count(), 5);
}

TEST(BTree, BulkBuildFreesALeafOfOneKey) {
    Tree tree;
    auto builder = tree.index->bulk_builder(true);
    for (int i = 0; i < 327; ++i)
        builder->add(int_key(i), record(i));
    builder->finish();
    EXPECT_EQ(tree.store.bucket_count(), 2);
    EXPECT_EQ(tree.root().n(), 2);
    EXPECT_TRUE(tree.root().child(1).is_null());
    EXPECT_EQ(tree.report().used_keys, 327);
}

TEST(BTree, BulkBuildRefusesAnythingButAscendingKeysIntoAnEmptyIndex) {
    Tree tree;
    auto builder = tree.index->bulk_builder(true);
    builder->add(int_key(5), record(2));
    EXPECT_THROW(builder->add(int_key(4), record(3)), base::Error);
    EXPECT_THROW(builder->add(int_key(5), record(1)), base::Error);
    builder->finish();
    EXPECT_THROW(tree.index->bulk_builder(true), base::Error);
}

TEST(BTree, UniqueInsertSeesEveryDuplicate) {
    Tree tree;
    for (int i = 0; i < 5000; ++i)
        tree.index->insert(int_key(i), record(i), false);
    for (int i = 0; i < 5000; ++i) {
        ASSERT_EQ(tree.index->insert(int_key(i), record(6000), false), InsertResult::duplicate);
        ASSERT_EQ(
            tree.index->insert(bson::make("", static_cast<double>(i)), RecordId{0x8000}, false),
            InsertResult::duplicate);
        ASSERT_EQ(tree.index->find_one(int_key(i)), record(i));
        ASSERT_FALSE(tree.index->has_duplicate(int_key(i), record(i)));
        ASSERT_TRUE(tree.index->has_duplicate(int_key(i), record(i + 1)));
    }
    EXPECT_EQ(tree.index->insert(int_key(7), record(7), false), InsertResult::inserted);
    EXPECT_EQ(tree.report().used_keys, 5000);
}

// An unused entry neither hides a duplicate nor counts as one, and is used again when its very pair
// is inserted again.
TEST(BTree, UnusedEntriesAreInvisibleAndReused) {
    Tree tree;
    const int last = 184;
    auto builder = tree.index->bulk_builder(false);
    for (int i = 0; i <= last; ++i)
        builder->add(text_key(i, 900), record(i));
    builder->finish();
    const bson::Object key = text_key(last, 900);
    ASSERT_TRUE(tree.index->remove(key, record(last)));
    ASSERT_EQ(tree.report().unused_keys, 1);
    EXPECT_EQ(tree.report().used_keys, last);

    EXPECT_TRUE(tree.index->find_one(key).is_null());
    EXPECT_FALSE(tree.index->has_duplicate(key, record(9000)));
    EXPECT_FALSE(tree.index->remove(key, record(last)));
    auto cursor = tree.index->cursor(Direction::backward);
    cursor->seek_to_start();
    EXPECT_EQ(cursor->id(), record(last - 1));

    EXPECT_EQ(tree.index->insert(key, record(9000), false), InsertResult::inserted);
    EXPECT_EQ(tree.index->insert(key, record(last), false), InsertResult::duplicate);
    EXPECT_EQ(tree.index->insert(key, record(9001), false), InsertResult::duplicate);
    EXPECT_EQ(tree.index->find_one(key), record(9000));
    EXPECT_EQ(tree.index->insert(key, record(last), true), InsertResult::inserted);
    EXPECT_EQ(tree.report().unused_keys, 0);
    EXPECT_EQ(tree.index->find_one(key), record(last));
}

TEST(BTree, RefusesKeysThatAreTooLong) {
    Tree tree;
    EXPECT_EQ(tree.index->insert(text_key(1, 1011), record(1), false), InsertResult::inserted);
    EXPECT_EQ(tree.index->insert(text_key(1, 1012), record(2), false), InsertResult::too_long);
    EXPECT_TRUE(tree.index->too_long(text_key(1, 1012)));
    EXPECT_FALSE(tree.index->remove(text_key(1, 1012), record(2)));
    EXPECT_EQ(tree.report().used_keys, 1);
    auto cursor = tree.index->cursor(Direction::forward);
    cursor->seek(text_key(1, 3000), false);
    EXPECT_FALSE(cursor->at_end());
}

TEST(Bucket, ValidityIsCheckedAroundEachChange) {
    Tree tree;
    for (int i = 0; i < 10; ++i)
        ASSERT_EQ(tree.index->insert(int_key(i), record(i), false), InsertResult::inserted);
    const DiskLoc loc = tree.store.root();
    uint8_t* const bytes = tree.store.bucket(loc);
    Bucket bucket(loc, bytes);
    EXPECT_TRUE(bucket.is_well_formed());
    Views& views = tree.store.views();
    EXPECT_TRUE(base::is_refused([&] { bucket.erase(views, 10); }));
    EXPECT_TRUE(base::is_refused([&] { bucket.insert(views, 11, bucket.entry(0)); }));
    EXPECT_TRUE(base::is_refused([&] { bucket.insert(views, 3, bucket.entry(0)); }))
        << "the key lies in the bucket itself";

    const std::vector<uint8_t> whole(bytes, bytes + kBucketBytes);
    auto* const header = reinterpret_cast<BucketHeader*>(bytes);
    const auto restore = [&] { std::copy(whole.begin(), whole.end(), bytes); };
    header->empty = static_cast<uint16_t>(header->empty + 1);
    EXPECT_FALSE(bucket.is_well_formed());
    EXPECT_TRUE(base::is_refused([&] { bucket.erase(views, 3); }));
    restore();
    header->n = kBucketKeysMax + 1;
    EXPECT_FALSE(bucket.is_well_formed());
    restore();
    auto* const nodes = reinterpret_cast<KeyNode*>(bytes + sizeof(BucketHeader));
    nodes[4].key_data = 0;
    EXPECT_FALSE(bucket.is_well_formed()) << "a key outside of the key data";
    restore();
    header->flags = static_cast<uint16_t>(header->flags & ~kPacked);
    EXPECT_TRUE(bucket.is_well_formed());
    header->top = static_cast<uint16_t>(header->top + 4);
    header->empty = static_cast<uint16_t>(header->empty - 4);
    EXPECT_TRUE(bucket.is_well_formed()) << "dead bytes";
    header->flags = static_cast<uint16_t>(header->flags | kPacked);
    EXPECT_FALSE(bucket.is_well_formed()) << "a packed bucket has none";
    restore();
}

// From 2^53 on longs and doubles have no order that is one, so a search may pass by what it seeks.
TEST(BTree, EntriesWithLargeNumbersAreFoundAgain) {
    constexpr int64_t kExact = int64_t{1} << 53;
    std::mt19937 random(7);
    const auto key = [&] {
        const int64_t value = kExact + static_cast<int64_t>(random() % 7);
        return random() % 2 == 0 ? bson::make("", static_cast<double>(value))
                                 : bson::make("", value);
    };
    Tree tree;
    std::vector<std::pair<bson::Object, RecordId>> entries;
    const auto insert_some = [&] {
        for (int i = 0; i < 40; ++i) {
            entries.emplace_back(key(), record(entries.size() * 7919 % 1000003));
            tree.index->insert(entries.back().first, entries.back().second, true);
        }
    };
    for (int round = 0; round < 60; ++round) {
        insert_some();
        const auto cursor =
            tree.index->cursor(round % 2 == 0 ? Direction::forward : Direction::backward);
        cursor->seek_to_start();
        for (size_t steps = random() % entries.size(); steps > 0; --steps)
            cursor->next();
        const RecordId id = cursor->id();
        const bson::Object at(cursor->key());
        cursor->save();
        insert_some();
        EXPECT_TRUE(cursor->restore());
        EXPECT_EQ(cursor->id(), id);
        EXPECT_TRUE(std::ranges::equal(cursor->key().bytes(), at.doc().bytes()));
    }
    std::shuffle(entries.begin(), entries.end(), random);
    for (const auto& [value, id] : entries)
        EXPECT_TRUE(tree.index->remove(value, id));
    EXPECT_EQ(tree.report().used_keys, 0);
}

}  // namespace
}  // namespace mmapv1::test

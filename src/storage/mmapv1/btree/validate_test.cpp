#include "storage/mmapv1/btree/validate.h"

#include <functional>

#include "base/error.h"
#include "storage/mmapv1/btree/testing/tree.h"

namespace mmapv1::test {
namespace {

// A valid tree of three levels, one change to its bytes, and what the validator reports.
class BTreeDamage : public testing::Test {
  protected:
    BTreeDamage() {
        for (int i = 0; i < 3000; ++i)
            tree_.index->insert(text_key(i, 100), record(i), false);
        for (int i = 0; i < 3000; i += 3)
            tree_.index->remove(text_key(i, 100), record(i));
        root_ = tree_.store.root();
    }

    DiskLoc child(DiskLoc loc, int i) { return Bucket(loc, tree_.store.bucket(loc)).child(i); }
    BucketHeader& header(DiskLoc loc) {
        return *reinterpret_cast<BucketHeader*>(tree_.store.bucket(loc));
    }
    KeyNode& node(DiskLoc loc, int i) {
        return reinterpret_cast<KeyNode*>(tree_.store.bucket(loc) + sizeof(BucketHeader))[i];
    }
    uint8_t& key_byte(DiskLoc loc, int i, int byte) {
        return (tree_.store.bucket(loc) + sizeof(BucketHeader) + node(loc, i).key_data)[byte];
    }

    std::vector<std::string> errors(bool unique = true) {
        std::vector<std::string> found;
        BTreeCheck check;
        check.root = tree_.store.root();
        check.unique = unique;
        check.bucket = [this](DiskLoc loc) -> const uint8_t* {
            return tree_.store.holds(loc) ? tree_.store.bucket(loc) : nullptr;
        };
        check.error = [&found](DiskLoc, const std::string& text) { found.push_back(text); };
        check.entry = [this](KeyView, DiskLoc) { ++entries_; };
        report_ = validate_btree(check);
        EXPECT_EQ(report_.errors, static_cast<int64_t>(found.size()));
        return found;
    }
    void expect_error(const std::string& words) {
        std::string all;
        for (const std::string& e : errors())
            all += e + "\n";
        EXPECT_NE(all.find(words), std::string::npos) << all;
    }

    Tree tree_;
    DiskLoc root_;
    BTreeReport report_;
    int64_t entries_ = 0;
};

TEST_F(BTreeDamage, NoneInAValidTree) {
    EXPECT_TRUE(errors().empty());
    EXPECT_EQ(report_.used_keys, 2000);
    EXPECT_EQ(entries_, 2000);
    EXPECT_EQ(report_.buckets, tree_.store.bucket_count());
    EXPECT_GE(report_.depth, 2);
    EXPECT_GT(report_.dead_bytes, 0);
}

TEST_F(BTreeDamage, Sizes) {
    ++header(root_).empty;
    expect_error("is not 8154");
}

TEST_F(BTreeDamage, FreedBucket) {
    header(child(root_, 0)).n = kFreedBucket;
    expect_error("marked as freed");
}

TEST_F(BTreeDamage, Parent) {
    header(child(root_, 1)).parent = Loc7::from(child(root_, 0));
    expect_error("parent field");
}

TEST_F(BTreeDamage, EmptyBucket) {
    header(child(root_, 1)) = {Loc7::from(root_), Loc7::null(), kPacked, kBodyBytes, 0, 0};
    expect_error("has no keys");
}

TEST_F(BTreeDamage, LoopOfBuckets) {
    node(root_, 1).prev_child = node(root_, 0).prev_child;
    expect_error("referenced twice");
}

// A bucket that is named by two, and has one of them as its parent. If the other one merged it with
// a sibling and freed that, the parent would have it twice: an endless scan.
TEST_F(BTreeDamage, ABucketOfTwoParentsIsNotJoined) {
    Views& views = tree_.store.views();
    const auto make = [&](DiskLoc parent, DiskLoc next) {
        Bucket b(tree_.store.allocate(), nullptr);
        b = Bucket(b.loc(), tree_.store.bucket(b.loc()));
        b.initialise(views);
        b.set_parent(views, parent);
        b.set_child(views, 0, next);
        return b;
    };
    const auto add = [&](Bucket& b, int id, DiskLoc left) {
        const bson::Object key = text_key(id, 100);
        const SearchKey encoded(key);
        b.insert(views, b.n(),
                 {Loc7::from(left), Loc7::from(DiskLoc::from(record(static_cast<uint64_t>(id)))),
                  encoded.encoded(), static_cast<uint16_t>(encoded.size())});
    };
    Bucket root = make(DiskLoc::null(), DiskLoc::null());
    Bucket two = make(root.loc(), DiskLoc::null());
    Bucket last = make(root.loc(), DiskLoc::null());
    Bucket first = make(root.loc(), DiskLoc::null());
    Bucket below = make(first.loc(), DiskLoc::null());
    add(two, 12, DiskLoc::null());
    add(two, 15, DiskLoc::null());
    add(last, 25, DiskLoc::null());
    add(below, 7, DiskLoc::null());
    add(below, 8, DiskLoc::null());
    add(first, 5, two.loc());
    first.set_child(views, 1, below.loc());
    add(root, 10, first.loc());
    add(root, 20, two.loc());
    root.set_child(views, 2, last.loc());
    tree_.store.set_root(root.loc());

    EXPECT_TRUE(tree_.index->remove(text_key(7, 100), record(7)));
    const auto cursor = tree_.index->cursor(Direction::forward);
    int entries = 0;
    try {
        for (cursor->seek_to_start(); !cursor->at_end() && entries < 100; cursor->next())
            ++entries;
    } catch (const base::Error&) {
    }
    EXPECT_LT(entries, 100);
}

TEST_F(BTreeDamage, ChildOutsideTheIndex) {
    node(root_, 1).prev_child = Loc7::from(DiskLoc{7, 0x9000});
    expect_error("outside the index");
}

TEST_F(BTreeDamage, KeyPosition) {
    node(root_, 0).key_data = 3;
    expect_error("outside the key data");
}

TEST_F(BTreeDamage, KeyBytes) {
    key_byte(root_, 0, 0) = 0x3f;
    expect_error("is damaged");
}

TEST_F(BTreeDamage, SharedKeyBytes) {
    node(root_, 1).key_data = node(root_, 0).key_data;
    expect_error("share the bytes");
}

TEST_F(BTreeDamage, Order) {
    key_byte(root_, 0, 2) = 'z';
    expect_error("is not greater");
}

TEST_F(BTreeDamage, OrderOfRecordsBehindEqualKeys) {
    Tree tree;
    tree.index->insert(int_key(1), record(1), true);
    tree.index->insert(int_key(1), record(2), true);
    EXPECT_EQ(tree.report().errors, 0);
    KeyNode* nodes =
        reinterpret_cast<KeyNode*>(tree.store.bucket(tree.store.root()) + sizeof(BucketHeader));
    std::swap(nodes[0].record, nodes[1].record);
    std::vector<std::string> found;
    tree.index->validate([&found](const std::string& text) { found.push_back(text); });
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(BTreeDamage, MissingRecord) {
    node(root_, 0).record = Loc7::null();
    expect_error("names no record");
}

TEST_F(BTreeDamage, PackedFlag) {
    const DiskLoc leaf = [this] {
        DiskLoc loc = root_;
        while (child(loc, 0).is_valid())
            loc = child(loc, 0);
        return loc;
    }();
    header(leaf).flags = kPacked;
    expect_error("marked packed");
    header(leaf).flags = 0x10;
    expect_error("unknown flags");
}

TEST_F(BTreeDamage, RepeatedKeyOfAUniqueIndex) {
    tree_.index->insert(text_key(1, 100), record(9999), true);
    expect_error("repeats a key");
    EXPECT_TRUE(errors(false).empty());
}

}  // namespace
}  // namespace mmapv1::test

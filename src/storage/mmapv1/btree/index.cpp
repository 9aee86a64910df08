#include "storage/mmapv1/btree/index.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "sched/tick.h"
#include "storage/index_limits.h"
#include "storage/mmapv1/btree/btree.h"
#include "storage/mmapv1/btree/builder.h"
#include "storage/mmapv1/btree/cursor.h"
#include "storage/mmapv1/btree/validate.h"
#include "storage/space_request.h"

namespace mmapv1 {

namespace {

using storage::RecordId;

constexpr int64_t kDepthMax = 16;  // of a valid tree that fits its files
static_assert(kDepthMax <= kTreeDepthMax);
static_assert(storage::kKeyFieldsMax <= 32);  // a bit for each says which are descending

class BTreeIndex final : public storage::SortedIndex {
  public:
    BTreeIndex(BucketStore& store, uint32_t descending) : tree_(store, descending) {}

    storage::InsertResult insert(bson::Doc key, RecordId id, bool duplicates_allowed) override {
        return tree_.insert(SearchKey(key), DiskLoc::from(id), duplicates_allowed);
    }

    bool remove(bson::Doc key, RecordId id) override {
        return tree_.remove(SearchKey(key), DiskLoc::from(id));
    }

    void reserve(int64_t keys, int64_t key_bytes) override {
        DCHECK(keys >= 0 && key_bytes >= 0);
        tree_.store().reserve(static_cast<int>(most_new_buckets(keys, key_bytes)));
    }

    int64_t insertion_bytes(int64_t keys, int64_t key_bytes) const override {
        constexpr int64_t kChangedPerKey = 4;  // leaf, parent, and what a split moves
        return kBucketBytes * (std::min(kChangedPerKey * keys, tree_.store().bucket_count()) +
                               new_buckets(keys, key_bytes));
    }

    bool has_duplicate(bson::Doc key, RecordId self) const override {
        return tree_.has_duplicate(SearchKey(key), DiskLoc::from(self));
    }

    RecordId find_one(bson::Doc key) const override {
        const BTreePosition at = tree_.find_first(SearchKey(key));
        if (at.at_end()) return {};
        return tree_.bucket(at.bucket).node(at.index).record.loc().id();
    }

    bool too_long(bson::Doc key) const override { return SearchKey(key).too_long(); }

    std::unique_ptr<storage::IndexCursor> cursor(storage::Direction direction) const override {
        return std::make_unique<BTreeCursor>(tree_, direction);
    }

    std::unique_ptr<storage::BulkBuilder> bulk_builder(bool duplicates_allowed) override {
        return std::make_unique<BTreeBuilder>(tree_, duplicates_allowed);
    }

    int64_t storage_bytes() const override { return tree_.store().bucket_count() * kBucketBytes; }

    int64_t validate(const std::function<void(const std::string&)>& errors) const override {
        BTreeCheck check;
        check.root = tree_.store().root();
        check.descending = tree_.descending();
        ReadAhead ahead(tree_.store().files());
        check.bucket = [&](DiskLoc loc) {
            ahead.come_to_all(loc, DataFiles::kCheckedBytes);
            return tree_.store().bucket(loc);
        };
        check.error = [&](DiskLoc, const std::string& text) { errors(text); };
        return validate_btree(check).used_keys;
    }

    void touch() const override {
        ReadAhead ahead(tree_.store().files());
        touch(tree_.store().root(), 1, ahead);
    }

  private:
    // Each key splits a leaf at most once; one that has been split takes a third of its body before
    // it is full again.
    static constexpr int64_t kSpaceAfterSplit = kBodyBytes / 3;

    int64_t depth() const {
        int64_t depth = 0;
        for (DiskLoc at = tree_.store().root(); at.is_valid() && depth < kDepthMax; ++depth)
            at = tree_.bucket(at).child(0);
        return depth;
    }

    int64_t new_buckets(int64_t keys, int64_t key_bytes) const {
        return std::min(keys, tree_.store().bucket_count()) +
               (key_bytes + keys * kNodeBytes) / kSpaceAfterSplit + depth() + 1;
    }

    // Every split of a leaf may split all buckets above it, and the last one make a new root. If
    // many keys come, every bucket is split once, and the entry that goes up takes space there in
    // turn, less than two fifths of a split's.
    int64_t most_new_buckets(int64_t keys, int64_t key_bytes) const {
        const int64_t filled = (key_bytes + keys * kNodeBytes) / kSpaceAfterSplit;
        const int64_t buckets = tree_.store().bucket_count();
        return std::min((std::min(keys, buckets) + filled) * depth() + 1,
                        (buckets + filled) * 5 / 3 + depth() + 1);
    }

    // Reads the nodes and so brings the bucket's pages in.
    void touch(DiskLoc loc, int depth, ReadAhead& ahead) const {
        if (!loc.is_valid()) return;
        if (depth > kTreeDepthMax)
            base::fail(
                base::kInternalError,
                "an index is damaged: its bucket {} lies too deep; drop it and build it again",
                to_string(loc));
        sched::tick();
        ahead.come_to_all(loc, DataFiles::kCheckedBytes);
        const Bucket b = tree_.bucket(loc);
        for (int i = 0; i <= b.n(); ++i) {
            if (!b.child(i).is_valid()) continue;
            touch(tree_.child_bucket(b.child(i), loc).loc(), depth + 1, ahead);
        }
    }

    BTree tree_;
};

}  // namespace

std::unique_ptr<storage::SortedIndex> make_btree_index(BucketStore& store,
                                                       uint32_t descending_bits) {
    return std::make_unique<BTreeIndex>(store, descending_bits);
}

void create_empty_btree(BucketStore& store) {
    if (store.root().is_valid())
        base::fail(base::kInternalError, "the index has a root bucket already");
    storage::ask_for_space();
    store.set_root(BTree(store, 0).allocate_bucket());
}

}  // namespace mmapv1

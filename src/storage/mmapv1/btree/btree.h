// storage/mmapv1/btree/btree.h - the tree of buckets: search, insertion, removal (mmapv1 spec 6.7,
// semantics 6 rule 6).
//
// Entries live in inner buckets as well as in leaves; any child may be null. The policies of
// splitting, balancing and merging decide how many buckets an index has, which users see as
// totalIndexSize, so they follow the old server's to the key. Reading calls need the database lock
// shared, the others exclusive.
#pragma once

#include <cstdint>

#include "base/dcheck.h"
#include "storage/mmapv1/btree/bucket.h"
#include "storage/record_store.h"
#include "storage/sorted_index.h"

namespace mmapv1 {

// An entry of a tree; past either end: bucket is null.
struct BTreePosition {
    DiskLoc bucket = DiskLoc::null();
    int index = 0;
    bool at_end() const { return bucket.is_null(); }
    bool operator==(const BTreePosition&) const = default;
};

class EntryCopy;

class BTree {
  public:
    BTree(BucketStore& store, uint32_t descending) : store_(store), descending_(descending) {}

    BucketStore& store() const { return store_; }
    uint32_t descending() const { return descending_; }
    Bucket bucket(DiskLoc loc) const {
        DCHECK(loc.is_valid());
        return Bucket(loc, store_.checked_bucket(loc));
    }
    // A bucket that `parent` names as its child. Throws base::Error when it does not say so too:
    // a walk along damaged links might never end.
    Bucket child_bucket(DiskLoc loc, DiskLoc parent) const {
        const Bucket child = bucket(loc);
        if (child.parent() != parent || child.n() == 0 || child.n() > kBucketKeysMax)
            bad_link(loc, parent);
        return child;
    }
    // The bucket at the top, which has no parent: so no way up is endless.
    Bucket root_bucket(DiskLoc loc) const {
        const Bucket root = bucket(loc);
        if (root.parent().is_valid()) bad_link(loc, root.parent());
        return root;
    }

    // The place where a search ends between two entries: its neighbours in index order, and the
    // place in a bucket where an entry would be added. If an entry matched exactly, that is
    // `after`.
    struct SearchPosition {
        BTreePosition before;
        BTreePosition after;
        BTreePosition place;
        bool exact = false;
    };
    // Returns the place around (key, record); `order` is the record as record_order() gives it.
    SearchPosition find(const SearchKey& key, uint64_t order) const;
    // Returns the place in front of (past: behind) all entries that begin with `key`, which may
    // have fewer fields than the index.
    SearchPosition find_prefix(const SearchKey& key, bool past) const;
    // Looks at every entry for (key, record). A tree that 2.6 wrote may hold timestamps and dates
    // before 1970 in an order that is none (mmapv1 spec 6.6 rule 5), and so may any tree numbers
    // from 2^53 on (bson/compare.h), so that descending misses them; a record that goes must not
    // leave its entry behind.
    BTreePosition find_by_scan(const SearchKey& key, uint64_t order) const;
    static bool has_large_number(bson::Doc key);
    // The first used entry with exactly this key.
    BTreePosition find_first(const SearchKey& key) const;
    bool has_duplicate(const SearchKey& key, DiskLoc self) const;

    BTreePosition edge(storage::Direction direction) const;  // first entry in that direction
    // The neighbour, unused entries included.
    BTreePosition advance(BTreePosition at, storage::Direction direction) const;
    // `at` itself if it is used, else the next one that is.
    BTreePosition skip_unused(BTreePosition at, storage::Direction direction) const;

    // Inserts a pair; one that is there already counts as inserted. Throws base::Error when the
    // disk is full; then nothing is changed.
    storage::InsertResult insert(const SearchKey& key, DiskLoc record, bool duplicates_allowed);
    // Removes an entry. It needs no space: if evening out would, the tree is left as it is.
    bool remove(const SearchKey& key, DiskLoc record);

    // An initialised bucket of its own record.
    DiskLoc allocate_bucket();
    void free_bucket(DiskLoc loc);
    // Makes `parent` the parent of the children from..to of bucket `loc` (which is `parent`).
    void adopt(const Bucket& parent, int from, int to);

  private:
    static void check_depth(int depth, DiskLoc loc) {
        if (depth > kTreeDepthMax) bad_link(loc, loc);
    }
    [[noreturn]] static void bad_link(DiskLoc loc, DiskLoc parent);
    template <typename Order>
    SearchPosition descend(Order order) const;
    // Searches as find() does; notes whether entries with that key were met on the way, and whether
    // one of them is used and another record's.
    SearchPosition find_for_insert(const SearchKey& key, uint64_t order, bool& key_seen,
                                   bool& key_seen_used) const;

    // Adds an entry in bucket `at.bucket` before `at.index`, packing or splitting it. The child
    // that was there becomes the entry's right child, or `right` does if that is not null.
    // The buckets for it must have been reserved.
    void insert_at(BTreePosition at, const BucketEntry& entry, DiskLoc right);
    // Inserts the entry into a bucket that has room.
    void insert_into(Bucket& b, int index, const BucketEntry& entry, DiskLoc right);
    // How many buckets that takes. With `replaced`, entry `at.index` is erased before.
    int buckets_for(BTreePosition at, int key_bytes, bool replaced) const;
    // Makes sure that an entry can be replaced by one with such a key; false: the disk is full.
    bool reserve_for_replacing(BTreePosition at, int key_bytes);
    void split(BTreePosition at, const BucketEntry& entry, DiskLoc right);
    // Moves the upper part of a full bucket to an empty one, the entry between both to `promoted`.
    // Returns how many entries stay.
    int move_upper_half(Bucket& from, Bucket& to, bool appending, EntryCopy& promoted);

    void remove_at(BTreePosition at);
    void remove_inner(BTreePosition at);
    void free_empty_leaf(DiskLoc loc);
    // Exchanges an entry for another one, keeping both its children; after
    // reserve_for_replacing().
    void replace(BTreePosition at, const BucketEntry& entry);
    // Evens the bucket out with a sibling or merges the two, after entries left it. Returns false
    // if nothing was done.
    bool balance(DiskLoc loc);
    bool is_child(DiskLoc loc, DiskLoc parent) const;
    // Whether one bucket can hold children `left` and `left` + 1 with what separates them.
    bool fit_into_one(DiskLoc parent, int left) const;
    bool redistribute(DiskLoc parent, int left);  // false: the disk is full
    void merge(DiskLoc parent, int left);
    void replace_with_child(DiskLoc loc);

    BucketStore& store_;
    uint32_t descending_;
};

// An entry copied out of a bucket that is about to change.
class EntryCopy {
  public:
    EntryCopy() = default;
    explicit EntryCopy(const BucketEntry& entry) { take(entry); }
    EntryCopy(const EntryCopy&) = delete;
    EntryCopy& operator=(const EntryCopy&) = delete;
    void take(const BucketEntry& entry) {
        DCHECK(entry.key_bytes <= sizeof bytes_);
        __builtin_memcpy(bytes_, entry.key, entry.key_bytes);
        entry_ = entry;
        entry_.key = bytes_;
    }
    const BucketEntry& entry() const { return entry_; }
    BucketEntry with_left(DiskLoc left) const {
        return {Loc7::from(left), entry_.record, bytes_, entry_.key_bytes};
    }

  private:
    BucketEntry entry_{};
    uint8_t bytes_[kKeyBytesMax];
};

}  // namespace mmapv1

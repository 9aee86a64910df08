// storage/mmapv1/btree/bucket.h - one bucket of a B-tree: reading it, and the few ways to change
// it. Knows nothing about the tree around it; callers keep parents and children in step.
//
// Every writing call declares exactly the bytes it changes. Key bytes passed in may lie inside the
// bucket itself only where that is said.
#pragma once

#include <cstdint>
#include <span>

#include "base/dcheck.h"
#include "storage/mmapv1/btree/key_v1.h"
#include "storage/mmapv1/btree/layout.h"

namespace mmapv1 {

// An entry on its way from one bucket to another.
struct BucketEntry {
    Loc7 left;           // subtree before the key
    Loc7 record;         // unused bit included
    const uint8_t* key;  // encoded
    uint16_t key_bytes;

    int bytes() const { return kNodeBytes + key_bytes; }
};
constexpr int kEntryBytesMax = kNodeBytes + static_cast<int>(kKeyBytesMax);
// A bucket without room for another entry has three at least: it can be divided.
static_assert(kBodyBytes - kEntryBytesMax >= 3 * kEntryBytesMax);

class Bucket {
  public:
    Bucket(DiskLoc loc, uint8_t* data) : loc_(loc), data_(data) {}

    DiskLoc loc() const { return loc_; }
    const BucketHeader& header() const { return *reinterpret_cast<const BucketHeader*>(data_); }
    int n() const { return header().n; }
    DiskLoc parent() const { return header().parent.loc(); }
    const KeyNode& node(int i) const {
        DCHECK(i >= 0 && i < n());
        return nodes()[i];
    }
    KeyView key(int i) const { return KeyView(body() + node(i).key_data); }
    // Subtree before key i; i == n: after the last one.
    DiskLoc child(int i) const {
        return (i == n() ? header().next_child : node(i).prev_child).loc();
    }
    // Which child the bucket `loc` is. If it is none: -1, or base::Error.
    int find_child(DiskLoc loc) const;
    int index_of_child(DiskLoc loc) const;
    BucketEntry entry(int i) const {
        const KeyNode& k = node(i);
        const KeyView view = key(i);
        DCHECK(view.size() <= kKeyBytesMax);
        return {k.prev_child, k.record, view.data(), static_cast<uint16_t>(view.size())};
    }
    bool is_packed() const { return (header().flags & kPacked) != 0; }
    // Whether packing drops entry i: it is unused, has no left child and is not the first one
    // (mmapv1 spec 6.7 rule 7). A packed bucket keeps what it has.
    bool is_droppable(int i) const { return !is_packed() && is_free_entry(i); }
    // Whether it would be dropped if the bucket were not packed.
    bool is_free_entry(int i) const {
        return i > 0 && is_unused(node(i).record) && node(i).prev_child.is_null();
    }
    // Whether the bucket is what it must be at any time outside of a change: its sizes add up, and
    // its keys lie in the key data, which they fill when it is packed (mmapv1 spec 6.4). Reads
    // every key.
    bool is_well_formed() const;
    bool sizes_add_up() const;  // of that, what the header says
    // Returns how many bytes nodes and key data would take if the bucket were packed.
    int live_bytes() const;

    // Makes an empty bucket without relatives (mmapv1 spec 6.4 rule 5).
    void initialise(Views& views);
    void mark_freed(Views& views);
    void set_parent(Views& views, DiskLoc parent);
    void set_child(Views& views, int i, DiskLoc child);
    void set_unused(Views& views, int i, bool unused);

    bool has_room(int key_bytes) const { return kNodeBytes + key_bytes <= header().empty; }
    // Puts an entry before entry `at`; the former child(at) becomes its right child. has_room must
    // hold, the key must lie elsewhere.
    void insert(Views& views, int at, const BucketEntry& entry);
    // Drops entry `at` and the reference to its left child; its key data stays behind as dead
    // bytes.
    void erase(Views& views, int at);
    // Takes the last entry out, whose key data must be the lowest; its left child becomes
    // next_child.
    void remove_last(Views& views);
    // Rewrites the key data densely, unless it is already so, and drops what is droppable, except
    // entry `at`. `at`, an insert position, is kept pointing between the same entries.
    void pack(Views& views, int& at);
    // Replaces the whole content but the parent. The keys may lie inside this bucket.
    void assign(Views& views, std::span<const BucketEntry> entries, DiskLoc next_child);

  private:
    BucketHeader& mutable_header() { return *reinterpret_cast<BucketHeader*>(data_); }
    KeyNode* mutable_nodes() { return reinterpret_cast<KeyNode*>(data_ + sizeof(BucketHeader)); }
    const KeyNode* nodes() const {
        return reinterpret_cast<const KeyNode*>(data_ + sizeof(BucketHeader));
    }
    const uint8_t* body() const { return data_ + sizeof(BucketHeader); }

    DiskLoc loc_;
    uint8_t* data_;
};

// Entries collected from one or two buckets and a separator between them.
class EntryList {
  public:
    void add(const BucketEntry& entry) {
        DCHECK(size_ < kSizeMax);
        entries_[size_++] = entry;
    }
    // Adds the entries of a bucket but the droppable ones.
    void add_all(const Bucket& bucket) {
        const int n = bucket.n();
        for (int i = 0; i < n; ++i)
            if (!bucket.is_droppable(i)) add(bucket.entry(i));
    }
    int size() const { return size_; }
    const BucketEntry& operator[](int i) const {
        DCHECK(i >= 0 && i < size_);
        return entries_[i];
    }
    std::span<const BucketEntry> range(int from, int to) const {
        DCHECK(from >= 0 && from <= to && to <= size_);
        return {entries_ + from, static_cast<size_t>(to - from)};
    }
    // The right-most entry that, with everything right of it, exceeds `limit` bytes; clamped so
    // that an entry stays on either side.
    int split_point(int limit) const;

  private:
    static constexpr int kSizeMax = 2 * kBucketKeysMax + 1;

    BucketEntry entries_[kSizeMax];
    int size_ = 0;
};

}  // namespace mmapv1

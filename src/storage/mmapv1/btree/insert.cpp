#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "storage/mmapv1/btree/btree.h"

namespace mmapv1 {

using storage::InsertResult;

DiskLoc BTree::allocate_bucket() {
    const DiskLoc loc = store_.allocate();
    Bucket(loc, store_.bucket(loc)).initialise(store_.views());
    return loc;
}

void BTree::free_bucket(DiskLoc loc) {
    DCHECK(loc != store_.root());
    bucket(loc).mark_freed(store_.views());
    store_.free(loc);
}

void BTree::adopt(const Bucket& parent, int from, int to) {
    DCHECK(from >= 0 && to <= parent.n());
    for (int i = from; i <= to; ++i) {
        const DiskLoc child = parent.child(i);
        if (child.is_valid()) bucket(child).set_parent(store_.views(), parent.loc());
    }
}

InsertResult BTree::insert(const SearchKey& key, DiskLoc record, bool duplicates_allowed) {
    if (key.too_long()) return InsertResult::too_long;
    bool key_seen = false;
    bool key_seen_used = false;
    const Loc7 stored = Loc7::from(record);
    const SearchPosition position =
        find_for_insert(key, record_order(stored), key_seen, key_seen_used);
    if (!duplicates_allowed) {
        // The search meets both neighbours of the position, so a used entry with this key, of which
        // there is at most one, was seen unless unused ones lie between.
        if (key_seen_used) return InsertResult::duplicate;
        if (key_seen && has_duplicate(key, record)) return InsertResult::duplicate;
    }
    if (position.exact) {
        Bucket b = bucket(position.place.bucket);
        if (is_unused(b.node(position.place.index).record))
            b.set_unused(store_.views(), position.place.index, false);
        return InsertResult::inserted;
    }
    if (position.place.at_end()) base::fail(base::kInternalError, "the index has no root bucket");
    const BucketEntry entry{Loc7::null(), stored, key.encoded(), static_cast<uint16_t>(key.size())};
    // The usual case first: splitting needs room for all entries of a bucket.
    if (Bucket b = bucket(position.place.bucket); b.has_room(entry.key_bytes)) {
        insert_into(b, position.place.index, entry, DiskLoc::null());
        return InsertResult::inserted;
    }
    if (const int buckets = buckets_for(position.place, entry.key_bytes, false); buckets > 0)
        store_.reserve(buckets);
    insert_at(position.place, entry, DiskLoc::null());
    return InsertResult::inserted;
}

// Goes up as far as insert_at() and split() will, with what they will find there.
int BTree::buckets_for(BTreePosition at, int key_bytes, bool replaced) const {
    for (int buckets = 0;;) {
        const Bucket b = bucket(at.bucket);
        DCHECK(at.index >= 0 && at.index + (replaced ? 1 : 0) <= b.n());
        if (b.header().empty + (replaced ? kNodeBytes : 0) >= kNodeBytes + key_bytes)
            return buckets;
        EntryList packed;
        int live = 0;
        int place = 0;
        const int next = at.index + (replaced ? 1 : 0);
        for (int i = 0; i < b.n(); ++i) {
            if (i == next) place = packed.size();
            if (i < next && i >= at.index) continue;
            if (i != next && (b.is_droppable(i) || (replaced && b.is_free_entry(i)))) continue;
            packed.add(b.entry(i));
            live += b.entry(i).bytes();
        }
        if (next == b.n()) place = packed.size();
        if (live + kNodeBytes + key_bytes <= kBodyBytes) return buckets;
        ++buckets;
        const DiskLoc parent = b.parent();
        if (!parent.is_valid()) return buckets + 1;
        const int middle = packed.split_point(live / (place == packed.size() ? 10 : 2));
        key_bytes = packed[middle].key_bytes;
        at = {parent, bucket(parent).index_of_child(at.bucket)};
        replaced = false;
    }
}

bool BTree::reserve_for_replacing(BTreePosition at, int key_bytes) {
    const int buckets = buckets_for(at, key_bytes, true);
    try {
        if (buckets > 0) store_.reserve(buckets);
        return true;
    } catch (const base::Error& e) {
        base::log::debug(1, "cannot even out an index: {}", e.what());
        return false;
    }
}

void BTree::insert_into(Bucket& b, int index, const BucketEntry& entry, DiskLoc right) {
    b.insert(store_.views(), index, entry);
    if (right.is_valid()) b.set_child(store_.views(), index + 1, right);
    adopt(b, index, index + 1);
}

void BTree::insert_at(BTreePosition at, const BucketEntry& entry, DiskLoc right) {
    Bucket b = bucket(at.bucket);
    if (!b.has_room(entry.key_bytes)) {
        b.pack(store_.views(), at.index);
        if (!b.has_room(entry.key_bytes)) return split(at, entry, right);
    }
    insert_into(b, at.index, entry, right);
}

void BTree::split(BTreePosition at, const BucketEntry& entry, DiskLoc right) {
    Bucket left_bucket = bucket(at.bucket);
    DCHECK(!left_bucket.has_room(entry.key_bytes));
    const DiskLoc right_loc = allocate_bucket();
    Bucket right_bucket = bucket(right_loc);
    EntryCopy promoted;
    const bool appending = at.index == left_bucket.n();
    const int middle = move_upper_half(left_bucket, right_bucket, appending, promoted);

    const DiskLoc parent = left_bucket.parent();
    if (parent.is_valid()) {
        const int child = bucket(parent).index_of_child(at.bucket);
        insert_at({parent, child}, promoted.with_left(at.bucket), right_loc);
    } else {
        const DiskLoc root = allocate_bucket();
        insert_at({root, 0}, promoted.with_left(at.bucket), right_loc);
        store_.set_root(root);
    }
    if (at.index <= middle) {
        insert_at(at, entry, right);
    } else {
        insert_at({right_loc, at.index - middle - 1}, entry, right);
    }
}

// Keys that arrive in ascending order leave full buckets behind; others leave them half full.
int BTree::move_upper_half(Bucket& from, Bucket& to, bool appending, EntryCopy& promoted) {
    // An entry that is dropped here would take the child behind the last one with it.
    DCHECK(from.is_packed() && to.n() == 0);
    EntryList all;
    all.add_all(from);
    const int middle = all.split_point(from.live_bytes() / (appending ? 10 : 2));
    promoted.take(all[middle]);
    to.assign(store_.views(), all.range(middle + 1, all.size()), from.child(all.size()));
    adopt(to, 0, to.n());
    from.assign(store_.views(), all.range(0, middle), promoted.entry().left.loc());
    DCHECK(from.n() == middle && middle > 0 && to.n() > 0);
    return middle;
}

}  // namespace mmapv1

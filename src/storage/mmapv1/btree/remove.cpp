#include "base/dcheck.h"
#include "storage/mmapv1/btree/btree.h"

namespace mmapv1 {

namespace {

// Below this many live bytes a bucket is joined with a sibling: half a body less the longest key
// and its node (mmapv1 spec 6.7 rule 11).
constexpr int kLowWaterBytes = kBodyBytes / 2 - static_cast<int>(kKeyBytesMax) - kNodeBytes + 1;
static_assert(kLowWaterBytes == 3038);

bool has_time(bson::Doc key) {
    for (const bson::Element& e : key)
        if (e.canonical() == bson::canonical_class(bson::Type::date)) return true;
    return false;
}

}  // namespace

bool BTree::remove(const SearchKey& key, DiskLoc record) {
    if (key.too_long()) return false;
    const uint64_t order = record_order(Loc7::from(record));
    const SearchPosition position = find(key, order);
    BTreePosition at = position.place;
    if (!position.exact) {
        if (!has_time(key.doc()) && !has_large_number(key.doc())) return false;
        at = find_by_scan(key, order);
        if (at.at_end()) return false;
    }
    if (is_unused(bucket(at.bucket).node(at.index).record)) return false;
    remove_at(at);
    return true;
}

BTreePosition BTree::find_by_scan(const SearchKey& key, uint64_t order) const {
    BTreePosition at = edge(storage::Direction::forward);
    while (!at.at_end()) {
        const Bucket b = bucket(at.bucket);
        if (record_order(b.node(at.index).record) == order &&
            compare(key, b.key(at.index), descending_) == 0)
            break;
        at = advance(at, storage::Direction::forward);
    }
    return at;
}

void BTree::remove_at(BTreePosition at) {
    Views& views = store_.views();
    Bucket b = bucket(at.bucket);
    DCHECK(at.index >= 0 && at.index < b.n());
    if (b.n() > 1) {
        // Only the left child counts: with a right one alone the entry just goes.
        if (b.child(at.index).is_valid()) return remove_inner(at);
        b.erase(views, at.index);
        balance(at.bucket);
        return;
    }
    if (b.child(0).is_valid() || b.child(1).is_valid()) return remove_inner(at);
    b.erase(views, 0);
    if (b.parent().is_valid() && !balance(at.bucket)) free_empty_leaf(at.bucket);
}

// An entry with children is replaced by its neighbour in the tree below, if that one can be taken
// out plainly and the bucket has room or can be split; otherwise it stays, marked unused.
void BTree::remove_inner(BTreePosition at) {
    Bucket b = bucket(at.bucket);
    const bool left = b.child(at.index).is_valid();
    DCHECK(left || b.child(at.index + 1).is_valid());
    const BTreePosition neighbour =
        advance(at, left ? storage::Direction::backward : storage::Direction::forward);
    const Bucket below = bucket(neighbour.bucket);
    if (below.child(neighbour.index).is_valid() || below.child(neighbour.index + 1).is_valid()) {
        b.set_unused(store_.views(), at.index, true);
        return;
    }
    const EntryCopy moved(below.entry(neighbour.index));
    if (!reserve_for_replacing(at, moved.entry().key_bytes)) {
        b.set_unused(store_.views(), at.index, true);
        return;
    }
    replace(at, moved.entry());
    remove_at(neighbour);
}

void BTree::free_empty_leaf(DiskLoc loc) {
    DCHECK(bucket(loc).n() == 0 && !bucket(loc).child(0).is_valid());
    Bucket parent = bucket(bucket(loc).parent());
    parent.set_child(store_.views(), parent.index_of_child(loc), DiskLoc::null());
    free_bucket(loc);
}

void BTree::replace(BTreePosition at, const BucketEntry& entry) {
    Bucket b = bucket(at.bucket);
    BucketEntry with_left = entry;
    with_left.left = b.node(at.index).prev_child;
    b.erase(store_.views(), at.index);
    insert_at(at, with_left, DiskLoc::null());
}

bool BTree::balance(DiskLoc loc) {
    const Bucket b = bucket(loc);
    const DiskLoc parent_loc = b.parent();
    if (!parent_loc.is_valid() || b.live_bytes() >= kLowWaterBytes) return false;
    const Bucket parent = bucket(parent_loc);
    const int at = parent.index_of_child(loc);
    const bool right = at < parent.n() && is_child(parent.child(at + 1), parent_loc);
    const bool left = at > 0 && is_child(parent.child(at - 1), parent_loc);
    if (right && !fit_into_one(parent_loc, at)) return redistribute(parent_loc, at);
    if (left && !fit_into_one(parent_loc, at - 1)) return redistribute(parent_loc, at - 1);
    if (!right && !left) return false;
    merge(parent_loc, right ? at : at - 1);
    return true;
}

// Whether the bucket names `parent` as its parent. A bucket that says that it lies elsewhere stays
// as it is: made part of this one it might be there twice.
bool BTree::is_child(DiskLoc loc, DiskLoc parent) const {
    return loc.is_valid() && bucket(loc).parent() == parent;
}

bool BTree::fit_into_one(DiskLoc parent_loc, int left) const {
    const Bucket parent = bucket(parent_loc);
    DCHECK(left >= 0 && left < parent.n());
    const int both =
        bucket(parent.child(left)).live_bytes() + bucket(parent.child(left + 1)).live_bytes();
    return both + parent.entry(left).bytes() <= kBodyBytes;
}

// Evens out children `left` and `left` + 1.
bool BTree::redistribute(DiskLoc parent_loc, int left) {
    DCHECK(!fit_into_one(parent_loc, left));
    Views& views = store_.views();
    const Bucket parent = bucket(parent_loc);
    Bucket l = bucket(parent.child(left));
    Bucket r = bucket(parent.child(left + 1));
    BucketEntry separator = parent.entry(left);
    const int total = l.live_bytes() + separator.bytes() + r.live_bytes();
    separator.left = Loc7::from(l.child(l.n()));
    EntryCopy promoted;
    {
        EntryList all;
        all.add_all(l);
        const int left_size = all.size();
        all.add(separator);
        all.add_all(r);
        const int middle = all.split_point(total / 2);
        promoted.take(all[middle]);
        if (!reserve_for_replacing({parent_loc, left}, promoted.entry().key_bytes)) return false;
        const DiskLoc last_child = r.child(r.n());
        const auto fill_left = [&] {
            l.assign(views, all.range(0, middle), promoted.entry().left.loc());
        };
        // The one that grows takes its new keys out of the other first.
        const bool left_grows = middle > left_size;
        if (left_grows) fill_left();
        r.assign(views, all.range(middle + 1, all.size()), last_child);
        if (!left_grows) fill_left();
    }
    adopt(l, 0, l.n());
    adopt(r, 0, r.n());
    replace({parent_loc, left}, promoted.entry());
    return true;
}

// Puts everything into child `left` and frees the one right of it.
void BTree::merge(DiskLoc parent_loc, int left) {
    DCHECK(fit_into_one(parent_loc, left));
    Views& views = store_.views();
    Bucket parent = bucket(parent_loc);
    Bucket l = bucket(parent.child(left));
    const Bucket r = bucket(parent.child(left + 1));
    int left_size = 0;
    {
        BucketEntry separator = parent.entry(left);
        separator.left = Loc7::from(l.child(l.n()));
        EntryList all;
        all.add_all(l);
        left_size = all.size();
        all.add(separator);
        all.add_all(r);
        l.assign(views, all.range(0, all.size()), r.child(r.n()));
    }
    adopt(l, left_size + 1, l.n());
    free_bucket(r.loc());

    parent.set_child(views, left + 1, l.loc());
    parent.erase(views, left);
    if (parent.n() == 0) {
        replace_with_child(parent_loc);
    } else {
        balance(parent_loc);
    }
}

// A bucket without entries has one child left, which takes its place.
void BTree::replace_with_child(DiskLoc loc) {
    Views& views = store_.views();
    const Bucket b = bucket(loc);
    DCHECK(b.n() == 0);
    Bucket child = bucket(b.child(0));
    child.set_parent(views, b.parent());
    if (b.parent().is_valid()) {
        Bucket parent = bucket(b.parent());
        parent.set_child(views, parent.index_of_child(loc), child.loc());
    } else {
        store_.set_root(child.loc());
    }
    free_bucket(loc);
}

}  // namespace mmapv1

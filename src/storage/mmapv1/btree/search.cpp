#include "storage/mmapv1/btree/btree.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"

namespace mmapv1 {

using storage::Direction;

void BTree::bad_link(DiskLoc loc, DiskLoc parent) {
    base::fail(base::kInternalError,
               "an index is damaged: its bucket {} and the parent {} disagree; find it with "
               "dbpath_check, drop it and build it again",
               to_string(loc), to_string(parent));
}

// `order(bucket, i)` says how what is sought stands to entry i: <0 before it, >0 behind it, 0 it is
// it.
template <typename Order>
BTree::SearchPosition BTree::descend(Order order) const {
    SearchPosition position;
    DiskLoc parent = DiskLoc::null();
    DiskLoc loc = store_.root();
    for (int depth = 1; loc.is_valid(); check_depth(++depth, loc)) {
        const Bucket b = parent.is_valid() ? child_bucket(loc, parent) : root_bucket(loc);
        const int n = b.n();
        // Both ends included, as the old server halved: numbers beyond 2^53 may have no order that
        // is one (bson/compare.h), and then the entries that a search meets decide what it finds.
        int low = 0;
        int high = n - 1;
        while (low <= high) {
            const int middle = (low + high) / 2;
            const int c = order(b, middle);
            if (c == 0) {
                position.after = position.place = {loc, middle};
                position.exact = true;
                return position;
            }
            if (c > 0) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        if (low < n) position.after = {loc, low};
        if (low > 0) position.before = {loc, low - 1};
        position.place = {loc, low};
        parent = loc;
        loc = b.child(low);
    }
    return position;
}

namespace {

int three_way(uint64_t a, uint64_t b) {
    return a < b ? -1 : (b < a ? 1 : 0);
}

}  // namespace

bool BTree::has_large_number(bson::Doc key) {
    for (const bson::Element& e : key)
        if (bson::is_large_number(e)) return true;
    return false;
}

BTree::SearchPosition BTree::find(const SearchKey& key, uint64_t order) const {
    return descend([&](const Bucket& b, int i) {
        const int c = compare(key, b.key(i), descending_);
        return c != 0 ? c : three_way(order, record_order(b.node(i).record));
    });
}

BTree::SearchPosition BTree::find_for_insert(const SearchKey& key, uint64_t order, bool& key_seen,
                                             bool& key_seen_used) const {
    return descend([&](const Bucket& b, int i) {
        if (const int c = compare(key, b.key(i), descending_); c != 0) return c;
        const Loc7 record = b.node(i).record;
        const int c = three_way(order, record_order(record));
        key_seen = true;
        if (c != 0 && !is_unused(record)) key_seen_used = true;
        return c;
    });
}

BTree::SearchPosition BTree::find_prefix(const SearchKey& key, bool past) const {
    const int if_equal = past ? 1 : -1;
    return descend([&](const Bucket& b, int i) {
        const int c = compare_prefix(key, b.key(i), descending_);
        return c != 0 ? c : if_equal;
    });
}

BTreePosition BTree::find_first(const SearchKey& key) const {
    BTreePosition at = find(key, 0).after;
    while (!at.at_end()) {
        const Bucket b = bucket(at.bucket);
        if (compare(key, b.key(at.index), descending_) != 0) return {};
        if (!is_unused(b.node(at.index).record)) return at;
        at = advance(at, Direction::forward);
    }
    return at;
}

bool BTree::has_duplicate(const SearchKey& key, DiskLoc self) const {
    const uint64_t own = record_order(Loc7::from(self));
    BTreePosition at = find(key, 0).after;
    while (!at.at_end()) {
        const Bucket b = bucket(at.bucket);
        if (compare(key, b.key(at.index), descending_) != 0) return false;
        const Loc7 record = b.node(at.index).record;
        if (!is_unused(record) && record_order(record) != own) return true;
        at = advance(at, Direction::forward);
    }
    return false;
}

BTreePosition BTree::edge(Direction direction) const {
    BTreePosition at;
    DiskLoc parent = DiskLoc::null();
    DiskLoc loc = store_.root();
    for (int depth = 1; loc.is_valid(); check_depth(++depth, loc)) {
        const Bucket b = parent.is_valid() ? child_bucket(loc, parent) : root_bucket(loc);
        if (b.n() == 0) break;
        const bool forward = direction == Direction::forward;
        at = {loc, forward ? 0 : b.n() - 1};
        parent = loc;
        loc = b.child(forward ? 0 : b.n());
    }
    return at;
}

BTreePosition BTree::advance(BTreePosition at, Direction direction) const {
    const bool forward = direction == Direction::forward;
    Bucket b = bucket(at.bucket);
    DCHECK(at.index >= 0 && at.index < b.n());
    // Down: the far edge of the subtree between this entry and the next one.
    DiskLoc down = b.child(forward ? at.index + 1 : at.index);
    if (down.is_valid()) {
        BTreePosition found;
        DiskLoc parent = at.bucket;
        for (int depth = 1; down.is_valid(); check_depth(++depth, down)) {
            const Bucket below = child_bucket(down, parent);
            parent = down;
            found = {down, forward ? 0 : below.n() - 1};
            down = below.child(forward ? 0 : below.n());
        }
        return found;
    }
    // Beside.
    const int beside = forward ? at.index + 1 : at.index - 1;
    if (beside >= 0 && beside < b.n()) return {at.bucket, beside};
    // Up: the first ancestor that has an entry on that side.
    int depth = 1;
    for (DiskLoc up = b.parent(); up.is_valid(); up = b.parent()) {
        check_depth(++depth, up);
        const Bucket above = bucket(up);
        const int child = above.find_child(b.loc());
        if (child < 0) bad_link(b.loc(), up);
        const int entry = forward ? child : child - 1;
        if (entry >= 0 && entry < above.n()) return {up, entry};
        b = above;
    }
    return {};
}

BTreePosition BTree::skip_unused(BTreePosition at, Direction direction) const {
    while (!at.at_end() && is_unused(bucket(at.bucket).node(at.index).record))
        at = advance(at, direction);
    return at;
}

}  // namespace mmapv1

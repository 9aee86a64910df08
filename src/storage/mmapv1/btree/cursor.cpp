#include "storage/mmapv1/btree/cursor.h"

#include <cstring>

#include "base/dcheck.h"

namespace mmapv1 {

void BTreeCursor::seek(bson::Doc key, bool past) {
    const SearchKey wanted(key);
    // Backward, "not before" in the cursor's direction is the other side of the same position.
    const BTree::SearchPosition position = tree_.find_prefix(wanted, is_forward() == past);
    move_to(is_forward() ? position.after : position.before);
}

void BTreeCursor::seek_to_start() {
    move_to(tree_.edge(direction_));
}

void BTreeCursor::next() {
    DCHECK(!at_end());
    move_to(tree_.advance(at_, direction_));
}

// Between two leaves it stands in what is above them.
void BTreeCursor::read_ahead() {
    if (at_end()) return;
    const bool is_leaf = !tree_.bucket(at_.bucket).child(at_.index).is_valid();
    if (is_leaf) leaves_.come_to(at_.bucket);
}

bson::Doc BTreeCursor::key() {
    DCHECK(!at_end());
    return decode(tree_.bucket(at_.bucket).key(at_.index));
}

storage::RecordId BTreeCursor::id() const {
    DCHECK(!at_end());
    return tree_.bucket(at_.bucket).node(at_.index).record.loc().id();
}

bson::Doc BTreeCursor::decode(KeyView key) {
    if (!key.is_compact()) return key.traditional();
    decoded_.reserve(kDecodedKeyBytesMax);
    return key.decode(decoded_.data());
}

void BTreeCursor::save() {
    if (at_end()) return;
    const Bucket b = tree_.bucket(at_.bucket);
    const KeyView key = b.key(at_.index);
    saved_key_.clear();
    saved_key_.append(key.data(), key.size());
    saved_order_ = record_order(b.node(at_.index).record);
}

bool BTreeCursor::restore() {
    DCHECK(at_end() || saved_key_.size() > 0);  // save()
    if (at_end() || still_there()) return true;
    const SearchKey key(decode(KeyView(saved_key_.data())));
    const BTree::SearchPosition position = tree_.find(key, saved_order_);
    if (!position.exact && BTree::has_large_number(key.doc())) {
        const BTreePosition moved = tree_.find_by_scan(key, saved_order_);
        if (!moved.at_end()) {
            move_to(moved);
            return at_ == moved;
        }
    }
    move_to(position.exact || is_forward() ? position.after : position.before);
    if (!position.exact || at_end()) return false;
    return at_ == position.after;
}

// The bucket may have been changed, freed, even allocated again in between: it is checked, but what
// reads as the saved entry is the saved entry.
bool BTreeCursor::still_there() const {
    const Bucket b(at_.bucket, tree_.store().bucket(at_.bucket));
    if (b.n() > kBucketKeysMax || at_.index >= b.n()) return false;
    const KeyNode& k = b.node(at_.index);
    if (is_unused(k.record) || record_order(k.record) != saved_order_) return false;
    return k.key_data + saved_key_.size() <= static_cast<size_t>(kBodyBytes) &&
           std::memcmp(b.key(at_.index).data(), saved_key_.data(), saved_key_.size()) == 0;
}

}  // namespace mmapv1

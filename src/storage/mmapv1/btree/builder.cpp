#include "storage/mmapv1/btree/builder.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "storage/space_request.h"

namespace mmapv1 {

using storage::InsertResult;

BTreeBuilder::BTreeBuilder(const BTree& tree, bool duplicates_allowed)
    : tree_(tree), duplicates_allowed_(duplicates_allowed) {
    const DiskLoc root = tree_.store().root();
    if (!root.is_valid() || tree_.bucket(root).n() != 0)
        base::fail(base::kInternalError, "an index can be bulk-built only while it is empty");
    leaves_.push_back(root);
}

InsertResult BTreeBuilder::add(bson::Doc key, storage::RecordId id) {
    DCHECK(!leaves_.empty());  // finish() comes last
    const SearchKey encoded(key);
    if (encoded.too_long()) return InsertResult::too_long;
    const Loc7 record = Loc7::from(DiskLoc::from(id));
    if (has_last_) {
        const int c = compare(encoded, KeyView(last_.entry().key), tree_.descending());
        const uint64_t before = record_order(last_.entry().record);
        if (c == 0 && !duplicates_allowed_ && record_order(record) != before)
            return InsertResult::duplicate;
        if (c < 0 || (c == 0 && record_order(record) <= before))
            base::fail(base::kInternalError, "keys of a bulk-built index must ascend");
    }
    const BucketEntry entry{Loc7::null(), record, encoded.encoded(),
                            static_cast<uint16_t>(encoded.size())};
    append(leaves_, entry);
    last_.take(entry);
    has_last_ = true;
    return InsertResult::inserted;
}

void BTreeBuilder::finish() {
    DCHECK(!leaves_.empty());
    std::vector<DiskLoc> level = std::move(leaves_);
    while (level.size() > 1)
        level = raise(level);
    tree_.store().set_root(level.front());
}

void BTreeBuilder::append(std::vector<DiskLoc>& level, const BucketEntry& entry) {
    if (level.empty() || !tree_.bucket(level.back()).has_room(entry.key_bytes)) {
        storage::ask_for_space();
        level.push_back(tree_.allocate_bucket());
    }
    Bucket b = tree_.bucket(level.back());
    b.insert(tree_.store().views(), b.n(), entry);
}

std::vector<DiskLoc> BTreeBuilder::raise(const std::vector<DiskLoc>& level) {
    Views& views = tree_.store().views();
    std::vector<DiskLoc> above;
    for (const DiskLoc loc : level) {
        Bucket b = tree_.bucket(loc);
        const int last = b.n() - 1;
        const EntryCopy key(b.entry(last));
        b.remove_last(views);
        // A bucket that had this key only is replaced by the subtree left of it.
        const DiskLoc below = last > 0 ? loc : key.entry().left.loc();
        append(above, key.with_left(below));
        if (below.is_valid()) tree_.bucket(below).set_parent(views, above.back());
        if (last == 0) tree_.free_bucket(loc);
    }
    DCHECK(above.size() < level.size());
    return above;
}

}  // namespace mmapv1

// storage/mmapv1/btree/cursor.h - walks the used entries of a tree.
#pragma once

#include "bson/builder.h"
#include "storage/mmapv1/btree/btree.h"
#include "storage/mmapv1/space/read_ahead.h"
#include "storage/sorted_index.h"

namespace mmapv1 {

// Keeps a bucket and an index into it; that is good while the database lock is held and the tree is
// not changed. save() notes the entry itself, restore() checks whether it is still where it was and
// searches if not.
class BTreeCursor final : public storage::IndexCursor {
  public:
    BTreeCursor(const BTree& tree, storage::Direction direction)
        : tree_(tree), direction_(direction), leaves_(tree.store().files()) {}

    void seek(bson::Doc key, bool past) override;
    void seek_to_start() override;
    bool at_end() const override { return at_.at_end(); }
    void next() override;
    bson::Doc key() override;
    storage::RecordId id() const override;
    void save() override;
    bool restore() override;

  private:
    void move_to(BTreePosition at) {
        at_ = tree_.skip_unused(at, direction_);
        if (leaves_.is_wanted()) read_ahead();
    }
    void read_ahead();
    bool is_forward() const { return direction_ == storage::Direction::forward; }
    bool still_there() const;
    bson::Doc decode(KeyView key);

    BTree tree_;
    storage::Direction direction_;
    BTreePosition at_;
    bson::Buffer decoded_;    // room for one compact key as BSON
    bson::Buffer saved_key_;  // encoded
    uint64_t saved_order_ = 0;
    ReadAhead leaves_;
};

}  // namespace mmapv1

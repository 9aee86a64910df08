// storage/mmapv1/btree/builder.h - builds a tree bottom-up from sorted entries (mmapv1 spec 6.7
// rule 13).
//
// Leaves are filled to the brim one after the other. finish() then takes the last key out of each
// bucket of a level and fills the level above with them, until a level has one bucket only: the
// root, whose next_child stays null.
#pragma once

#include <vector>

#include "storage/mmapv1/btree/btree.h"
#include "storage/sorted_index.h"

namespace mmapv1 {

class BTreeBuilder final : public storage::BulkBuilder {
  public:
    // The tree must be empty: a root without keys, which becomes the first leaf.
    BTreeBuilder(const BTree& tree, bool duplicates_allowed);

    storage::InsertResult add(bson::Doc key, storage::RecordId id) override;
    void finish() override;

  private:
    // Fills a level from left to right.
    void append(std::vector<DiskLoc>& level, const BucketEntry& entry);
    std::vector<DiskLoc> raise(const std::vector<DiskLoc>& level);

    BTree tree_;
    bool duplicates_allowed_;
    std::vector<DiskLoc> leaves_;
    EntryCopy last_;
    bool has_last_ = false;
};

}  // namespace mmapv1

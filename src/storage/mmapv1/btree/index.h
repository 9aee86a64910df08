// storage/mmapv1/btree/index.h - a v:1 B-tree as a SortedIndex (mmapv1 spec 6.4 to 6.7).
//
// The tree lives in the buckets of a BucketStore; the object itself keeps no content, so one may be
// made whenever the index is opened. Every change is declared to store.views() before it is stored.
// Locks are those of storage/sorted_index.h; the object may be shared by all readers.
#pragma once

#include <cstdint>
#include <memory>

#include "storage/mmapv1/btree/bucket_store.h"
#include "storage/sorted_index.h"

namespace mmapv1 {

// Bit i of `descending_bits` is set where field i of the key pattern is descending. `store` must
// outlive the index and its cursors. While the root is null the index reads as empty.
std::unique_ptr<storage::SortedIndex> make_btree_index(BucketStore& store,
                                                       uint32_t descending_bits);

// Gives a new index its empty root bucket (mmapv1 spec 6.1 rule 3); the root must be null.
// Database lock exclusive.
void create_empty_btree(BucketStore& store);

}  // namespace mmapv1

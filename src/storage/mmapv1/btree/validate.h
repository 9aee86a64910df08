// storage/mmapv1/btree/validate.h - proves or disproves that a tree is whole: every invariant of
// mmapv1 spec 6.4 and 6.7 rules 2, 4 and 6.
//
// Trusts nothing it reads, so that damaged files can be examined: a broken bucket is reported and
// not descended into.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "storage/mmapv1/btree/key_v1.h"
#include "storage/mmapv1/btree/layout.h"

namespace mmapv1 {

struct BTreeReport {
    int64_t used_keys = 0;
    int64_t unused_keys = 0;
    int64_t buckets = 0;
    int64_t dead_bytes = 0;  // key data of removed entries, not yet packed away
    int depth = 0;           // levels; 1 = only a root
    int64_t errors = 0;
};

struct BTreeCheck {
    DiskLoc root;
    uint32_t descending = 0;
    // The kBucketBytes at a location, or null if no bucket can be there.
    std::function<const uint8_t*(DiskLoc)> bucket;
    // Called with what is wrong and in which bucket.
    std::function<void(DiskLoc bucket, const std::string&)> error;
    // Called for every valid used entry in index order; may be empty.
    std::function<void(KeyView, DiskLoc record)> entry;
    // Whether two used entries with equal keys are an error.
    bool unique = false;
};

BTreeReport validate_btree(const BTreeCheck& check);

// Returns why the keys of the kBucketBytes at `data` must not be walked through; empty if they may.
// Neither the order of keys nor links are examined. About 5 us for a full bucket.
std::string bucket_fault(const uint8_t* data);

}  // namespace mmapv1

// storage/mmapv1/btree/bucket_store.h - where a B-tree gets its buckets from: records of the
// index's own namespace.
#pragma once

#include <cstdint>

#include "storage/mmapv1/mapping/views.h"
#include "storage/mmapv1/space/disk_loc.h"

namespace mmapv1 {

constexpr int32_t kBucketBytes = 8176;  // record of 8192 with its 16-byte header (mmapv1 spec 6.4)

class DataFiles;  // space/data_files.h

class BucketStore {
  public:
    virtual ~BucketStore() = default;
    // Makes sure that the next so many calls of allocate() succeed. Throws base::Error when the
    // disk is full, with nothing changed.
    virtual void reserve(int buckets) = 0;
    // Returns a new record for one bucket, content unspecified; may add an extent.
    virtual DiskLoc allocate() = 0;
    // Returns the bucket's record to the namespace's deleted lists.
    virtual void free(DiskLoc bucket) = 0;
    // The kBucketBytes of a bucket in the private view. Hot: must be a couple of loads.
    virtual uint8_t* bucket(DiskLoc bucket) const = 0;
    // Returns a bucket that a link in the tree led to. Throws base::Error when it is damaged
    // (bucket_fault() in btree/validate.h). Looks closely only the first time, so as hot as above.
    virtual uint8_t* checked_bucket(DiskLoc bucket) const = 0;
    // Root pointer, kept in the collection's IndexDetails.
    virtual DiskLoc root() const = 0;
    virtual void set_root(DiskLoc root) = 0;
    virtual Views& views() const = 0;
    virtual int64_t bucket_count() const = 0;
    // Where buckets and records lie, to read ahead in; null: nowhere.
    virtual const DataFiles* files() const { return nullptr; }
};

}  // namespace mmapv1

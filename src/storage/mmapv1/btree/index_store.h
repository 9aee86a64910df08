// storage/mmapv1/btree/index_store.h - the buckets of one index: records of the namespace
// "<collection>.$<name>" (mmapv1 spec 6.1).
#pragma once

#include <algorithm>
#include <string>

#include "base/dcheck.h"
#include "storage/mmapv1/btree/bucket_store.h"
#include "storage/mmapv1/space/namespace_storage.h"
#include "storage/space_request.h"

namespace mmapv1 {

constexpr int32_t kBucketRecordBytes = kBucketBytes + kRecordHeaderBytes;
static_assert(kBucketRecordBytes == DataFiles::kCheckedBytes);
static_assert(round_record(kBucketRecordBytes) == kBucketRecordBytes);
static_assert(kDataFilesMax <= 1 << 24);  // Loc7 has three bytes for their numbers

class IndexStore final : public BucketStore {
  public:
    IndexStore(ExtentManager& extents, NamespaceDetails& details, std::string ns,
               IndexDetails& slot)
        : storage_(extents, details, std::move(ns)),
          slot_(&slot),
          number_(storage_.files().new_index()) {}

    NamespaceStorage& storage() { return storage_; }
    // The collection's slot for this index has another place now.
    void set_slot(IndexDetails& slot) { slot_ = &slot; }

    void reserve(int buckets) override {
        storage::ask_for_space();
        storage_.reserve(kBucketRecordBytes, buckets);
    }
    DiskLoc allocate() override {
        const Region region = storage_.take(kBucketRecordBytes);
        if (region.length < kBucketRecordBytes)
            storage_.files().damaged(region.loc, "a free record is shorter than it says");
        RecordHeader& record = storage_.views().writing(storage_.files().record(region.loc));
        record.length = region.length;
        record.extent_offset = region.extent_offset;
        storage_.link(region.loc, record);
        if (views().keeps_undo())
            views().on_undo([this, region] { storage_.files().clear_checked(region.loc); });
        return region.loc;
    }
    void free(DiskLoc bucket) override {
        storage_.files().clear_checked(bucket);
        const RecordHeader& record = storage_.checked_live(bucket);
        const int32_t length = record.length;
        const int32_t extent_offset = record.extent_offset;
        storage_.unlink(bucket);
        storage_.give(bucket, length, extent_offset);
    }
    uint8_t* bucket(DiskLoc bucket) const override {
        return storage_.files().at(bucket, kBucketRecordBytes) + kRecordHeaderBytes;
    }
    uint8_t* checked_bucket(DiskLoc bucket) const override {
        uint8_t* data = this->bucket(bucket);
        if (!storage_.files().is_checked(bucket, number_)) check(bucket, data);
        return data;
    }
    DiskLoc root() const override { return slot_->head; }
    void set_root(DiskLoc root) override {
        DCHECK(storage_.holds_own(root, kBucketRecordBytes));
        storage_.views().writing(slot_->head) = root;
    }
    Views& views() const override { return storage_.files().bucket_views(); }
    int64_t bucket_count() const override {
        const int64_t most = storage_.files().total_bytes() / kBucketRecordBytes;
        return std::clamp<int64_t>(storage_.details().record_count, 0, most);
    }
    const DataFiles* files() const override { return &storage_.files(); }

  private:
    void check(DiskLoc bucket, const uint8_t* data) const;

    NamespaceStorage storage_;
    IndexDetails* slot_;
    const uint32_t number_;
};

}  // namespace mmapv1

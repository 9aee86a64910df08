// storage/mmapv1/space/record_store.h - the records of one collection (storage/record_store.h) over
// its namespace's extents.
//
// Sizes of records, the padding factor and its sampling are here (mmapv1 spec 5.5, semantics 6 rule
// 1); finding free space is NamespaceStorage's and CappedRing's.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "storage/mmapv1/space/capped_ring.h"
#include "storage/mmapv1/space/namespace_storage.h"
#include "storage/mmapv1/space/record_cursor.h"
#include "storage/record_store.h"

namespace mmapv1 {

// Every third call counts, from the fourth on: how often the padding factor learns. Holders of
// different databases' locks may call at once; a call lost between them is harmless.
class Sampler {
  public:
    bool hit() {
        const int calls = calls_.load(std::memory_order_relaxed);
        const bool hit = calls == 3;
        calls_.store(hit ? 1 : calls + 1, std::memory_order_relaxed);
        return hit;
    }

  private:
    std::atomic<int> calls_{0};
};

// One for moves and one for fits, for all collections of an engine.
struct PaddingSamplers {
    Sampler moves;
    Sampler fits;
};

class MmapRecordStore : public storage::RecordStore {
  public:
    MmapRecordStore(ExtentManager& extents, NamespaceDetails& details, std::string ns,
                    PaddingSamplers& samplers);
    ~MmapRecordStore() override;

    NamespaceStorage& storage() { return storage_; }
    const NamespaceStorage& storage() const { return storage_; }
    CappedRing& ring() { return ring_; }
    CursorList& cursors() { return *cursors_; }
    // Set for files that may only be read: every change throws base::Error with that text.
    void set_read_only(std::string reason) { read_only_ = std::move(reason); }
    void check_writable() const {
        if (!read_only_.empty()) refuse_write();
    }

    // Inserts a record of `bytes` (header included) holding `doc` for compact, whatever the padding
    // rules.
    storage::RecordId insert_sized(bson::Doc doc, int32_t bytes);
    void reset_padding();

    void set_before_capped_removal(BeforeRemoval callback) override;
    storage::RecordId insert(bson::Doc doc) override;
    bson::Doc get(storage::RecordId id) const override {
        const DataFiles& files = storage_.files();
        if (files.wants_read_ahead()) read_ahead(DiskLoc::from(id));
        return files.document(DiskLoc::from(id));
    }
    int64_t record_bytes(storage::RecordId id) const override {
        return storage_.checked_live(DiskLoc::from(id)).data_bytes();
    }
    bool fits(storage::RecordId id, int32_t doc_bytes) const override {
        return doc_bytes <= storage_.checked_live(DiskLoc::from(id)).data_bytes();
    }
    void overwrite(storage::RecordId id, bson::Doc doc) override;
    void overwrite_range(storage::RecordId id, int32_t offset,
                         std::span<const uint8_t> bytes) override;
    storage::RecordId insert_moved(storage::RecordId old, bson::Doc doc) override;
    void remove(storage::RecordId id) override;

    std::unique_ptr<storage::RecordCursor> open_cursor(storage::Direction direction) override;

    int64_t count() const override { return storage_.details().record_count; }
    storage::RecordStoreStats stats() const override;
    bool capped() const override { return storage_.details().is_capped != 0; }
    int64_t capped_document_max() const override {
        return capped() ? ring_.document_bytes_max() : 0;
    }

    void truncate() override;
    void truncate_after(storage::RecordId id, bool inclusive) override;
    storage::RecordId behind_extents(int64_t bytes) const override;
    void touch() override;

    // Size of the record that a document of that many bytes gets before the choice of a region.
    int32_t wanted_size(int32_t doc_bytes) const;

  private:
    [[noreturn]] void refuse_write() const;
    void read_ahead(DiskLoc loc) const;
    Region take(int32_t doc_bytes);
    storage::RecordId put(const Region& region, bson::Doc doc);
    void padding_fits();
    void padding_too_small();

    NamespaceStorage storage_;
    CappedRing ring_;
    std::shared_ptr<CursorList> cursors_;
    PaddingSamplers& samplers_;
    BeforeRemoval before_capped_removal_;
    std::string read_only_;
    bool keeps_space_;  // system.indexes: space of removed documents is never used again
};

}  // namespace mmapv1

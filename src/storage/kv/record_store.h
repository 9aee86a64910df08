// storage/kv/record_store.h - the records of a collection as rows: id, 8 bytes, big-endian ->
// document. Ids count up and say nothing of a place; no record ever moves.
#pragma once

#include <atomic>
#include <functional>

#include "storage/engine.h"
#include "storage/kv/store.h"

namespace kv {

class RecordStore final : public storage::RecordStore {
  public:
    // Reads counter and last id. `options` say whether it is capped. `table_changed` is called when
    // truncate() has given it another table.
    RecordStore(Store& store, Table table, const storage::CollectionOptions& options,
                std::function<void()> table_changed);

    Table table() const { return counter_.table; }
    // Drops the records; their rows and counter go with the next commit.
    void drop();
    void set_user_flags(int32_t flags) { user_flags_ = flags; }
    void forget_id_index() { system_flags_ = 0; }

    void set_before_capped_removal(BeforeRemoval callback) override {
        before_removal_ = std::move(callback);
    }
    storage::RecordId insert(bson::Doc doc) override;
    bson::Doc get(storage::RecordId id) const override;
    int64_t record_bytes(storage::RecordId id) const override;
    bool fits(storage::RecordId id, int32_t doc_bytes) const override;
    void overwrite(storage::RecordId id, bson::Doc doc) override;
    void overwrite_range(storage::RecordId id, int32_t offset,
                         std::span<const uint8_t> bytes) override;
    storage::RecordId insert_moved(storage::RecordId old, bson::Doc doc) override;
    void remove(storage::RecordId id) override;
    // A capped one keeps its documents in the order in which they came.
    bool allows_concurrent_changes() const override { return !capped(); }
    bool lock_record(storage::RecordId id) override;
    std::unique_ptr<storage::RecordCursor> open_cursor(storage::Direction direction) override;
    int64_t count() const override { return store_.total(counter_).rows; }
    storage::RecordStoreStats stats() const override;
    bool capped() const override { return capped_bytes_ > 0; }
    void truncate() override;
    void truncate_after(storage::RecordId id, bool inclusive) override;

    // Returns the counts that follow from the rows that this thread sees.
    Counts seen() const { return store_.seen(counter_); }
    // Whether the record is there.
    bool has(storage::RecordId id) const;
    Overlay& session() const { return store_.session(); }

  private:
    void drop_oldest(int32_t doc_bytes);
    void drop_record(storage::RecordId id, bson::Doc doc);

    Store& store_;
    const std::function<void()> table_changed_;
    const int64_t capped_bytes_;
    const int64_t capped_max_;
    std::atomic<int32_t> user_flags_;
    std::atomic<int32_t> system_flags_;
    Counter counter_;
    std::atomic<uint64_t> last_id_{0};
    uint64_t first_id_ = 1;  // capped: none is lower; so that no removed rows are walked over
    BeforeRemoval before_removal_;
};

}  // namespace kv

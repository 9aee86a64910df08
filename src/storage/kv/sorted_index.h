// storage/kv/sorted_index.h - an index as rows: encoded key (storage/keys), record id, 8
// bytes, big-endian -> types of the key.
//
// An entry follows from its key and its record, so to add it needs no look for it: added again it
// is the same row. Rows are not counted for that reason. A unique index locks the encoded key
// before it looks for a record that has it.
#pragma once

#include "storage/kv/store.h"
#include "storage/sorted_index.h"

namespace kv {

class SortedIndex final : public storage::SortedIndex {
  public:
    SortedIndex(Store& store, Table table, uint32_t descending);

    Table table() const { return table_; }
    uint32_t descending() const { return descending_; }
    Overlay& session() const { return store_.session(); }
    void check_space() const { store_.check_space(); }
    // Drops the index; its rows go with the next commit.
    void drop();

    storage::InsertResult insert(bson::Doc key, storage::RecordId id,
                                 bool duplicates_allowed) override;
    bool remove(bson::Doc key, storage::RecordId id) override;
    bool has_duplicate(bson::Doc key, storage::RecordId self) const override;
    storage::RecordId find_one(bson::Doc key) const override;
    int64_t insertion_bytes(int64_t keys, int64_t key_bytes) const override;
    bool too_long(bson::Doc key) const override;
    std::unique_ptr<storage::IndexCursor> cursor(storage::Direction direction) const override;
    std::unique_ptr<storage::BulkBuilder> bulk_builder(bool duplicates_allowed) override;
    int64_t storage_bytes() const override;
    int64_t validate(const std::function<void(const std::string&)>& errors) const override;

  private:
    // Returns the record of the first row that begins with the encoded key; none: there is no such
    // row.
    storage::RecordId first_of(Bytes key) const;

    Store& store_;
    const Table table_;
    const uint32_t descending_;
};

}  // namespace kv

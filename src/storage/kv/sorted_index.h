// storage/kv/sorted_index.h - an index as rows: encoded key (storage/keys), record id, 8
// bytes, big-endian -> types of the key.
#pragma once

#include "storage/kv/store.h"
#include "storage/sorted_index.h"

namespace kv {

class SortedIndex final : public storage::SortedIndex {
  public:
    SortedIndex(Store& store, Table table, uint32_t descending);

    Table table() const { return counter_.table; }
    uint32_t descending() const { return descending_; }
    Session& session() const { return store_.session(); }
    // Returns the number of rows that this thread sees.
    int64_t count() const { return store_.seen(counter_).rows; }
    void check_space() const { store_.check_space(); }
    // Drops the index; its rows and counter go with the next commit.
    void drop();

    storage::InsertResult insert(bson::Doc key, storage::RecordId id,
                                 bool duplicates_allowed) override;
    bool remove(bson::Doc key, storage::RecordId id) override;
    bool has_duplicate(bson::Doc key, storage::RecordId self) const override;
    storage::RecordId find_one(bson::Doc key) const override;
    bool too_long(bson::Doc key) const override;
    std::unique_ptr<storage::IndexCursor> cursor(storage::Direction direction) const override;
    std::unique_ptr<storage::BulkBuilder> bulk_builder(bool duplicates_allowed) override;
    int64_t storage_bytes() const override { return store_.disk_bytes(counter_); }
    int64_t validate(const std::function<void(const std::string&)>& errors) const override;

  private:
    // Locks the key's row, before it is known whether a record has this key.
    void lock_key(bson::Doc key) const;

    Store& store_;
    const uint32_t descending_;
    Counter counter_;
};

}  // namespace kv

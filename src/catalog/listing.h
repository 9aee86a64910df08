// catalog/listing.h - system.namespaces and system.indexes for engines that have none: collections
// to read, made of what the engine says of its own. Old clients ask these for the names of
// collections and the definitions of indexes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/engine.h"

namespace catalog {

// One of the two, by its full name. Read under the lock that the database asks for; every change
// throws base::Error 20.
class ListingStore final : public storage::CollectionStore {
  public:
    // The database outlives it.
    ListingStore(storage::DatabaseStore& database, std::string ns);

    const std::string& ns() const override { return ns_; }
    storage::RecordStore& records() override { return records_; }
    bson::Object options() const override { return {}; }
    void set_user_flags(int32_t flags) override;
    void replace_options(bson::Doc options) override;
    int index_count() const override { return 0; }
    storage::IndexEntry index(int slot) const override;
    int begin_index(bson::Doc spec) override;
    int finish_index(int slot) override;
    void drop_index(int slot) override;
    void set_multikey(int slot) override;
    void replace_index_spec(int slot, bson::Doc spec) override;
    storage::ValidateReport validate(const storage::ValidateOptions& options,
                                     bson::Builder& metrics) override;
    void compact(const bson::Object& command, const storage::CompactHooks& hooks,
                 bson::Builder& out) override;
    storage::CollectionOptions creation_options() const override { return {}; }
    void salvage(const std::function<void(bson::Doc)>& use,
                 const std::function<void(const std::string&)>& skipped) override;
    void check_writable() const override;

  private:
    // The documents as they are now.
    std::vector<bson::Object> documents() const;

    // A record's id is its place among them, from 1 on.
    class Records final : public storage::RecordStore {
      public:
        explicit Records(const ListingStore& listing) : listing_(listing) {}
        void set_before_capped_removal(BeforeRemoval) override {}
        storage::RecordId insert(bson::Doc doc) override;
        bson::Doc get(storage::RecordId id) const override;
        bool fits(storage::RecordId id, int32_t doc_bytes) const override;
        void overwrite(storage::RecordId id, bson::Doc doc) override;
        void overwrite_range(storage::RecordId id, int32_t offset,
                             std::span<const uint8_t> bytes) override;
        storage::RecordId insert_moved(storage::RecordId old, bson::Doc doc) override;
        void remove(storage::RecordId id) override;
        std::unique_ptr<storage::RecordCursor> open_cursor(storage::Direction direction) override;
        int64_t count() const override;
        storage::RecordStoreStats stats() const override;
        bool capped() const override { return false; }
        void truncate() override;
        void truncate_after(storage::RecordId id, bool inclusive) override;

      private:
        const ListingStore& listing_;
    };

    storage::DatabaseStore& database_;
    const std::string ns_;
    Records records_{*this};
};

}  // namespace catalog

// catalog/collection_impl.h - the Collection behind catalog/collection.h: records of a store plus
// the keys of its indexes.
//
// Scratch key sets live in the object: changing calls hold the database lock exclusively.
#pragma once

#include <atomic>
#include <mutex>

#include "catalog/collection.h"

namespace catalog {

// Keys of one document in one index, with the change between an old and a new document.
struct KeyChange {
    KeySet before;
    KeySet after;
    std::vector<uint32_t> removed;  // positions in `before`
    std::vector<uint32_t> added;    // positions in `after`
    bool multikey = false;
};

class CollectionImpl final : public Collection {
  public:
    explicit CollectionImpl(storage::CollectionStore& store);

    const std::string& ns() const override { return store_.ns(); }
    storage::CollectionStore& store() override { return store_; }
    storage::RecordStore& records() override { return records_; }
    const std::vector<std::unique_ptr<Index>>& indexes() const override { return indexes_; }
    const Index* find_index(std::string_view name) const override;
    const Index* find_index_by_key(bson::Doc key_pattern) const override;
    const Index* id_index() const override { return id_index_; }
    bool capped() const override { return capped_; }
    uint64_t version() const override { return version_; }
    uint64_t incarnation() const override { return incarnation_; }

    storage::RecordId insert(bson::Doc doc) override;
    void remove(storage::RecordId id) override;
    UpdatedRecord update(storage::RecordId id, bson::Doc new_doc) override;
    void patch(storage::RecordId id, int32_t offset, std::span<const uint8_t> bytes) override;
    bool path_indexed(std::string_view path) const override;

    uint64_t insert_count() const override { return insert_count_.load(std::memory_order_acquire); }
    void notify_on_insert(std::function<void()> callback) override;

    // exclusive. Reads the index list from the store again. `gone`: an index or record positions
    // went away, so saved cursors die.
    void reload_indexes(bool gone);
    // exclusive. Takes the keys of a record out of all indexes (the record itself stays).
    void unindex(const storage::Record& record);
    // Background builds that have given way, or may.
    int builds() const { return builds_; }
    void count_build(int by) { builds_ += by; }
    // Wakes whoever waits for inserts: the collection is about to go.
    void wake_waiters();

  private:
    void check_capped_insert(bson::Doc doc);
    void insert_keys(Index& index, const KeySet& keys, storage::RecordId id);
    void plan_change(Index& index, KeyChange& change, bson::Doc before, bson::Doc after,
                     storage::RecordId id);
    void check_lengths(const Index& index, const KeySet& keys) const;
    void check_all_lengths(size_t used) const;
    int apply_change(Index& index, const KeyChange& change, storage::RecordId from,
                     storage::RecordId to);
    void undo_change(Index& index, const KeyChange& change, storage::RecordId from,
                     storage::RecordId to);
    void note_multikey(Index& index, bool multikey);

    storage::CollectionStore& store_;
    storage::RecordStore& records_;
    const bool capped_;
    std::vector<std::unique_ptr<Index>> indexes_;
    const Index* id_index_ = nullptr;
    uint64_t version_ = 0;
    uint64_t incarnation_ = 0;
    int builds_ = 0;
    KeySet keys_;                     // of an insert or removal
    std::vector<KeyChange> changes_;  // of an update, one per index

    std::atomic<uint64_t> insert_count_{0};
    std::atomic<bool> has_waiters_{false};
    std::mutex waiters_mutex_;
    std::vector<std::function<void()>> waiters_;
};

[[noreturn]] void throw_duplicate_key(const Index& index, std::string_view ns, bson::Doc key);
[[noreturn]] void throw_key_too_long(int code, const Index& index, std::string_view ns,
                                     bson::Doc key);

}  // namespace catalog

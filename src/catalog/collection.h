// catalog/collection.h - one collection with its indexes: the one place that keeps records and
// indexes in step.
//
// Collection objects belong to their Database and live until drop, rename or close. Reading calls
// require the database lock shared, changing calls exclusive.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/index_keys.h"
#include "storage/engine.h"

namespace catalog {

// One usable (or building) index.
struct Index {
    int slot = 0;
    std::string name;
    bson::Doc spec;         // the stored definition
    bson::Doc key_pattern;  // inside spec
    bool unique = false;    // also for {_id: 1}
    bool sparse = false;
    bool multikey = false;
    bool ready = true;
    bool is_id = false;
    bool drop_dups = false;
    storage::SortedIndex* store =
        nullptr;  // null: a plug-in index; reads must not use it, writes are refused
    std::unique_ptr<KeyGenerator> generator;  // null with store

    // Operations that read through it, since it was opened. Counted under a shared lock.
    mutable std::atomic<int64_t> uses{0};
    const std::chrono::system_clock::time_point since = std::chrono::system_clock::now();

    void count_use() const { uses.fetch_add(1, std::memory_order_relaxed); }
};

struct UpdatedRecord {
    storage::RecordId id;
    bool moved = false;
    int keys_changed = 0;  // index entries written
};

class Collection {
  public:
    virtual ~Collection() = default;

    virtual const std::string& ns() const = 0;
    virtual storage::CollectionStore& store() = 0;
    virtual storage::RecordStore& records() = 0;
    virtual const std::vector<std::unique_ptr<Index>>& indexes() const = 0;
    virtual const Index* find_index(std::string_view name) const = 0;
    virtual const Index* find_index_by_key(bson::Doc key_pattern) const = 0;
    virtual const Index* id_index() const = 0;  // null if there is none
    virtual bool capped() const = 0;
    // Changes whenever an index appears or disappears: cached plans of an older version are stale.
    virtual uint64_t version() const = 0;
    // Unique in the process; a new value when an index went away or the records were rewritten.
    // Whoever gave up the lock looks the collection up again by name and goes on only if this is
    // unchanged; otherwise saved cursors may only be destroyed.
    virtual uint64_t incarnation() const = 0;

    // Stores a document that is already checked and fixed (query/update/update.h fix_for_insert).
    // Throws base::Error 11000 (with keyPattern/keyValue details), 17280, 10088, 16746, ...; then
    // nothing is changed.
    virtual storage::RecordId insert(bson::Doc doc) = 0;
    virtual void remove(storage::RecordId id) = 0;
    // Replaces a document; in place if it fits and re-keys what changed, else moves it. Same
    // errors, all or nothing.
    virtual UpdatedRecord update(storage::RecordId id, bson::Doc new_doc) = 0;
    // A same-size change that touches no indexed path: no copy, no re-keying.
    virtual void patch(storage::RecordId id, int32_t offset, std::span<const uint8_t> bytes) = 0;
    // Whether a change at (or below, or above) this dotted path can change index keys.
    virtual bool path_indexed(std::string_view path) const = 0;

    // Waiting for news at the end of a capped collection: a counter that grows with each insert,
    // and a callback list served after inserts (any thread; cheap).
    virtual uint64_t insert_count() const = 0;
    virtual void notify_on_insert(std::function<void()> callback) = 0;
};

}  // namespace catalog

// storage/record_store.h - the records of one collection, as an engine keeps them.
//
// A record is one BSON document, named by a RecordId that stays the same for as long as the record
// is not moved. Documents are returned as views into the engine's memory: valid while the database
// lock is held (shared is enough) and the record is not written. Every mutating call requires the
// database lock in exclusive mode.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "bson/view.h"

namespace storage {

// 64-bit name of a record; 0 is "none". mmapv1: file number << 32 | offset, so the numeric order is
// the order that breaks ties between equal index keys.
struct RecordId {
    uint64_t value = 0;
    bool is_null() const { return value == 0; }
    explicit operator bool() const { return value != 0; }
    auto operator<=>(const RecordId&) const = default;
};

struct Record {
    RecordId id;
    bson::Doc doc;
};

enum class Direction { forward, backward };

// Natural order scan. Between batches, and before the lock is given up, call save(); afterwards
// restore(). While saved, the store moves the cursor on when its record is removed or moved;
// restore() returns false when the cursor lost its place for good (capped ring overtook it: the
// scan must end with an error). A cursor may outlive its store (collection dropped meanwhile):
// then only its destructor may be called.
class RecordCursor {
  public:
    virtual ~RecordCursor() = default;
    // The next record, or nothing at the end. At the end of a forward scan of a capped collection
    // the cursor stays after the last record and a later next() continues with newer ones
    // (tailable).
    virtual std::optional<Record> next() = 0;
    // Positions so that next() returns the record `id` or, if it is gone, nothing.
    virtual void seek(RecordId id) = 0;
    virtual void save() = 0;
    virtual bool restore() = 0;
};

// Figures for collStats, dbStats and validate. Sizes in bytes. Fields an engine lacks stay 0.
struct RecordStoreStats {
    int64_t count = 0;
    int64_t data_bytes = 0;     // sum of record sizes, padding included, headers not
    int64_t storage_bytes = 0;  // extents
    int32_t extents = 0;
    int32_t last_extent_bytes = 0;
    double padding_factor = 1.0;
    int32_t system_flags = 0;
    int32_t user_flags = 0;
    bool capped = false;
    int64_t capped_max_documents = 0;
};

class RecordStore {
  public:
    virtual ~RecordStore() = default;

    // Called before a capped store drops its oldest record to make room, so that index keys go
    // first.
    using BeforeRemoval = std::function<void(const Record&)>;
    virtual void set_before_capped_removal(BeforeRemoval callback) = 0;

    // Stores a copy. Throws base::Error 10003-style codes for capped limits, 14031 when the disk is
    // full.
    virtual RecordId insert(bson::Doc doc) = 0;
    // The document of a live record; the id must be valid.
    virtual bson::Doc get(RecordId id) const = 0;
    // Whether a document of that size can replace the record where it is.
    virtual bool fits(RecordId id, int32_t doc_bytes) const = 0;
    // Replaces the document in place; it must fit.
    virtual void overwrite(RecordId id, bson::Doc doc) = 0;
    // Replaces `bytes` at `offset` inside the stored document, whose size must not change.
    virtual void overwrite_range(RecordId id, int32_t offset, std::span<const uint8_t> bytes) = 0;
    // Stores the grown document elsewhere and returns its new id; the old record is still there,
    // the caller re-points the indexes and then calls remove(old). Capped stores throw Error 10003.
    virtual RecordId insert_moved(RecordId old, bson::Doc doc) = 0;
    // Removes a record. `system_slot` style rules (records of system.indexes are zeroed, not
    // reused) are the engine's.
    virtual void remove(RecordId id) = 0;
    // Undoes an insert whose keys were refused: like remove, also in capped stores.
    virtual void undo_insert(RecordId id) = 0;

    virtual std::unique_ptr<RecordCursor> cursor(Direction direction) = 0;

    virtual int64_t count() const = 0;
    virtual RecordStoreStats stats() const = 0;
    virtual bool capped() const = 0;

    // Empties the store (capped: back to the first extent).
    virtual void truncate() = 0;
    // Capped: removes the newest records down to `id` (`inclusive`: that one too).
    virtual void truncate_after(RecordId id, bool inclusive) = 0;
    // The first record behind those leading extents that together are shorter than `bytes`; null
    // when none are, or when the engine has no extents.
    virtual RecordId behind_extents(int64_t /*bytes*/) const { return {}; }
    // Brings all records into memory order of reading (the touch command). Returns bytes looked at.
    virtual int64_t touch() = 0;
};

}  // namespace storage

// storage/record_store.h - the records of one collection, as an engine keeps them.
//
// A record is one BSON document, named by a RecordId that stays the same for as long as the record
// is not moved. Every mutating call requires the database lock in exclusive mode, every other one
// at least in shared mode; several readers may call at once. If allows_concurrent_changes() is
// true, insert(), overwrite(), overwrite_range(), remove() and lock_record() are for holders of
// Access::documents (lock.h) too.
//
// Documents are returned as views into the engine's memory, and callers that need them longer copy
// them. A view ends:
// - of get(), with the next get() or RecordCursor::next() of the same thread;
// - of a cursor, with its next(), seek(), save() or destruction, and with the next get();
// - each, with a change of the record or a commit, and when the thread releases the database lock.
// One engine keeps the bytes for longer than another, so a document that is used too late is right
// on one and rubbish on the next. Builds with checks and sanitizers end the views of cursors
// themselves (brief_rows.cpp), for all engines, and a cursor that is not held by anything gives no
// record (HeldCursor). Documents given to the store are copied. The engine checks neither documents
// nor their size; it throws base::Error where that is said, and then nothing is changed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/dcheck.h"
#include "bson/view.h"

namespace storage {

// 64-bit name of a record, the engine's choice; 0 is "none". Its numeric order breaks ties between
// equal index keys and means nothing else above this interface. It is shown to clients as
// $recordId (signed) and $diskLoc (the two halves; mmapv1: file number << 32 | offset). An id of a
// removed record may be given again.
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

// Natural order scan: any order that stays the same while nothing changes and is turned round by
// the other direction; in capped stores the order of insertion. Between batches, before the lock is
// given up and before the records are changed, call save(); afterwards restore(). While saved, the
// store moves the cursor on when its record is removed or moved; records that stay are neither
// missed nor returned twice, new ones may be either. restore() returns false when the cursor lost
// its place for good (capped ring overtook it: the scan must end with an error). A cursor may be
// destroyed under no lock, also when its store has gone (collection dropped): nothing else then.
class RecordCursor {
  public:
    virtual ~RecordCursor() = default;
    // The next record, or nothing at the end. At the end of a forward scan of a capped collection
    // the cursor stays after the last record and a later next() continues with newer ones
    // (tailable).
    virtual std::optional<Record> next() = 0;
    // Positions so that next() returns the record `id` or, if there is none, nothing.
    virtual void seek(RecordId id) = 0;
    virtual void save() = 0;
    virtual bool restore() = 0;
};

// Owns a cursor. `cursor(...)->next()` does not compile: the record would be gone at the end of the
// expression, and its document is easily kept.
class HeldCursor : public std::unique_ptr<RecordCursor> {
  public:
    using std::unique_ptr<RecordCursor>::unique_ptr;
    HeldCursor(std::unique_ptr<RecordCursor> cursor)
        : std::unique_ptr<RecordCursor>(std::move(cursor)) {}
    RecordCursor* operator->() const& { return get(); }
    RecordCursor* operator->() const&& = delete;
    RecordCursor& operator*() const& { return *get(); }
    RecordCursor& operator*() const&& = delete;
};

// Returns a cursor whose records are copies, overwritten where their time ends and given back.
std::unique_ptr<RecordCursor> with_brief_rows(std::unique_ptr<RecordCursor> cursor);

// Metrics for collStats, dbStats and validate. Sizes in bytes. A metric that an engine lacks stays
// as it is here. system_flags bit 0: the index on _id was made with the collection
// (CollectionOptions), and no index has been dropped since.
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
    int64_t capped_bytes = 0;  // that its documents may take; what they do take may be less
    int64_t capped_max_documents = 0;
};

class RecordStore {
  public:
    virtual ~RecordStore() = default;

    // Called for each record that a capped store drops, before it goes, so that its index keys go
    // first: by insert() to make room and by truncate_after(), not by remove() and truncate(). One
    // callback, empty for none; it does not change the store and is not kept by reopening.
    using BeforeRemoval = std::function<void(const Record&)>;
    virtual void set_before_capped_removal(BeforeRemoval callback) = 0;

    // Throws base::Error 16328 when a capped store is too small for the document, 14031 when the
    // disk is full.
    virtual RecordId insert(bson::Doc doc) = 0;
    // Returns the document of a live record; get() and the functions that follow must not be asked
    // of other ids.
    virtual bson::Doc get(RecordId id) const = 0;
    // Returns how many of data_bytes the record takes.
    virtual int64_t record_bytes(RecordId id) const { return get(id).size(); }
    // Whether a document of that size can replace the record under its id. An engine whose records
    // never move says yes, but in capped stores only if the document does not grow. Throws
    // base::Error 14031 when the disk is full and the engine knows that no document can be
    // replaced.
    virtual bool fits(RecordId id, int32_t doc_bytes) const = 0;
    // Replaces the document, which must fit.
    virtual void overwrite(RecordId id, bson::Doc doc) = 0;
    // Replaces bytes from `offset` on inside the stored document, whose size stays. `bytes` may
    // point into another place of it.
    virtual void overwrite_range(RecordId id, int32_t offset, std::span<const uint8_t> bytes) = 0;
    // Stores a document that does not fit under another id and returns that; the old record is
    // still there, the caller re-points the indexes and then calls remove(old). Capped stores throw
    // base::Error 10003.
    virtual RecordId insert_moved(RecordId old, bson::Doc doc) = 0;
    // Removes a record, also in capped stores: so an insert is undone whose keys were refused.
    virtual void remove(RecordId id) = 0;

    // Whether its documents may be changed by holders of Access::documents; else of `all` only.
    virtual bool allows_concurrent_changes() const { return false; }
    // Locks a document that was found, before it is overwritten or removed under Access::documents:
    // no other thread changes it until this one commits, and this thread's reads from now on are of
    // the latest state. Ends what cursors show, which are saved or not used any more. Returns false
    // if the record has been removed. Throws WriteConflict while another thread has locked it.
    virtual bool lock_record(RecordId /*id*/) { return true; }

    HeldCursor cursor(Direction direction) {
        if constexpr (base::kDebugChecks) return with_brief_rows(open_cursor(direction));
        return open_cursor(direction);
    }
    // Returns the record at which a scan begins; null: there is no record.
    RecordId first_id(Direction direction = Direction::forward) {
        const HeldCursor scan = cursor(direction);
        const std::optional<Record> record = scan->next();
        return record ? record->id : RecordId();
    }

    virtual int64_t count() const = 0;
    virtual RecordStoreStats stats() const = 0;
    virtual bool capped() const = 0;
    // The bytes of the largest document that a capped store can hold, by what it has of space; 0:
    // it is not capped.
    virtual int64_t capped_document_max() const { return stats().capped_bytes; }

    // Empties the store. Saved cursors find nothing more or have lost their place.
    virtual void truncate() = 0;
    // Capped: removes the newest records down to `id` (`inclusive`: that one too), one by one;
    // throws base::Error 13415 instead of removing the last one.
    virtual void truncate_after(RecordId id, bool inclusive) = 0;
    // The first record behind those leading extents that together are shorter than `bytes`; null
    // when none are, or when the engine has no extents.
    virtual RecordId behind_extents(int64_t /*bytes*/) const { return {}; }
    // Brings all records into memory (the touch command), if that means anything.
    virtual void touch() {}

  protected:
    virtual std::unique_ptr<RecordCursor> open_cursor(Direction direction) = 0;
};

}  // namespace storage

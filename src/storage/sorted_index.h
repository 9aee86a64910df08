// storage/sorted_index.h - an ordered set of (key, RecordId).
//
// A key is a BSON document whose field names are empty, one value per field of the key pattern; the
// engine encodes it as it likes. Order: value by value in canonical order, fields that are
// descending in the pattern negated, ties by RecordId. Mutating calls require the database lock in
// exclusive mode, reading ones shared mode.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bson/view.h"
#include "storage/record_store.h"

namespace storage {

enum class InsertResult {
    inserted,
    duplicate,  // another record has this key and duplicates are not allowed
    too_long,   // the encoded key exceeds the engine's limit (mmapv1: 1024 bytes); nothing was
                // changed
};

// Walks entries in index order (forward) or against it (backward). A saved cursor may outlive its
// index (dropped meanwhile): then only its destructor may be called.
class IndexCursor {
  public:
    virtual ~IndexCursor() = default;
    // Positions at the first entry, in the cursor's direction, that is not before `key`. `key` may
    // have fewer fields than the index; `past` then decides whether entries that begin with it
    // count as before (true: they are all skipped) or not (false). For a full key, `past` skips
    // entries equal to it.
    virtual void seek(bson::Doc key, bool past) = 0;
    virtual void seek_to_start() = 0;  // first entry in the cursor's direction
    virtual bool at_end() const = 0;
    virtual void next() = 0;
    // Key and record at the position; the view lives until the cursor moves.
    virtual bson::Doc key() = 0;
    virtual RecordId id() const = 0;
    // Around giving up the lock. After restore() the cursor stands at the saved entry, or at the
    // one after it (in its direction) if that was removed; restore() returns true if it stands at
    // the saved entry.
    virtual void save() = 0;
    virtual bool restore() = 0;
};

// Adds entries in ascending order to an empty index; finish() makes the tree valid.
class BulkBuilder {
  public:
    virtual ~BulkBuilder() = default;
    virtual InsertResult add(bson::Doc key, RecordId id) = 0;
    virtual void finish() = 0;
};

class SortedIndex {
  public:
    virtual ~SortedIndex() = default;

    virtual InsertResult insert(bson::Doc key, RecordId id, bool duplicates_allowed) = 0;
    // Returns false if that pair is not there.
    virtual bool remove(bson::Doc key, RecordId id) = 0;
    // Whether an entry with this key names a record other than `self`.
    virtual bool has_duplicate(bson::Doc key, RecordId self) const = 0;
    // The record of the first entry with exactly this key, or none: the fast path of a look-up by
    // _id.
    virtual RecordId find_one(bson::Doc key) const = 0;
    // Whether insert() would answer too_long.
    virtual bool too_long(bson::Doc key) const = 0;

    virtual std::unique_ptr<IndexCursor> cursor(Direction direction) const = 0;
    virtual std::unique_ptr<BulkBuilder> bulk_builder(bool duplicates_allowed) = 0;

    virtual int64_t storage_bytes() const = 0;  // what totalIndexSize counts
    // Walks the whole tree, checks every invariant, returns the number of used entries; problems go
    // to `errors`.
    virtual int64_t validate(const std::function<void(const std::string&)>& errors) const = 0;
    virtual int64_t touch() const = 0;
};

}  // namespace storage

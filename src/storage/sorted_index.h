// storage/sorted_index.h - an ordered set of (key, RecordId).
//
// A key is a BSON document whose field names are empty, one value per field of the key pattern; the
// engine encodes it as it likes, but gives back each value with its type. Order: value by value in
// canonical order (bson::compare_keys), fields that are descending in the pattern negated, ties by
// RecordId. From 2^53 on that order has rounded numbers: an engine may keep them in their exact
// one; a seek stands before every key that compare_keys takes for equal all the same. Keys given
// are copied. Whether a record exists is no concern of the index; uniqueness is, as far as insert()
// and the builder are asked for it. Mutating calls require the database lock in exclusive mode,
// reading ones shared mode; several readers may call at once. If records are changed under
// Access::documents (record_store.h), insert() and remove() are for its holders too: the entry is
// one of a record that they have claimed or just inserted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bson/view.h"
#include "storage/record_store.h"

namespace storage {

// `descending` of bson::compare_keys for the keys of a pattern: the bits of the fields whose value
// is a negative number.
inline uint32_t descending_bits(bson::Doc key_pattern) {
    uint32_t bits = 0;
    uint32_t bit = 1;
    for (const bson::Element& field : key_pattern) {
        if (field.is_number() && field.to_double() < 0) bits |= bit;
        bit <<= 1;
    }
    return bits;
}

enum class InsertResult {
    inserted,
    duplicate,  // a record has this key and duplicates are not allowed; it may be this record
    too_long,   // the encoded key exceeds the engine's limit (mmapv1: 1024 bytes); nothing was
                // changed
};

// Walks entries in index order (forward) or against it (backward). Between a change of the index,
// by any operation, and the next use of a cursor lie save() before and restore() after it. A saved
// cursor may outlive its index (dropped in between): then only its destructor may be called.
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
    // This and what follows down to save(): not at the end.
    virtual void next() = 0;
    // Key and record at the position; the view lives until the cursor moves or is saved.
    virtual bson::Doc key() = 0;
    virtual RecordId id() const = 0;
    // Around giving up the lock. After restore() the cursor stands at the saved entry, or at the
    // one after it (in its direction) if that was removed; restore() returns true if it stands at
    // the saved entry. A cursor saved at the end is still there, and restore() returns true.
    virtual void save() = 0;
    virtual bool restore() = 0;
};

// Adds entries in ascending order to an empty index. REQUIRES: no other user of it. finish() makes
// the tree valid. An index whose builder went without finish() may only be dropped.
class BulkBuilder {
  public:
    virtual ~BulkBuilder() = default;
    virtual InsertResult add(bson::Doc key, RecordId id) = 0;  // refused: the others stay
    virtual void finish() = 0;
};

class SortedIndex {
  public:
    virtual ~SortedIndex() = default;

    // A pair that is there already is inserted again without effect, or refused as a duplicate.
    // Throws base::Error when the disk is full, with nothing changed; WriteConflict
    // (write_conflict.h) where duplicates are not allowed and another thread adds this very key.
    virtual InsertResult insert(bson::Doc key, RecordId id, bool duplicates_allowed) = 0;
    // Returns false if that pair is not there. Needs no space.
    virtual bool remove(bson::Doc key, RecordId id) = 0;
    // Makes sure, as far as possible, that insertions of so many keys, which have so many bytes
    // together, will not fail for want of space. Throws base::Error when the disk is full.
    virtual void reserve(int64_t /*keys*/, int64_t /*key_bytes*/) {}
    // Returns roughly how many stored bytes such insertions change at most.
    virtual int64_t insertion_bytes(int64_t /*keys*/, int64_t /*key_bytes*/) const { return 0; }
    // Whether an entry with this key names a record other than `self` (none: any record). If the
    // caller may write, no other thread adds this key until it commits; throws WriteConflict if one
    // does.
    virtual bool has_duplicate(bson::Doc key, RecordId self) const = 0;
    // Returns the record of the first entry with exactly this key, or none: the fast path of a
    // look-up by _id.
    virtual RecordId find_one(bson::Doc key) const = 0;
    // Whether insert() would answer too_long. Seeks with such keys are allowed.
    virtual bool too_long(bson::Doc key) const = 0;

    virtual std::unique_ptr<IndexCursor> cursor(Direction direction) const = 0;
    virtual std::unique_ptr<BulkBuilder> bulk_builder(bool duplicates_allowed) = 0;

    virtual int64_t storage_bytes() const = 0;  // on disk: what totalIndexSize counts
    // Walks the whole tree, checks every invariant, returns the number of used entries; problems go
    // to `errors`.
    virtual int64_t validate(const std::function<void(const std::string&)>& errors) const = 0;
    // Brings the index into memory (the touch command), if that means anything.
    virtual void touch() const {}
};

}  // namespace storage

// storage/mmapv1/space/namespace_storage.h - one namespace's extents, its chains of live records
// and its lists of deleted ones (mmapv1 spec 4, 5.1 to 5.6; semantics 6 rule 2).
//
// Shared by collections and by the namespaces of indexes. Knows nothing of documents or buckets.
// Everything here requires the database lock exclusive, except the walking functions (shared).
#pragma once

#include <cstdint>
#include <string>

#include "storage/mmapv1/space/extent_manager.h"
#include "storage/mmapv1/space/layout.h"
#include "storage/mmapv1/space/own_extents.h"

namespace mmapv1 {

// A free region taken off its list, to become a record. The bytes on disk are still those of the
// deleted record: the caller declares and writes the whole header.
struct Region {
    DiskLoc loc = DiskLoc::null();
    int32_t length = 0;
    int32_t extent_offset = 0;
};

// Next multiple of 4: what lengths of records are.
constexpr int32_t round_record(int32_t bytes) {
    return (bytes + 3) & ~3;
}
static_assert(round_record(kRecordHeaderBytes + 1) == sizeof(DeletedRecord));

// Sizes of records are kept to sixteen steps per list, so that freed space fits its successors.
int32_t quantised_record(int32_t bytes);

class NamespaceStorage {
  public:
    NamespaceStorage(ExtentManager& extents, NamespaceDetails& details, std::string ns);

    const std::string& ns() const { return ns_; }
    NamespaceDetails& details() const { return *details_; }
    ExtentManager& extents() const { return extents_; }
    DataFiles& files() const { return files_; }
    SpaceViews& views() const { return views_; }
    bool special() const { return special_; }
    // Moves the storage to another entry of the namespace file, after a rename.
    void rebind(NamespaceDetails& details, std::string ns);
    int64_t own_extents() const { return own_.count(); }
    // The entry has another chain of extents now.
    void read_extents() { own_ = extents_.own_extents(ns_, details_->first_extent); }

    // Extents -----------------------------------------------------------------------------------
    // Appends an extent of about that size; registers its region on the deleted lists.
    DiskLoc add_extent(int64_t bytes);
    // Appends an extent without registering its region: for a capped ring, which keeps its list in
    // another order.
    DiskLoc append_extent(int64_t bytes, Region* region);
    // Gives all extents to the free list and marks the namespace as gone (mmapv1 spec 10.5).
    void release_extents();
    // Unlinks one extent, which holds no record any more, and puts it on the free list.
    void release_extent(DiskLoc extent);
    int64_t storage_bytes(int32_t* count) const;
    // The n-th member of a chain of extents. Throws base::Error unless an extent can be there, and
    // when the chain runs in a circle.
    ExtentHeader& checked_extent_at(DiskLoc loc, int64_t n) const;
    // Returns the n-th member to write there: it must be one of this namespace.
    ExtentHeader& own_extent_at(DiskLoc loc, int64_t n) const;

    // Returns the header of a record that can be there: inside an extent of this namespace, with
    // its length. Code that writes into a record, or gives its bytes away, takes the record from
    // here. Throws base::Error.
    RecordHeader& checked_live(DiskLoc loc) const;
    // Links a record at the tail of its extent's chain and counts it. `record` is already declared;
    // its length and extent_offset are set.
    void link(DiskLoc loc, RecordHeader& record);
    // Takes it out of the chain and the counts; the space has no owner then. Throws base::Error,
    // having changed nothing, unless its neighbours link to it.
    void unlink(DiskLoc loc);

    // Deleted records, not for capped ------------------------------------------------------------
    // A region for a record of `bytes` (header included), adding extents as needed. Throws
    // base::Error when the disk is full; what changes is then what reserve() changes.
    Region take(int32_t bytes);
    // Makes sure that so many calls of take(bytes) find their regions without a new extent, adding
    // extents now if need be. Throws base::Error when the disk is full; extents added before that
    // stay, and are the next to be used.
    void reserve(int32_t bytes, int regions);
    // Puts the space of a region on its list.
    void give(DiskLoc loc, int32_t length, int32_t extent_offset);
    // Forgets all deleted records: compact starts in fresh extents.
    void orphan_deleted();
    // Puts all of an extent that is in no record on the lists, which have nothing of it yet. Throws
    // base::Error where a record has no place in it.
    void regain(DiskLoc extent);

    // Whether an extent of this namespace holds so many bytes from there.
    bool holds_own(DiskLoc loc, int32_t bytes) const { return own_.hold(loc, bytes); }
    // Throws base::Error unless a free record of this namespace can be there.
    void check_free(DiskLoc loc) const;
    // Returns the region. Throws base::Error when a bucket that is in use lies in it.
    const Region& unshared(const Region& region) const;

  private:
    bool is_own_extent(DiskLoc loc) const;
    bool search(int32_t bytes, Region* region);
    bool holds(int32_t bytes, int regions) const;
    void add_extent_for(int32_t bytes);

    ExtentManager& extents_;
    DataFiles& files_;
    SpaceViews& views_;
    NamespaceDetails* details_;
    OwnExtents own_;
    std::string ns_;
    bool special_;
};

}  // namespace mmapv1

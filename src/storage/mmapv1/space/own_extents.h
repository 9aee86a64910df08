// storage/mmapv1/space/own_extents.h - which extents belong to one namespace (mmapv1 spec 4.3).
//
// A record, free or live, says itself which extent it lies in, and in a crafted file that may be
// another namespace's, or bytes of a document that look like an extent. The extent is therefore
// checked here before a write. Kept in memory: read from the chain when a database is opened,
// before anything is written, and kept in step from then on. Database lock exclusive for changes,
// shared to ask.
#pragma once

#include <vector>

#include "storage/mmapv1/space/data_files.h"

namespace mmapv1 {

class OwnExtents {
  public:
    // Collects the extents of a chain, as far as it is valid, in no more than *steps, which is
    // reduced by the steps taken.
    OwnExtents(const DataFiles& files, DiskLoc first, int64_t* steps);

    int64_t count() const { return static_cast<int64_t>(extents_.size()); }
    bool has(DiskLoc extent) const;
    // Whether one of them holds so many bytes from there, behind its header.
    bool hold(DiskLoc loc, int32_t bytes) const;
    // Whether the chain from there on has all of them and no others.
    bool are_chain(const DataFiles& files, DiskLoc first) const;

    // Makes sure that the next add() does not fail for want of memory.
    void reserve_one() { extents_.reserve(extents_.size() + 1); }
    void add(DiskLoc extent, int32_t length);
    void remove(DiskLoc extent);
    void clear() { extents_.clear(); }

  private:
    struct Extent {
        DiskLoc begin;
        int64_t end;  // in the same file
    };
    // The last one that does not begin behind that place; null: there is none.
    const Extent* at_or_before(DiskLoc loc) const;

    std::vector<Extent> extents_;  // by place
};

}  // namespace mmapv1

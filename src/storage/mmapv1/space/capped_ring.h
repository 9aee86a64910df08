// storage/mmapv1/space/capped_ring.h - free space of a capped collection: extents that are filled
// one after the other and then again from the start, the oldest records making room (mmapv1
// spec 5.8).
//
// One list holds all free regions, those of an extent together and the extents in chain order.
// Within the current extent the regions stand by falling address once they were merged, and what
// is left of a region that was cut goes to their front. Each extent always keeps one region.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/mmapv1/space/namespace_storage.h"

namespace mmapv1 {

class CappedRing {
  public:
    explicit CappedRing(NamespaceStorage& storage) : storage_(storage) {}

    // Creation: an extent of about that size; its region goes to the end of the list.
    void add_extent(int64_t bytes);
    // Makes the ring of an ancient server one of ours (mmapv1 spec 5.8 rule 12). Nothing to do for
    // others.
    void convert_ancient();

    // A region for a record of `bytes` (header included), or nothing when the oldest record has to
    // go first: the caller removes oldest() with remove() and asks again. Throws base::Error 16328
    // and 1 when no extent can hold the record; then nothing was changed.
    bool take(int32_t bytes, Region* region);
    // Begins a change, for which records may have to go.
    void begin() { visits_ = 0; }
    DiskLoc oldest() const;
    // Returns the size of the largest document for which some extent has space.
    int64_t document_bytes_max() const;
    // Counts the record as part of the current pass, after link().
    void note_inserted(DiskLoc loc);
    // Takes a record of the current extent out of its chain and frees its space. Throws base::Error
    // where the ring has so many free regions that to make room would take for ever.
    void remove(DiskLoc loc);

    // The newest record. Null in an empty ring. Steps back to the extent that holds it.
    DiskLoc step_to_newest();
    // Forgets all records.
    void reset();

    // First pass, nothing overwritten yet.
    bool looped() const;

  private:
    [[noreturn]] void damaged(const char* why) const;
    // Throws when a walk over regions or extents takes more steps than there can be.
    void check_steps(int64_t steps) const;
    // A region that can be there, of the current extent.
    DeletedRecord& checked_region(DiskLoc loc) const;
    NamespaceDetails& details() const { return storage_.details(); }
    DataFiles& files() const { return storage_.files(); }
    // Returns where the list's part of the current extent begins.
    DiskLoc& first_of_current() const;
    bool in_current(DiskLoc loc) const;
    bool fits_somewhere(int32_t bytes) const;
    bool search(int32_t bytes, Region* region);
    void advance();
    void step_back_to(DiskLoc extent, DiskLoc first_new);
    void merge();
    void append_region(const Region& region);
    DiskLoc* append_behind(DiskLoc* last, const Region& region);
    int64_t document_limit() const;

    NamespaceStorage& storage_;
    int64_t visits_ = 0;            // of regions, for one change
    std::vector<DiskLoc> scratch_;  // merge(); kept, so that it allocates once
};

}  // namespace mmapv1

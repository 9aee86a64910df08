// storage/mmapv1/space/extent_manager.h - which namespace owns which part of the data files:
// extents handed out to namespaces, and the list of free ones (mmapv1 spec 4).
//
// Reading needs the database lock shared, everything else exclusive.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "storage/mmapv1/space/data_files.h"
#include "storage/mmapv1/space/layout.h"
#include "storage/mmapv1/space/own_extents.h"

namespace mmapv1 {

// Sizes of 4.3, in bytes.
int32_t round_extent(int64_t bytes, int32_t max_extent);
// Returns the size of the first extent for records of that length (header included).
int32_t initial_extent(int64_t record_bytes, int32_t max_extent);
// Returns the size of the next extent, when the last one had `last` bytes.
int32_t next_extent(int64_t record_bytes, int32_t last, int32_t max_extent);

class ExtentManager {
  public:
    explicit ExtentManager(DataFiles& files) : files_(files) {}

    // An extent of about that size (rounded, 4096 at least) for `ns`, linked to nothing, holding no
    // record and no deleted record: from the free list, a file's tail, or a new file.
    DiskLoc allocate(std::string_view ns, int64_t bytes, bool capped);
    // Puts the chain first..last in front of the free list; a broken one is given up instead.
    void free_chain(DiskLoc first, DiskLoc last);
    // Says so of one that cannot be given away.
    void give_up_chain(DiskLoc first, DiskLoc last) const;
    // One extent, which has been taken out of its chain.
    void free_extent(DiskLoc loc) { put_in_front(loc, loc); }

    // Writes header fields of an extent that starts a new life: no links, no records.
    void initialise(DiskLoc loc, std::string_view ns, int32_t length);
    // The region of a fresh extent that becomes its one deleted record: offset of its start and its
    // size (mmapv1 spec 4.2 rule 4).
    static void data_region(DiskLoc loc, int32_t length, bool aligned, DiskLoc* start,
                            int32_t* bytes);

    DiskLoc free_list_head() const;
    int64_t free_count(int64_t* total_bytes) const;
    // Whether its members are extents that point to each other, from head to tail.
    bool free_list_is_valid() const;
    void forget_free_list();
    // Throws base::Error when a chain of extents that has had `count` members runs in a circle.
    void check_chain_length(int64_t count) const;
    // Files of 2.4 have (0,0) for the list ends: makes them null.
    void repair_headers();

    // These namespaces share extents with others, as a walk over all has shown, and are not
    // written.
    void expect_shared(std::set<std::string> namespaces);
    // The extents of a namespace: all of them, but where some are shared. Thousands of chains may
    // run into one, so those are read only up to twice as many as there can be in all.
    OwnExtents own_extents(const std::string& ns, DiskLoc first);

    DataFiles& files() const { return files_; }

  private:
    bool is_plausible_chain(DiskLoc first, DiskLoc last) const;
    void put_in_front(DiskLoc first, DiskLoc last);
    DiskLoc take_free(int32_t bytes, bool capped);
    DiskLoc take_new(int32_t bytes);

    DataFiles& files_;
    std::set<std::string> shared_;
    int64_t shared_left_ = 0;
};

}  // namespace mmapv1

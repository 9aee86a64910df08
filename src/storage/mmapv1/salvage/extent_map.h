// storage/mmapv1/salvage/extent_map.h - every extent that can be found in the data files of a
// database, of any namespace (mmapv1 spec 8.1 rules 3 and 4).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "storage/mmapv1/salvage/raw_files.h"
#include "storage/mmapv1/space/disk_loc.h"
#include "storage/mmapv1/space/layout.h"

namespace mmapv1 {

constexpr int kNoOwner = -1;

struct RawExtent {
    DiskLoc loc;
    bool has_header = true;  // false: only links that lead here say that it is there
    ExtentHeader header = {};
    int owner = kNoOwner;  // number of a space
};

class ExtentMap {
  public:
    // Looks through all data files.
    explicit ExtentMap(const RawFiles& files);

    RawExtent* find(DiskLoc loc);
    // An extent at a place that a link names and where no header can be recognised. Null when none
    // can be there: another one is, or it is no such place.
    RawExtent* add_without_header(DiskLoc loc);
    std::map<DiskLoc, RawExtent>& all() { return extents_; }
    // Returns where the next extent of the file begins, or the file ends.
    int32_t limit(DiskLoc loc) const;

  private:
    const RawFiles& files_;
    std::map<DiskLoc, RawExtent> extents_;
};

// The namespace in an extent's header, if it can be one; it may be out of date.
std::string name_in_header(const ExtentHeader& header);

}  // namespace mmapv1

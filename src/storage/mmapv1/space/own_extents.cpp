#include "storage/mmapv1/space/own_extents.h"

#include <algorithm>

#include "base/dcheck.h"
#include "storage/mmapv1/space/checked.h"

namespace mmapv1 {

OwnExtents::OwnExtents(const DataFiles& files, DiskLoc first, int64_t* steps) {
    for (DiskLoc at = first; *steps > 0 && checked_extent(files, at); --*steps) {
        const ExtentHeader& extent = files.extent(at);
        extents_.push_back({at, int64_t{at.offset} + extent.length});
        at = extent.next;
        if (at == first) break;
    }
    std::ranges::sort(extents_, {}, &Extent::begin);
    // A chain that runs in a circle has some of them more than once.
    const auto again = std::ranges::unique(extents_, {}, &Extent::begin);
    extents_.erase(again.begin(), again.end());
}

const OwnExtents::Extent* OwnExtents::at_or_before(DiskLoc loc) const {
    const auto behind = std::ranges::upper_bound(extents_, loc, {}, &Extent::begin);
    return behind == extents_.begin() ? nullptr : &*std::prev(behind);
}

bool OwnExtents::has(DiskLoc extent) const {
    const Extent* found = at_or_before(extent);
    return found != nullptr && found->begin == extent;
}

bool OwnExtents::hold(DiskLoc loc, int32_t bytes) const {
    const Extent* found = at_or_before(loc);
    return found != nullptr && found->begin.file == loc.file &&
           loc.offset >= found->begin.offset + kExtentHeaderBytes &&
           int64_t{loc.offset} + bytes <= found->end;
}

bool OwnExtents::are_chain(const DataFiles& files, DiskLoc first) const {
    size_t count = 0;
    for (DiskLoc at = first; !at.is_null(); at = files.extent(at).next)
        if (!has(at) || ++count > extents_.size()) return false;
    return count == extents_.size();
}

void OwnExtents::add(DiskLoc extent, int32_t length) {
    DCHECK(extents_.size() < extents_.capacity());  // reserve_one()
    DCHECK(!has(extent) && length >= kMinExtentBytes);
    const auto at = std::ranges::upper_bound(extents_, extent, {}, &Extent::begin);
    extents_.insert(at, {extent, int64_t{extent.offset} + length});
}

void OwnExtents::remove(DiskLoc extent) {
    DCHECK(has(extent));
    const auto at = std::ranges::lower_bound(extents_, extent, {}, &Extent::begin);
    if (at != extents_.end() && at->begin == extent) extents_.erase(at);
}

}  // namespace mmapv1

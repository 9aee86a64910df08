// storage/mmapv1/space/checked.h - whether a link in a data file leads to what it should lead to
// (mmapv1 spec 4.2, 5.1). Any bytes may be asked about; nothing is followed further than said.
// Database lock shared.
#pragma once

#include "base/dcheck.h"
#include "storage/mmapv1/space/data_files.h"

namespace mmapv1 {

// Whether an extent can be there; nothing else about its namespace is examined.
inline bool checked_extent(const DataFiles& files, DiskLoc loc) {
    if (!loc.is_valid() || !files.plausible(loc, sizeof(ExtentHeader))) return false;
    const ExtentHeader& e = files.extent(loc);
    return e.magic == kExtentMagic && e.my_loc == loc && e.length >= kMinExtentBytes &&
           (loc.offset | e.length) % 4 == 0 &&
           int64_t{loc.offset} + e.length <= files.header(loc.file).unused.offset;
}

// Whether a record, live or deleted, of that extent can be there; REQUIRES: the extent is checked.
inline bool checked_record(const DataFiles& files, DiskLoc loc, DiskLoc extent_loc) {
    DCHECK(checked_extent(files, extent_loc));
    const int64_t end = int64_t{extent_loc.offset} + files.extent(extent_loc).length;
    if (loc.file != extent_loc.file || loc.offset % 4 != 0 ||
        loc.offset < extent_loc.offset + kExtentHeaderBytes ||
        int64_t{loc.offset} + kRecordHeaderBytes > end)
        return false;
    const RecordHeader& record = files.record(loc);
    return record.extent_offset == extent_loc.offset && record.length > kRecordHeaderBytes &&
           record.length % 4 == 0 && loc.offset + int64_t{record.length} <= end;
}

// Whether the location holds a live record: its links and those of its neighbours agree. For
// locations that may be stale.
bool is_live_record(const DataFiles& files, DiskLoc loc);

}  // namespace mmapv1

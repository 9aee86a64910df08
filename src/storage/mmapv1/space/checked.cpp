#include "storage/mmapv1/space/checked.h"

namespace mmapv1 {

bool is_live_record(const DataFiles& files, DiskLoc loc) {
    if (!loc.is_valid() || loc.offset % 4 != 0 || !files.plausible(loc, sizeof(RecordHeader)))
        return false;
    const RecordHeader& record = files.record(loc);
    const DiskLoc extent_loc{loc.file, record.extent_offset};
    if (!checked_extent(files, extent_loc) || record.extent_offset >= loc.offset) return false;
    const ExtentHeader& extent = files.extent(extent_loc);
    const int64_t end = int64_t{extent_loc.offset} + extent.length;
    const auto leads_here = [&](int32_t offset, bool forward) {
        if (offset == -1) return (forward ? extent.first_record : extent.last_record) == loc;
        // A removal of this record writes to that neighbour.
        if (offset < extent_loc.offset + kExtentHeaderBytes ||
            int64_t{offset} + kRecordHeaderBytes > end)
            return false;
        const DiskLoc other{loc.file, offset};
        const RecordHeader& neighbour = files.record(other);
        return (forward ? neighbour.next_offset : neighbour.prev_offset) == loc.offset;
    };
    return leads_here(record.prev_offset, true) && leads_here(record.next_offset, false);
}

}  // namespace mmapv1

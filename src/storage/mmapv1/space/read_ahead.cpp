#include "storage/mmapv1/space/read_ahead.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace mmapv1 {

void ReadAhead::come_to_all(DiskLoc loc, int32_t bytes) {
    if (!is_wanted()) return;
    follow(loc);
    if ((edge_ - loc.offset) * direction_ <= 0) files_->read_ahead(loc.file, loc.offset, bytes);
}

bool ReadAhead::is_in_order(DiskLoc last, DiskLoc loc) const {
    const int64_t step = int64_t{loc.offset} - last.offset;
    if (loc.file != last.file || step * direction_ <= 0) return false;
    int64_t gap = std::abs(step);
    if (gap > kNearBytes && direction_ > 0 && files_->plausible(last, sizeof(RecordHeader)))
        gap -= files_->record(last).length;  // a long one
    return gap <= kNearBytes;
}

void ReadAhead::follow(DiskLoc loc) {
    const DiskLoc last = std::exchange(last_, loc);
    if (loc == last) return;
    if (!is_in_order(last, loc)) {
        direction_ = loc.file == last.file && loc.offset < last.offset ? -1 : 1;
        begin_ = edge_ = loc.offset;
        steps_ = 0;
        return;
    }
    const int64_t passed = std::abs(loc.offset - begin_);
    if (steps_ < kPassedStepsMin) ++steps_;
    if (steps_ < kPassedStepsMin || passed < kPassedBytesMin) return;
    const int64_t wanted = std::min(2 * passed, kAskedBytesMax);
    const int64_t asked = std::max<int64_t>((edge_ - loc.offset) * direction_, 0);
    if (asked > wanted / 2) return;
    edge_ = loc.offset + direction_ * wanted;
    const int64_t from = direction_ > 0 ? loc.offset + asked : edge_;
    files_->read_ahead(loc.file, from, wanted - asked);
}

}  // namespace mmapv1

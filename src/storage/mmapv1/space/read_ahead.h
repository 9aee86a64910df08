// storage/mmapv1/space/read_ahead.h - asks for what lies before a walk through records or buckets,
// where the system does not read it by itself (MappedFile::wants_read_ahead).
//
// A walk says which place it comes to. While it goes through a file in order, up or down, it has
// twice as much read as it has passed, up to 1 MB before it: so what is asked for in vain is no
// more than what was needed. Where places lie in no order nothing is asked for.
#pragma once

#include <cstdint>

#include "storage/mmapv1/space/data_files.h"

namespace mmapv1 {

class ReadAhead {
  public:
    // A shorter walk asks for nothing.
    static constexpr int64_t kPassedBytesMin = 32 << 10;
    static constexpr int kPassedStepsMin = 4;
    static constexpr int64_t kAskedBytesMax = 1 << 20;
    // What lies further behind the last record is not in order.
    static constexpr int64_t kNearBytes = 64 << 10;

    // Null: there is nothing to be read.
    explicit ReadAhead(const DataFiles* files) : files_(files) {}

    bool is_of(const DataFiles& files) const { return files_ == &files; }
    bool is_wanted() const { return files_ != nullptr && files_->wants_read_ahead(); }
    // Before what lies there is looked at.
    void come_to(DiskLoc loc) {
        if (is_wanted()) follow(loc);
    }
    // Before all of it is.
    void come_to_all(DiskLoc loc, int32_t bytes);

  private:
    bool is_in_order(DiskLoc last, DiskLoc loc) const;
    void follow(DiskLoc loc);

    const DataFiles* files_;
    DiskLoc last_ = DiskLoc::null();
    int64_t direction_ = 0;  // 1 or -1
    int steps_ = 0;          // in order, up to kPassedStepsMin
    int64_t begin_ = 0;      // offset where the way in order began
    int64_t edge_ = 0;       // up to where it was asked for
};

}  // namespace mmapv1

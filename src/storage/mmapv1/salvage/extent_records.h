// storage/mmapv1/salvage/extent_records.h - the live records of one extent: by their chain, from
// both ends where it is broken, and what lies between by examining every place (mmapv1 spec 8.1
// rules 2, 3, 5, 6).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/mmapv1/salvage/extent_map.h"

namespace mmapv1 {

// Something that is not as it must be.
struct Damage {
    std::string file;    // relative to the dbpath
    int64_t offset = 0;  // in it
    std::string meaning;
};
using OnDamage = std::function<void(Damage)>;

class ExtentRecords {
  public:
    // `keeps_removed`: removed records of this namespace are not marked as such (system.indexes,
    // mmapv1 spec 5.6 rule 4; capped collections), so that only links tell which are live.
    ExtentRecords(RawFile& file, const RawExtent& extent, int32_t limit, bool keeps_removed,
                  const OnDamage& damage);

    // Returns the records in the order of the chain. `thorough`: looks for others also if the chain
    // is whole.
    std::vector<int32_t> find(bool thorough);

  private:
    struct Walk {
        std::vector<int32_t> found;
        int32_t stopped_at = -1;  // the place that the last link names and where no record is
        int64_t link_at = 0;      // where that link lies
        // The index in `found` of the first one that does not point back to the one before it; -1:
        // none
        std::ptrdiff_t unconfirmed = -1;
    };
    Walk walk(int32_t first, int64_t first_link, bool forward);
    bool load(int32_t offset, RecordHeader* record) const;
    bool in_reach(int32_t offset) const;
    bool plausible_record(int32_t offset, const RecordHeader& record) const;
    bool looks_live(int32_t offset, const RecordHeader& record) const;
    std::vector<int32_t> look_everywhere();
    bool seen(int32_t offset) const { return seen_[slot(offset)]; }
    size_t slot(int32_t offset) const { return static_cast<size_t>(offset - begin_) / 4; }
    void report(int64_t offset, std::string meaning) const;

    RawFile& file_;
    const RawExtent& extent_;
    const int32_t begin_;
    const int32_t limit_;
    const bool keeps_removed_;
    const OnDamage& damage_;
    std::vector<bool> seen_;  // by slot()
};

// Returns what is wrong with the document in the record at that place; empty if it is whole, and
// `bytes` is then where it lies until the next read. Whatever the record's length says, it ends
// before `limit`.
std::string look_at_document(RawFile& file, int32_t record, int32_t limit, const uint8_t** bytes);

}  // namespace mmapv1

// oplog/replay.h - brings the copy of a member's data (createBackup) to a later time: does again
// what a file of entries tells of.
//
// The file has entries one behind the other, as mongodump writes a collection. The last entry of
// the copy's own log has to be among them; those before it are passed over, and each one behind it
// is applied to exactly the data that it was written over.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bson/view.h"
#include "catalog/catalog.h"
#include "oplog/apply.h"
#include "oplog/entry.h"

namespace oplog {

// A time at which the entries to be applied end, this one included.
struct ReplayEnd {
    uint64_t ts = std::numeric_limits<uint64_t>::max();
    int64_t wall_ms = std::numeric_limits<int64_t>::max();  // of the primary that wrote them
    bool operator==(const ReplayEnd&) const = default;
};

// Reads "seconds:increment", or a date of ISO 8601, of UTC if it names no zone. Throws base::Error.
ReplayEnd read_replay_end(const std::string& text);

class Replay {
  public:
    // `run`: see Applier. The others outlive this object. REQUIRES: nothing else uses the catalog.
    Replay(catalog::Catalog& catalog, Applier::RunCommand run, std::istream& entries,
           ReplayEnd end = {})
        : catalog_(catalog), applier_(catalog, std::move(run)), entries_(entries), end_(end) {}

    // No lock, as play(). Reads the copy's last entry, and the file up to it. Changes nothing.
    // Throws base::Error 20 where the copy has no log, or ends behind the time that is wanted, and
    // where the file lacks that entry.
    void find_begin();
    // REQUIRES: find_begin(). Applies the rest, `before_each` being called before each; what that
    // throws ends it. Throws base::Error 20 where the file ends before the time that is wanted, or
    // is out of order, and what Applier::apply() does; the data is then that of the entry before.
    void play(const std::function<void()>& before_each);

    // The position of the last entry that was found or applied.
    const Position& last() const { return last_; }
    int64_t applied() const { return applied_; }

  private:
    std::optional<bson::Doc> next();

    catalog::Catalog& catalog_;
    Applier applier_;
    std::istream& entries_;
    const ReplayEnd end_;
    std::vector<uint8_t> entry_;  // that next() has read
    Position last_;
    int64_t applied_ = 0;
    bool is_at_end_ = false;  // no entry of a later one is of the time that is wanted
};

// "seconds:increment"
std::string text_of(uint64_t ts);

}  // namespace oplog

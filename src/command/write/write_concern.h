// command/write/write_concern.h - when a write counts as done (wire spec 3.8, journal spec 1.9).
#pragma once

#include <cstdint>
#include <string>

#include "bson/view.h"

namespace command {

struct WriteConcern {
    int32_t w = 1;
    std::string mode;  // w given as a string
    bool journal = false;
    bool fsync = false;
    int64_t wtimeout_ms = 0;
    bool unacknowledged() const { return w == 0 && mode.empty() && !journal && !fsync; }
    // Whether the reply waits for the disk.
    bool waits() const { return journal || fsync; }

    // `options`: the writeConcern document, or a getLastError command (w, j, fsync, wtimeout are
    // read, the rest ignored). Throws base::Error 9 for wrong types and for j with fsync.
    static WriteConcern parse(bson::Doc options);
    // Throws base::Error 2 where this server cannot satisfy it.
    void check(bool journaling) const;
};

}  // namespace command

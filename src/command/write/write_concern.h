// command/write/write_concern.h - when a write counts as done (wire spec 3.8, journal spec 1.9).
#pragma once

#include <cstdint>
#include <string>

#include "bson/view.h"
#include "replica/progress.h"

namespace replica {
class Member;
}

namespace command {

struct WriteConcern {
    int32_t w = 1;
    std::string mode;  // w given as a string
    bool journal = false;
    bool fsync = false;
    int64_t wtimeout_ms = 0;
    bool unacknowledged() const { return w == 0 && mode.empty() && !journal && !fsync; }
    // Whether it names no other members, nor what only the configuration of a set knows.
    bool asks_for_one_member() const { return mode.empty() && w <= 1; }
    // Whether the reply waits for the disk.
    bool waits() const { return journal || fsync; }

    // `options`: the writeConcern document, or a getLastError command (w, j, fsync, wtimeout are
    // read, the rest ignored). Throws base::Error 9 for wrong types and for j with fsync.
    static WriteConcern parse(bson::Doc options);
    // Returns the concern of writes that name none, by the configuration of a set.
    static WriteConcern of_set(const replica::Member& member);
    // Throws base::Error 2 where this server cannot satisfy it; of a set's members only what
    // concerns the journal.
    void check(bool journaling, bool in_set) const;
    // Returns which members of a set it asks for.
    replica::Need need() const { return {.members = w, .mode = mode, .durable = waits()}; }
};

}  // namespace command

// command/request/members_awaited.h - which members of a set a reply waits for.
#pragma once

#include <cstdint>

#include "command/write/write_concern.h"
#include "oplog/entry.h"
#include "replica/progress.h"

namespace command {

struct Invocation;

struct MembersAwaited {
    enum class Of : uint8_t { write, last_error, log };

    Of of = Of::write;
    oplog::Position position;  // the entry that they have to have
    replica::Need need;
    int64_t limit_ms = 0;      // 0: none
    bool is_numbered = false;  // a client that gets an error sends the write again
    int64_t cursor = 0;        // ends if the wait fails, since its batch is lost; 0: none
};

// Whether the concern is of other members at all; what is written to `local` has no entry.
bool asks_for_members(const Invocation& invocation, const WriteConcern& concern);
// REQUIRES: asks_for_members(). Throws base::Error 79 or 100 where the configuration has no such
// members. A client that gives a time by the old messages waits for these, too, as long.
MembersAwaited members_of(const Invocation& invocation, const WriteConcern& concern,
                          MembersAwaited::Of of, oplog::Position position);

// {code, codeName, errmsg} and more, as writeConcernError.
void append_concern_error(int code, const char* text, bool timed_out, bson::Builder& out);

}  // namespace command

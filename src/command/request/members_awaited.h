// command/request/members_awaited.h - which members of a set a reply waits for.
#pragma once

#include <cstdint>

#include "command/write/write_concern.h"
#include "oplog/entry.h"
#include "replica/progress.h"

namespace command {

struct Invocation;

// A readConcern says what a read may show: all that this member has, also what an election may
// still take back; what a majority has; or that, of a member that was the primary until then.
enum class ReadLevel : uint8_t { local, majority, linearizable };

struct MembersAwaited {
    enum class Of : uint8_t { write, last_error, read, log };

    Of of = Of::write;
    oplog::Position position;  // the entry that they have to have
    replica::Need need;
    int64_t limit_ms = 0;      // 0: none
    bool is_numbered = false;  // a client that gets an error sends the write again
    int64_t cursor = 0;        // ends if the wait fails, since its batch is lost; 0: none
    int32_t rollbacks = 0;     // of a read or the log: replica::Member::rollbacks() before it
};

// Whether the concern is of other members at all; what is written to `local` has no entry.
bool asks_for_members(const Invocation& invocation, const WriteConcern& concern);
// REQUIRES: asks_for_members(). Throws base::Error 79 or 100 where the configuration has no such
// members. A client that gives a time by the old messages waits for these, too, as long.
MembersAwaited members_of(const Invocation& invocation, const WriteConcern& concern,
                          MembersAwaited::Of of, oplog::Position position);

// Throws base::Error 10107, 72 or 148 where this member cannot serve such a read.
void check_read_level(const Invocation& invocation);
// The read is done: returns who has to have what it may have seen, which is of this member's log.
MembersAwaited members_of_read(const Invocation& invocation, int64_t cursor);

// {code, codeName, errmsg} and more, as writeConcernError.
void append_concern_error(int code, const char* text, bool timed_out, bson::Builder& out);

}  // namespace command

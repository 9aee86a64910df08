// command/request/run_command.h - running one command: the fields that any command may carry, the
// checks that all share, the reply, and how failures are reported.
#pragma once

#include "base/error.h"
#include "bson/builder.h"
#include "command/request/invocation.h"

namespace command {

// The way in which its request goes on.
enum class Outcome {
    reply,             // the reply is complete
    close,             // close the connection, without a reply
    wait_for_commit,   // the reply is complete, and may leave after the next group commit
    wait_for_members,  // the same, once Invocation::awaited is satisfied
    wait_for_data,     // no reply yet; see DataWait
    wait_for_lock,     // nothing done yet; see should_defer
    wait_for_attempt,  // the same; see Login::attempt_at()
    reply_late,        // the reply is complete, and leaves at Client::reply_at()
};

// Runs the command that the first field of the body names. Its reply document, or that of its
// failure, is left at the end of `reply`. Throws nothing that a client could cause.
Outcome run_command(Invocation& invocation, bson::Buffer& reply);

// Reads what every command may carry into the invocation, and holds all other fields against the
// command's table (fields.h). Returns whether help was asked for. Throws base::Error.
bool take_fields(Invocation& invocation, const Command& command);

// An error as its client knows it: by OP_MSG with today's code, where the old server had but a
// number of its own, and with today's text, where programs read it.
base::Error for_client(const Invocation& invocation, const base::Error& error);

// { ok: 0, errmsg, code, codeName } and the details of the error.
void append_error(bson::Builder& out, const base::Error& error);

}  // namespace command

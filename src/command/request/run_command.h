// command/request/run_command.h - running one command: the fields that any command may carry, the
// checks that all share, the reply, and how failures are reported.
#pragma once

#include "base/error.h"
#include "bson/builder.h"
#include "command/request/invocation.h"

namespace command {

// Runs the command that the first field of the body names. Its reply document, or that of its
// failure, is left at the end of `reply`, and the invocation says how it waits. Throws nothing that
// a client could cause.
void run_command(Invocation& invocation, bson::Buffer& reply);

// Makes the command what currentOp shows of its client, from here on.
void describe(Invocation& invocation, const Command& command);

// Reads what every command may carry into the invocation, and holds all other fields against the
// command's table (fields.h). Returns whether help was asked for. Throws base::Error.
bool take_fields(Invocation& invocation, const Command& command);

// An error as its client knows it: by OP_MSG with today's code, where the old server had but a
// number of its own, and with today's text, where programs read it.
base::Error for_client(const Invocation& invocation, const base::Error& error);

// { ok: 0, errmsg, code, codeName } and the details of the error.
void append_error(bson::Builder& out, const base::Error& error);

}  // namespace command

// command/request/run_command.h - running one command: the fields that any command may carry, the
// checks that all share, the reply, and how failures are reported.
#pragma once

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

}  // namespace command

// command/scripts/inner_command.h - commands that another one runs on its way, with the rights of
// its client: by those a script reads and writes.
#pragma once

#include <string_view>

#include "bson/builder.h"
#include "command/request/invocation.h"

namespace command {

// Runs a command as an old message of the client would, and returns the reply, also that of a
// failure. It counts towards the operation of `outer`, whose time limit alone holds for it; it
// waits for no commit. Throws what ends that operation.
bson::Object run_inner_command(Invocation& outer, std::string_view db, bson::Doc command);

// The same for what has to succeed: throws the error of the reply.
bson::Object run_inner_command_or_throw(Invocation& outer, std::string_view db, bson::Doc command);

}  // namespace command

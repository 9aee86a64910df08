// command/observe/secrets.h - which requests hold secrets, and what is shown of those: in the log,
// in system.profile, by currentOp, in an error.
#pragma once

#include <string_view>

#include "bson/builder.h"

namespace command {

// Whether the documents of a collection, system.users, are never shown in requests: they hold what
// passwords are checked with. The commands that do are in command/request/secret_commands.h.
bool holds_users(std::string_view ns);

// Returns the part that is shown of a request with secrets: its first field, and, if that is a
// document, only the first field of it.
bson::Object first_field(bson::Doc request);

}  // namespace command

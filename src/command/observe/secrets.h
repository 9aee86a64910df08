// command/observe/secrets.h - which requests hold secrets, and what is shown of those: in the log,
// in system.profile, by currentOp, in an error.
#pragma once

#include <string_view>

#include "bson/builder.h"

namespace command {

// Whether the documents of a collection, system.users, are never shown in requests: they hold what
// passwords are checked with. Which commands do: command/request/secret_commands.h.
bool holds_users(std::string_view ns);

// What is shown of a request with secrets: its first field, and of a document in it, that one's
// first field.
bson::Object first_field(bson::Doc request);

}  // namespace command

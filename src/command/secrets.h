// command/secrets.h - which requests hold secrets, and what is shown of those: in the log, in
// system.profile, by currentOp, in an error.
#pragma once

#include <string_view>

#include "bson/builder.h"

namespace command {

struct Command;
struct Invocation;

// Whether the documents of a collection, system.users, are never shown in requests: they hold what
// passwords are checked with.
bool holds_users(std::string_view ns);

// Whether a command does: by what it is (kHidesBody), by the login in a greeting, as it is about a
// system.users, or as it holds another command that does or an unknown one: a mistyped name is no
// reason to show a password.
bool holds_secrets(const Invocation& invocation, const Command& command);

// What is shown of a request with secrets: its first field, and of a document in it, that one's
// first field.
bson::Object first_field(bson::Doc request);

}  // namespace command

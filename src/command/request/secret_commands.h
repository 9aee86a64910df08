// command/request/secret_commands.h - which commands hold secrets. command/observe/secrets.h says
// what is shown of those.
#pragma once

#include "command/request/command.h"
#include "command/request/invocation.h"

namespace command {

// Whether a command holds secrets: by what it is (kHidesBody), by the login in a greeting, as it is
// about a system.users, or as it holds another command that does or an unknown one: a mistyped name
// is no reason to show a password.
bool holds_secrets(const Invocation& invocation, const Command& command);

}  // namespace command

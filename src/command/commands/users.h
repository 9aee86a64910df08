// command/commands/users.h - checked alike by all commands about users and roles.
#pragma once

#include "command/request/invocation.h"

namespace command {

// Refuses fields that the command does not know, by the old messages too. Throws base::Error 2.
void check_user_fields(const Invocation& invocation);

}  // namespace command

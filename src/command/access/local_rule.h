// command/access/local_rule.h - who may change the server itself: stop it, lock it, set its
// parameters.
//
// The one place that decides. Commands with kLocalOnly come here before they run; what asks for
// such a thing in another way (an option of a command, an old message) calls it too.
#pragma once

#include <string_view>

#include "wire/handler.h"

namespace command {

// Whether the client has a local connection, loopback or Unix socket, or the parameter
// remoteAdministration allows others.
bool may_administer(const wire::ConnectionInfo& client);
// Throws base::Error 13 if not. `what` begins the text.
void require_local(const wire::ConnectionInfo& client, std::string_view what);

}  // namespace command

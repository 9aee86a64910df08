// command/request/stable_api.h - API version 1: what later servers promise to keep as it is. A
// client that asks for nothing else (apiStrict) is refused the rest.
#pragma once

#include "command/request/invocation.h"

namespace command {

// Throws base::Error 323 where the command, a field or a stage of it is not in API version 1; of an
// explain, also where the explained command is not.
void check_stable_api(const Invocation& invocation, const Command& command);

}  // namespace command

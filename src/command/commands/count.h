// command/commands/count.h - what explain of a count shares with it.
#pragma once

#include <cstdint>

#include "command/request/invocation.h"

namespace command {

// Its limit, which means the same below 0 as above; 0: none.
int64_t count_limit(bson::Doc count);
// Throws base::Error where it is no number, or below 0.
int64_t count_skip(const Invocation& count);

}  // namespace command

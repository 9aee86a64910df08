// command/commands/aggregate.h - running aggregation pipelines over collections (wire
// spec 3.7, 4.7).
#pragma once

#include "command/request/invocation.h"

namespace command {

// Replies how an aggregate command (in invocation.body) would be executed.
void explain_aggregate(Invocation& invocation);

}  // namespace command

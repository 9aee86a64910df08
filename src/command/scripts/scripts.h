// command/scripts/scripts.h - the commands that run JavaScript: mapReduce, group, eval.
//
// A script runs without a lock: what it reads comes in batches, by commands of its client. Only
// eval holds one, if it is not told nolock, as the old server did.
#pragma once

#include "command/request/command.h"

namespace command {

// Each is defined by the file of that name.
Family map_reduce_commands();
Family group_commands();
Family eval_commands();

}  // namespace command

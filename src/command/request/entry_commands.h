// command/request/entry_commands.h - the commands that a primary's log tells of, run as a client
// would send them (oplog/apply.h): they end cursors and counters as well.
#pragma once

#include <string_view>

#include "bson/view.h"
#include "command/request/service.h"

namespace command {

// No lock. Throws the base::Error by which it fails.
void run_entry_command(Service& service, std::string_view db, bson::Doc command);

}  // namespace command

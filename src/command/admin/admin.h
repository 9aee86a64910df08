// command/admin/admin.h - commands that operate a server: flushing, locking and copying its files,
// shutting it down, the profiler's level, compacting, checking and repairing what it keeps.
#pragma once

#include "command/request/command.h"

namespace command {

// Each is defined by the file of that name.
Family maintenance_commands();
Family durability_commands();
Family backup_commands();

}  // namespace command

// command/report/reports.h - what the server tells about itself: what it is, to whom it
// speaks and where it runs, its
// parameters, its operations, statistics of server, databases and collections. One table of
// commands in each file of this room; command/commands/ has the one list of all.
#pragma once

#include "command/request/command.h"

namespace command {

// Each is defined by the file of that name.
Family handshake_commands();
Family cluster_commands();
Family diagnostic_commands();
Family parameter_commands();
Family stats_commands();
Family server_status_commands();
Family current_op_commands();

}  // namespace command

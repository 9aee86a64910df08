// command/commands/families.h - the commands of this server: one table in each file of this room,
// and the one list of them, which server/ hands to the Service.
#pragma once

#include <span>

#include "command/request/command.h"

namespace command {

std::span<const Family> all_families();

// The families of this room; each is defined by the file of that name. Others are those of
// command/report/reports.h, command/admin/admin.h, command/users/users.h and
// command/scripts/scripts.h.
Family authentication_commands();
Family last_error_commands();
Family write_commands();
Family bulk_write_commands();
Family find_and_modify_commands();
Family find_commands();
Family count_commands();
Family aggregate_commands();
Family explain_commands();
Family collection_commands();
Family rename_commands();
Family index_commands();
Family database_commands();
Family capped_commands();
Family hidden_commands();
Family user_info_commands();
Family refused_commands();
Family parallel_scan_commands();
Family session_commands();
Family replica_set_commands();
Family apply_ops_commands();
Family geo_commands();

}  // namespace command

#include "command/commands/families.h"

#include <vector>

#include "command/admin/admin.h"
#include "command/report/reports.h"
#include "command/scripts/scripts.h"
#include "command/users/users.h"

namespace command {

std::span<const Family> all_families() {
    static const std::vector<Family> all = {
        handshake_commands(),  authentication_commands(),  diagnostic_commands(),
        parameter_commands(),  last_error_commands(),      write_commands(),
        bulk_write_commands(), find_and_modify_commands(), find_commands(),
        count_commands(),      aggregate_commands(),       explain_commands(),
        collection_commands(), rename_commands(),          index_commands(),
        database_commands(),   capped_commands(),          maintenance_commands(),
        stats_commands(),      server_status_commands(),   current_op_commands(),
        durability_commands(), backup_commands(),          hidden_commands(),
        user_commands(),       user_info_commands(),       role_commands(),
        refused_commands(),    parallel_scan_commands(),   cluster_commands(),
        session_commands(),    replica_set_commands(),     apply_ops_commands(),
        map_reduce_commands(), group_commands(),           eval_commands(),
        geo_commands(),
    };
    return all;
}

}  // namespace command

// Commands that other servers of a cluster send, with the answers of a server that stands alone
// (wire spec 2.2, 7).
#include "base/error.h"
#include "command/report/reports.h"
#include "command/request/invocation.h"

namespace command {

namespace {

// A server that finds its own id at an address has found itself.
void run_is_self(Invocation& invocation) {
    static const bson::ObjectId self = bson::new_object_id();
    invocation.reply->append("id", self);
}

void run_get_shard_version(Invocation& invocation) {
    const bson::Element ns = invocation.first();
    if (!ns.is_string() || ns.as_string().empty())
        base::fail(base::kBadValue, "getShardVersion takes the full name of a collection");
    invocation.reply->append("configServer", "")
        .append_timestamp("global", 0)
        .append("inShardedMode", false)
        .append_timestamp("mine", 0);
}

void run_get_shard_map(Invocation& invocation) {
    invocation.reply->sub_object("map").finish();
}

void run_auth_schema_upgrade(Invocation& invocation) {
    invocation.reply->append("done", true);
}

constexpr Field kVersionFields[] = {
    without_effect("fullMetadata", types::flag),
};
// The command has nothing to do.
constexpr Field kUpgradeFields[] = {
    without_effect("maxSteps", types::number),
    without_effect("upgradeShardServers", types::flag),
};

constexpr Command kCommands[] = {
    {"_isSelf", "", 0, LockKind::none, "an id of this process: is an address my own?", run_is_self,
     needs::login},
    {"getShardVersion", "", kAdminOnly | kOnAnyMember, LockKind::write,
     "{ getShardVersion: 'db.coll' }: nothing is sharded", run_get_shard_version, needs::login,
     kVersionFields},
    {"getShardMap", "", kAdminOnly, LockKind::none, "shards known here; there are none",
     run_get_shard_map, needs::on_cluster(auth::action::getShardMap)},
    {"authSchemaUpgrade", "", kAdminOnly, LockKind::write,
     "there are no users whose documents could be older", run_auth_schema_upgrade,
     needs::on_cluster(auth::action::invalidateUserCache), kUpgradeFields},
};

}  // namespace

Family cluster_commands() {
    return kCommands;
}

}  // namespace command

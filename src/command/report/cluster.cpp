// Commands that other servers of a cluster send, with the answers of a server that stands alone
// (wire spec 2.2, 7).
#include <memory>

#include "base/error.h"
#include "base/milliseconds.h"
#include "bson/builder.h"
#include "command/report/reports.h"
#include "command/request/invocation.h"
#include "replica/config.h"
#include "replica/member.h"

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

// The concerns of requests that name none: the reader's is always "local", the writer's what the
// configuration of the set says.
void run_get_default_concerns(Invocation& invocation) {
    if (invocation.msg == nullptr)
        base::fail(base::kCommandNotFound, "no such cmd: {}", invocation.name);
    const replica::Member* const member = invocation.service.context().member;
    if (member == nullptr)
        base::fail(51300, "'getDefaultRWConcern' is not supported on standalone nodes.");
    const std::shared_ptr<const replica::Config> config = member->config();
    const bson::Doc given = config == nullptr ? bson::Doc() : config->default_concern.doc();
    {
        bson::Builder concern = invocation.reply->sub_object("defaultWriteConcern");
        if (const bson::Element w = given["w"])
            concern.append(w);
        else
            concern.append("w", 1);
        concern.append("wtimeout", given["wtimeout"].to_int32());
        if (given["j"]) concern.append("j", given["j"].truthy());
    }
    invocation.reply->append("defaultReadConcern", bson::make("level", "local"))
        .append("defaultWriteConcernSource", "implicit")
        .append("defaultReadConcernSource", "implicit")
        .append_date("localUpdateWallClockTime", base::ms_since_1970());
}

constexpr Field kVersionFields[] = {
    without_effect("fullMetadata", types::flag),
};
constexpr Field kConcernFields[] = {
    without_effect("inMemory", types::flag),
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
    {"getDefaultRWConcern", "", kAdminOnly | kOnAnyMember, LockKind::none,
     "{ getDefaultRWConcern: 1 }: the concerns of requests without one", run_get_default_concerns,
     needs::login, kConcernFields},
    {"authSchemaUpgrade", "", kAdminOnly, LockKind::write,
     "there are no users whose documents could be older", run_auth_schema_upgrade,
     needs::on_cluster(auth::action::invalidateUserCache), kUpgradeFields},
};

}  // namespace

Family cluster_commands() {
    return kCommands;
}

}  // namespace command

// replSetInitiate, replSetGetConfig, replSetGetStatus and their like: what the shells' rs.* asks of
// a member of a replica set. A server without --replSet answers all with 76.
#include "base/error.h"
#include "base/milliseconds.h"
#include "command/commands/families.h"
#include "command/commands/member_report.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"

namespace command {

namespace {

constexpr int32_t kHealthy = 1;

replica::Member& member_of(Invocation& invocation) {
    replica::Member* const member = invocation.service.context().member;
    if (member == nullptr) base::fail(base::kNoReplicationEnabled, "not running with --replSet");
    return *member;
}

void run_initiate(Invocation& invocation) {
    replica::Member& member = member_of(invocation);
    const bson::Element given = invocation.first();
    const bool by_default = !given.is_object() || given.as_doc().empty();
    member.initiate(by_default ? bson::Doc() : given.as_doc());
    if (!by_default) return;
    invocation.reply
        ->append("info2", "no configuration specified. Using a default configuration for the set")
        .append("me", member.needed_config()->host);
}

void run_get_config(Invocation& invocation) {
    invocation.reply->append("config", member_of(invocation).needed_config()->document);
}

void run_reconfigure(Invocation& invocation) {
    replica::Member& member = member_of(invocation);
    const bson::Element given = invocation.first();
    if (!given.is_object())
        base::fail(base::kInvalidReplicaSetConfig,
                   "replSetReconfig needs a configuration: rs.conf() gives the present one");
    member.reconfigure(given.as_doc(), invocation.body["force"].truthy());
}

// The times of an entry: by the old messages `optime` is its `ts` alone.
void append_times(Invocation& invocation, oplog::Position last, bson::Builder& out) {
    if (invocation.over_msg())
        append_position(out, "optime", last);
    else
        out.append_timestamp("optime", last.ts);
    out.append_date("optimeDate", ms_of(last.ts));
}

void append_members(Invocation& invocation, const replica::Member& member,
                    const replica::Config& config, bson::Builder& out) {
    bson::Builder members = out.sub_array("members");
    bson::Builder self = members.sub_object("0");
    self.append("_id", config.member_id)
        .append("name", config.host)
        .append("health", static_cast<double>(kHealthy))
        .append("state", static_cast<int32_t>(member.state()))
        .append("stateStr", replica::name_of(member.state()))
        .append("uptime",
                static_cast<int32_t>(base::ms_since(invocation.service.context().started) / 1000));
    append_times(invocation, member.last(), self);
    self.append("syncSourceHost", "")
        .append("syncSourceId", int32_t{-1})
        .append("infoMessage", "")
        .append_timestamp("electionTime", member.election_ts())
        .append_date("electionDate", ms_of(member.election_ts()))
        .append("configVersion", config.version)
        .append("configTerm", config.document["term"].to_int64())
        .append("self", true)
        .append("lastHeartbeatMessage", "");
}

void run_get_status(Invocation& invocation) {
    constexpr int32_t kMajority = 1;
    const replica::Member& member = member_of(invocation);
    const std::shared_ptr<const replica::Config> config = member.needed_config();
    const oplog::Position last = member.last();
    bson::Builder& reply = *invocation.reply;
    reply.append("set", config->set_name)
        .append_date("date", base::ms_since_1970())
        .append("myState", static_cast<int32_t>(member.state()))
        .append("term", last.term)
        .append("syncSourceHost", "")
        .append("syncSourceId", int32_t{-1})
        .append_as("heartbeatIntervalMillis",
                   config->document["settings"].as_doc()["heartbeatIntervalMillis"])
        .append("majorityVoteCount", kMajority)
        .append("writeMajorityCount", kMajority)
        .append("votingMembersCount", kMajority)
        .append("writableVotingMembersCount", kMajority);
    {
        bson::Builder times = reply.sub_object("optimes");
        append_position(times, "appliedOpTime", last);
        times.append_date("lastAppliedWallTime", ms_of(last.ts));
    }
    append_members(invocation, member, *config, reply);
}

void run_step_down(Invocation& invocation) {
    const replica::Member& member = member_of(invocation);
    if (!member.is_primary())
        base::fail(base::kNotWritablePrimary, "not primary so can't step down");
    base::fail(base::kExceededTimeLimit,
               "No electable secondaries caught up: the set has one member, which another cannot "
               "relieve. Stop the server instead (shutdown), also where force was asked for");
}

void run_get_rollback_id(Invocation& invocation) {
    constexpr int32_t kNoneYet = 1;
    member_of(invocation);
    invocation.reply->append("rbid", kNoneYet);
}

// What a secondary is asked for.
void refuse_as_primary(Invocation& invocation) {
    const replica::Member& member = member_of(invocation);
    member.needed_config();
    base::fail(base::kNotSecondary, "{} is for secondaries. This node is in state {}",
               invocation.name, replica::name_of(member.state()));
}

void refuse_other_members(Invocation& invocation) {
    member_of(invocation);
    base::fail(base::kCommandNotSupported,
               "{} is not supported: members send it to each other, and a set has one member here",
               invocation.name);
}

// The first user of a server that asks for a login is a document, which only a primary takes.
bool may_initiate(const Invocation&, const Rights& rights) {
    return rights.may_make_first_user() ||
           (rights.logged_in() && rights.on_cluster(auth::action::replSetConfigure));
}

using auth::action::replSetConfigure;
using auth::action::replSetGetStatus;
using auth::action::replSetStateChange;

constexpr uint32_t kFlags = kAdminOnly | kAnyField;

constexpr Command kCommands[] = {
    {"replSetInitiate", "", kFlags, LockKind::none,
     "{ replSetInitiate: configuration }: make this server the only member of a set", run_initiate,
     needs::decided(may_initiate)},
    {"replSetGetConfig", "", kFlags, LockKind::none, "the configuration of the set", run_get_config,
     needs::on_cluster(replSetGetStatus)},
    {"replSetReconfig", "", kFlags, LockKind::none,
     "{ replSetReconfig: configuration, force: bool }", run_reconfigure,
     needs::on_cluster(replSetConfigure)},
    {"replSetGetStatus", "", kFlags, LockKind::none, "the state of the member", run_get_status,
     needs::on_cluster(replSetGetStatus)},
    {"replSetStepDown", "", kFlags, LockKind::none, "fails: there is no other member",
     run_step_down, needs::on_cluster(replSetStateChange)},
    {"replSetGetRBID", "", kFlags, LockKind::none, "how often a rollback was made",
     run_get_rollback_id, needs::login},
    {"replSetFreeze", "", kFlags, LockKind::none, "fails: for secondaries", refuse_as_primary,
     needs::on_cluster(replSetStateChange)},
    {"replSetMaintenance", "", kFlags, LockKind::none, "fails: for secondaries", refuse_as_primary,
     needs::on_cluster(replSetStateChange)},
    {"replSetSyncFrom", "", kFlags, LockKind::none, "fails: for secondaries", refuse_as_primary,
     needs::on_cluster(replSetStateChange)},
    {"replSetElect", "", kFlags, LockKind::none, "fails: of other members", refuse_other_members,
     needs::login},
    {"replSetFresh", "", kFlags, LockKind::none, "fails: of other members", refuse_other_members,
     needs::login},
    {"replSetHeartbeat", "", kFlags, LockKind::none, "fails: of other members",
     refuse_other_members, needs::login},
    {"replSetUpdatePosition", "", kFlags, LockKind::none, "fails: of other members",
     refuse_other_members, needs::login},
    {"replSetTest", "", kFlags, LockKind::none, "fails: for tests of the original server",
     refuse_other_members, needs::login},
};

}  // namespace

Family replica_set_commands() {
    return kCommands;
}

}  // namespace command

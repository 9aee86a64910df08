// replSetInitiate, replSetGetConfig, replSetGetStatus and their like: what the shells' rs.* asks of
// a member of a replica set. A server without --replSet answers all with 76.
#include <algorithm>
#include <chrono>
#include <limits>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/milliseconds.h"
#include "command/commands/families.h"
#include "command/report/member_report.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"
#include "replica/elections.h"

namespace command {

namespace {

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
        .append("me", member.needed_config()->own().host);
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
void append_times(dialect::Dialect dialect, oplog::Position last, bson::Builder& out) {
    if (dialect.has(dialect::kOptimesHaveTerms))
        oplog::append_position(out, "optime", last);
    else
        out.append_timestamp("optime", last.ts);
    out.append_date("optimeDate", ms_of(last.ts));
}

int32_t seconds_since(int64_t ms) {
    return static_cast<int32_t>((base::ms_since_1970() - ms) / 1000);
}

void append_sync_source(const replica::Config& config, const std::string& host,
                        bson::Builder& out) {
    const auto found = std::ranges::find(config.members, host, &replica::MemberConfig::host);
    if (!host.empty()) out.append("syncingTo", host);
    out.append("syncSourceHost", host)
        .append("syncSourceId", found == config.members.end() ? int32_t{-1} : found->id);
}

void append_election(uint64_t election_ts, bson::Builder& out) {
    out.append_timestamp("electionTime", election_ts)
        .append_date("electionDate", ms_of(election_ts));
}

void append_self(Invocation& invocation, const replica::Member& member,
                 const replica::Config& config, bson::Builder& out) {
    out.append("health", 1.0)
        .append("state", static_cast<int32_t>(member.role().state()))
        .append("stateStr", replica::name_of(member.role().state()))
        .append("uptime",
                static_cast<int32_t>(base::ms_since(invocation.service.context().started) / 1000));
    append_times(invocation.dialect(), member.last(), out);
    append_sync_source(config, member.following().syncing_to(), out);
    out.append("infoMessage", member.message());
    if (member.role().is_primary()) append_election(member.election_ts(), out);
    out.append("configVersion", config.version)
        .append("configTerm", config.document["term"].to_int64())
        .append("self", true)
        .append("lastHeartbeatMessage", "");
}

// `reached`: what it has reported to this server, if that is the primary; zeros: nothing.
void append_other(dialect::Dialect dialect, const replica::Peer& peer,
                  const replica::Reached& reached, const replica::Config& config,
                  bson::Builder& out) {
    out.append("health", peer.is_up ? 1.0 : 0.0)
        .append("state", static_cast<int32_t>(peer.state))
        .append("stateStr", replica::name_of(peer.state))
        .append("uptime", peer.is_up ? seconds_since(peer.up_since_ms) : int32_t{0});
    // One that copies the data anew has lost what it has reported.
    const bool follows = peer.state == replica::State::secondary;
    append_times(dialect, follows ? std::max(peer.last, reached.applied) : peer.last, out);
    if (follows && reached.durable.ts != 0 && dialect.has(dialect::kOptimesHaveTerms)) {
        oplog::append_position(out, "optimeDurable", reached.durable);
        out.append_date("optimeDurableDate", ms_of(reached.durable.ts));
    }
    out.append_date("lastHeartbeat", peer.last_answer_ms)
        .append_date("lastHeartbeatRecv", peer.last_question_ms)
        .append("pingMs", peer.round_trip_ms)
        .append("lastHeartbeatMessage", peer.message);
    append_sync_source(config, peer.syncing_to, out);
    if (peer.state == replica::State::primary) append_election(peer.election_ts, out);
    out.append("configVersion", peer.config_version);
}

void append_members(Invocation& invocation, const replica::Member& member,
                    const replica::Config& config, bson::Builder& out) {
    DCHECK(config.own_index < config.members.size());
    bson::Builder members = out.sub_array("members");
    for (size_t i = 0; i < config.members.size(); ++i) {
        bson::Builder each = members.sub_object(bson::IndexName(static_cast<uint32_t>(i)).view());
        each.append("_id", config.members[i].id).append("name", config.members[i].host);
        if (i == config.own_index)
            append_self(invocation, member, config, each);
        else
            append_other(invocation.dialect(), member.peers().peer(config.members[i].host),
                         member.progress().reached_by(config.members[i].host), config, each);
    }
}

void run_get_status(Invocation& invocation) {
    const replica::Member& member = member_of(invocation);
    const std::shared_ptr<const replica::Config> config = member.needed_config();
    const oplog::Position last = member.last();
    const int32_t majority = config->majority();
    DCHECK(majority <= config->votes());
    bson::Builder& reply = *invocation.reply;
    reply.append("set", config->set_name)
        .append_date("date", base::ms_since_1970())
        .append("myState", static_cast<int32_t>(member.role().state()))
        .append("term", member.elections() == nullptr ? last.term : member.elections()->term());
    append_sync_source(*config, member.following().syncing_to(), reply);
    reply
        .append_as("heartbeatIntervalMillis",
                   config->document["settings"].as_doc()["heartbeatIntervalMillis"])
        .append("majorityVoteCount", majority)
        .append("writeMajorityCount", majority)
        .append("votingMembersCount", int32_t{config->votes()})
        .append("writableVotingMembersCount", int32_t{config->votes()});
    {
        bson::Builder times = reply.sub_object("optimes");
        oplog::append_position(times, "lastCommittedOpTime", member.progress().committed());
        oplog::append_position(times, "appliedOpTime", last);
        oplog::append_position(times, "durableOpTime", member.durable());
        times.append_date("lastAppliedWallTime", ms_of(last.ts));
    }
    if (member.elections() != nullptr) member.elections()->append_status(reply);
    append_members(invocation, member, *config, reply);
}

void run_heartbeat(Invocation& invocation) {
    member_of(invocation).peers().answer(invocation.body, *invocation.reply);
}

void run_update_position(Invocation& invocation) {
    member_of(invocation).take_report(invocation.body);
}

// Whole seconds, as the documented server reads them; `usual` where the field is missing.
int64_t seconds_of(const bson::Element& e, int64_t usual) {
    if (e.missing()) return usual;
    if (!e.is_number() && e.type() != bson::Type::boolean)
        base::fail(base::kTypeMismatch, "{} has to be a number of seconds", e.name());
    const int64_t seconds = e.is_number() ? e.to_int64() : 0;
    if (seconds < 0 || seconds > std::numeric_limits<int32_t>::max())
        base::fail(base::kBadValue, "{} has to be a positive number of seconds", e.name());
    return seconds;
}

void run_step_down(Invocation& invocation) {
    constexpr int64_t kUsualSeconds = 60;
    constexpr int64_t kUsualCatchUpSeconds = 10;
    replica::Member& member = member_of(invocation);
    const int64_t given = seconds_of(invocation.first(), 0);
    const int64_t seconds = given == 0 ? kUsualSeconds : given;
    const int64_t limit = seconds_of(invocation.body["secondaryCatchUpPeriodSecs"],
                                     std::min(seconds, kUsualCatchUpSeconds));
    if (limit > seconds)
        base::fail(base::kBadValue,
                   "stepdown period must be longer than secondaryCatchUpPeriodSecs");
    if (!member.role().is_primary())
        base::fail(base::kNotWritablePrimary, "not primary so can't step down");
    if (invocation.body["force"].truthy())
        base::fail(base::kIllegalOperation,
                   "force is not supported: without a member that has all, what the others lack "
                   "would be lost. Stop the server instead (shutdown)");
    DCHECK(limit >= 0 && seconds > 0);
    member.step_down(std::chrono::seconds(limit), seconds);
}

void run_get_rollback_id(Invocation& invocation) {
    invocation.reply->append("rbid", 1 + member_of(invocation).rollbacks());
}

// Refuses a command that is for secondaries.
void refuse_as_primary(Invocation& invocation) {
    const replica::Member& member = member_of(invocation);
    member.needed_config();
    if (member.role().state() == replica::State::secondary)
        base::fail(base::kCommandNotSupported,
                   "{} is not supported: the configuration says whom this member follows",
                   invocation.name);
    base::fail(base::kNotSecondary, "{} is for secondaries. This node is in state {}",
               invocation.name, replica::name_of(member.role().state()));
}

// For so many seconds it does not stand; 0: it may from now on.
void run_freeze(Invocation& invocation) {
    const replica::Member& member = member_of(invocation);
    if (member.elections() == nullptr || member.role().is_primary())
        return refuse_as_primary(invocation);
    member.needed_config();
    member.elections()->freeze(seconds_of(invocation.first(), 0));
}

void refuse_other_members(Invocation& invocation) {
    member_of(invocation);
    base::fail(base::kCommandNotSupported, "{} is not supported: there are no elections",
               invocation.name);
}

void refuse_resize(Invocation& invocation) {
    member_of(invocation);
    base::fail(base::kCommandNotSupported,
               "replSetResizeOplog is not supported: the log of writes keeps the size that "
               "oplogSize gave it when it was made");
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
     "{ replSetInitiate: configuration }: make this server the primary of a set", run_initiate,
     needs::decided(may_initiate)},
    {"replSetGetConfig", "", kFlags, LockKind::none, "the configuration of the set", run_get_config,
     needs::on_cluster(replSetGetStatus)},
    {"replSetReconfig", "", kFlags, LockKind::none,
     "{ replSetReconfig: configuration, force: bool }", run_reconfigure,
     needs::on_cluster(replSetConfigure)},
    {"replSetGetStatus", "", kFlags, LockKind::none, "the state of the member", run_get_status,
     needs::on_cluster(replSetGetStatus)},
    {"replSetStepDown", "", kFlags, LockKind::none,
     "{ replSetStepDown: seconds, secondaryCatchUpPeriodSecs }: another member is to be the "
     "primary",
     run_step_down, needs::on_cluster(replSetStateChange)},
    {"replSetGetRBID", "", kFlags, LockKind::none, "how often a rollback was made",
     run_get_rollback_id, needs::login},
    {"replSetFreeze", "", kFlags, LockKind::none,
     "{ replSetFreeze: seconds }: this secondary does not stand in elections", run_freeze,
     needs::on_cluster(replSetStateChange)},
    {"replSetMaintenance", "", kFlags, LockKind::none, "fails: for secondaries", refuse_as_primary,
     needs::on_cluster(replSetStateChange)},
    {"replSetSyncFrom", "", kFlags, LockKind::none, "fails: for secondaries", refuse_as_primary,
     needs::on_cluster(replSetStateChange)},
    {"replSetElect", "", kFlags, LockKind::none, "fails: of other members", refuse_other_members,
     needs::login},
    {"replSetFresh", "", kFlags, LockKind::none, "fails: of other members", refuse_other_members,
     needs::login},
    {"replSetHeartbeat", "", kFlags, LockKind::none, "of other members: the state of this one",
     run_heartbeat, needs::on_cluster(auth::action::internal)},
    {"replSetUpdatePosition", "", kFlags | kNotCounted, LockKind::none,
     "of other members: what they have", run_update_position,
     needs::on_cluster(auth::action::internal)},
    {"replSetStepUp", "", kFlags, LockKind::none, "fails: there are no elections",
     refuse_other_members, needs::on_cluster(replSetStateChange)},
    {"replSetAbortPrimaryCatchUp", "", kFlags, LockKind::none, "fails: there are no elections",
     refuse_other_members, needs::on_cluster(replSetStateChange)},
    {"replSetRequestVotes", "", kFlags, LockKind::none, "fails: of other members",
     refuse_other_members, needs::on_cluster(auth::action::internal)},
    {"replSetResizeOplog", "", kFlags, LockKind::none, "fails: the log keeps its size",
     refuse_resize, needs::on_cluster(replSetConfigure)},
    {"replSetTest", "", kFlags, LockKind::none, "fails: for tests of the original server",
     refuse_other_members, needs::login},
};

}  // namespace

Family replica_set_commands() {
    return kCommands;
}

}  // namespace command

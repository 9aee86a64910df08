#include "command/request/member_state.h"

#include <algorithm>

#include "base/error.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"
#include "replica/member.h"

namespace command {

namespace {

constexpr int kFirstWithTopologyVersion = 9;  // of wire versions

bool is_closed(const ServerContext& context, std::string_view db) {
    return context.member != nullptr && !context.member->role().is_primary() && db != "local";
}

}  // namespace

void check_takes_writes(const ServerContext& context, std::string_view db,
                        dialect::Dialect dialect) {
    if (context.member != nullptr && !context.member->role().takes_writes() && db != "local")
        base::fail(base::kNotWritablePrimary, "{}",
                   dialect.has(dialect::kTextsOfToday) ? "not primary" : "not master");
}

void check_takes_reads(const ServerContext& context, std::string_view db, bool secondary_ok,
                       dialect::Dialect dialect) {
    if (!is_closed(context, db)) return;
    const bool today = dialect.has(dialect::kTextsOfToday);
    if (!secondary_ok)
        base::fail(base::kNotPrimaryNoSecondaryOk, "{}",
                   today ? "not primary and secondaryOk=false" : "not master and slaveOk=false");
    if (context.member->role().state() == replica::State::secondary) return;
    base::fail(base::kNotPrimaryOrSecondary, "{}",
               today ? "node is not in primary or recovering state"
                     : "not master or secondary; cannot currently read from this replSet member");
}

void check_member_state(const Invocation& invocation, const Command& command) {
    const ServerContext& context = invocation.service.context();
    if (context.member == nullptr || (command.flags & kOnAnyMember) != 0) return;
    const dialect::Dialect dialect = invocation.dialect();
    if (command.lock == LockKind::write)
        check_takes_writes(context, invocation.db, dialect);
    else if (command.lock == LockKind::read)
        check_takes_reads(context, invocation.db, invocation.secondary_ok, dialect);
}

bool allows_secondary(bson::Doc request) {
    const bson::Element preference = request["$readPreference"];
    if (!preference.is_object()) return false;
    const bson::Element mode = preference.as_doc()["mode"];
    return mode.is_string() && mode.as_string() != "primary";
}

TopologyVersion topology_version(const ServerContext& context) {
    static const bson::ObjectId kProcess = bson::new_object_id();
    return {kProcess, context.member == nullptr ? 0 : context.member->news().count()};
}

bool tells_topology_version(const ServerContext& context) {
    return context.max_wire_version >= kFirstWithTopologyVersion;
}

void append_topology_version(const ServerContext& context, const TopologyVersion& version,
                             bson::Builder& reply) {
    if (!tells_topology_version(context)) return;
    reply.sub_object("topologyVersion")
        .append("processId", version.process)
        .append("counter", version.counter);
}

void append_state_of_error(const ServerContext& context, int code, bson::Builder& reply) {
    constexpr int kOfState[] = {
        base::kPrimarySteppedDown,      base::kNotWritablePrimary,
        base::kInterruptedAtShutdown,   base::kInterruptedDueToReplStateChange,
        base::kNotPrimaryNoSecondaryOk, base::kNotPrimaryOrSecondary};
    if (context.member == nullptr || std::ranges::find(kOfState, code) == std::end(kOfState))
        return;
    const replica::Role& role = context.member->role();
    if (role.is_primary() && !role.is_stepping_down()) return;
    append_topology_version(context, topology_version(context), reply);
}

}  // namespace command

#include "command/request/member_state.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/boot_clock.h"
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

bool awaits_news(Invocation& invocation, int64_t known, std::chrono::milliseconds most) {
    sched::Operation::check();  // a shutdown does not wait for it
    DataWait& wait = invocation.client.data_wait();
    if (!wait.is_retry()) wait.set_deadline(sched::Operation::Clock::now() + most);
    if (!wait.may_wait_longer()) return false;
    if (replica::Member* const member = invocation.service.context().member) {
        std::shared_ptr<void> watch = member->news().watch(known, wait.begin());
        if (watch == nullptr) {
            wait.end();
            return false;
        }
        wait.hold(std::move(watch));
    }
    invocation.suspension = Suspension::until_data(wait.deadline());
    return true;
}

bool awaits_heir(Invocation& invocation, const Command& command) {
    replica::Member* const member = invocation.service.context().member;
    const int64_t due_ms = member == nullptr ? 0 : member->role().heir_due_ms();
    if (due_ms == 0 || (command.flags & kOnAnyMember) != 0 || invocation.db == "local" ||
        command.lock == LockKind::none)
        return false;
    const auto most =
        std::chrono::milliseconds(std::max<int64_t>(due_ms - base::ms_of_boot_clock(), 0));
    for (;;) {
        const int64_t known = member->news().count();
        const bool is_served = command.lock == LockKind::read &&
                               (invocation.secondary_ok || member->role().is_primary());
        if (is_served || member->role().heir_due_ms() == 0) return false;
        if (awaits_news(invocation, known, most)) return true;
        if (!invocation.client.data_wait().may_wait_longer()) return false;
    }
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

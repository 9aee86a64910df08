#include "command/request/member_state.h"

#include "base/error.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"
#include "replica/member.h"

namespace command {

namespace {

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

}  // namespace command

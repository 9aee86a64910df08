// Logical sessions by name: begin, keep, end and kill them (wire spec 2.6); and the ends of their
// transactions (command/context/transactions.h).
//
// The entry of the log says that one was committed: a commit that comes again, also to another
// member or after a restart, is answered by it.
#include <algorithm>
#include <optional>

#include "auth/user.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "command/commands/families.h"
#include "command/context/logical_sessions.h"
#include "command/cursor/session_ends.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "oplog/statement.h"
#include "replica/member.h"
#include "sched/tick.h"

namespace command {

namespace {

// The ticks for looking for a session (sched/tick.h).
constexpr int64_t kTicksPerSession = 4;

// The documents of the list that is the command's own value.
template <typename Visit>
void each_of_list(const Invocation& invocation, Visit&& visit) {
    const bson::Element list = invocation.first();
    if (!list.is_array()) base::fail(base::kTypeMismatch, "{} takes an array", invocation.name);
    for (const bson::Element& e : sched::ticked(list.as_doc(), kTicksPerSession)) {
        if (e.type() != bson::Type::object)
            base::fail(base::kTypeMismatch, "{} takes an array of documents", invocation.name);
        visit(e);
    }
}

SessionSet listed_sessions(const Invocation& invocation) {
    SessionSet out;
    each_of_list(invocation, [&](const bson::Element& e) {
        out.ids.insert(SessionId::parse(e, invocation.name, invocation.session_owner()));
    });
    DCHECK(!out.all && out.owners.empty());
    return out;
}

void check_text(const bson::Element& e, std::string_view where) {
    if (!e.is_string())
        base::fail(base::kTypeMismatch, "{} takes documents with 'user' or 'role', and 'db'",
                   where);
}

// { user | role: name, db: name }
void check_owner(const bson::Element& e, std::string_view kind, std::string_view where) {
    if (e.type() != bson::Type::object) check_text({}, where);
    check_text(e.as_doc()[kind], where);
    check_text(e.as_doc()["db"], where);
}

void check_owners(const bson::Element& list, std::string_view kind, std::string_view where) {
    if (!list.is_array())
        base::fail(base::kTypeMismatch, "{}: '{}' must be an array", where, list.name());
    for (const bson::Element& e : list.as_doc())
        check_owner(e, kind, where);
}

// Returns nothing if it is no digest: the session then has no owner.
std::optional<SessionOwner> owner_of(const bson::Element& uid) {
    SessionOwner owner{};
    if (uid.binary_data().size() != owner.size()) return std::nullopt;
    std::ranges::copy(uid.binary_data(), owner.begin());
    return owner;
}

// Adds what one pattern of killAllSessionsByPattern means; `own`: the client.
void add_pattern(const bson::Element& pattern, const SessionOwner& own, std::string_view where,
                 SessionSet& out) {
    DCHECK(pattern.type() == bson::Type::object);
    if (pattern.as_doc().empty()) out.all = true;
    for (const bson::Element& e : pattern.as_doc()) {
        if (e.name() == "lsid") {
            SessionId id = SessionId::parse(e, "lsid");
            const bson::Element uid = e.as_doc()["uid"];
            id.owner = uid ? owner_of(uid).value_or(own) : own;
            out.ids.insert(id);
        } else if (e.name() == "uid") {
            if (e.type() != bson::Type::binary)
                base::fail(base::kTypeMismatch, "{}: 'uid' must be a SHA-256 digest", where);
            if (const auto owner = owner_of(e)) out.owners.insert(*owner);
        } else if (e.name() == "users") {
            check_owners(e, "user", where);
        } else if (e.name() == "roles") {
            check_owners(e, "role", where);
        } else {
            base::fail(40415, "{}: a pattern has an unknown field '{}'", where, e.name());
        }
    }
}

void run_start_session(Invocation& invocation) {
    SessionId id = SessionId::random();
    id.owner = invocation.session_owner();
    invocation.service.sessions().use(id, LogicalSessions::Clock::now());
    id.append_to(*invocation.reply, "id");
    invocation.reply->append("timeoutMinutes",
                             static_cast<int32_t>(LogicalSessions::kTimeout.count()));
}

void run_end_sessions(Invocation& invocation) {
    const SessionSet ended = listed_sessions(invocation);
    invocation.service.session_ends().end(ended);
    replica::Member* const member = invocation.service.context().member;
    if (member == nullptr) return;
    // Their client sends nothing in them again.
    for (const SessionId& id : ended.ids)
        member->retries().forget({id.uuid, id.owner});
}

void run_refresh_sessions(Invocation& invocation) {
    const auto now = LogicalSessions::Clock::now();
    for (const SessionId& id : listed_sessions(invocation).ids)
        invocation.service.sessions().use(id, now);
}

void run_kill_sessions(Invocation& invocation) {
    SessionSet doomed = listed_sessions(invocation);
    if (doomed.ids.empty()) doomed.owners.insert(invocation.session_owner());
    invocation.service.session_ends().kill(doomed, invocation.client);
}

void run_kill_all_sessions(Invocation& invocation) {
    SessionSet doomed{.all = true};
    each_of_list(invocation, [&](const bson::Element& e) {
        doomed.all = false;
        doomed.owners.insert(auth::parse_name(e, invocation.db).digest());
    });
    DCHECK(doomed.all == doomed.owners.empty());
    invocation.service.session_ends().kill(doomed, invocation.client);
}

void run_kill_by_pattern(Invocation& invocation) {
    SessionSet doomed;
    bool any = false;
    each_of_list(invocation, [&](const bson::Element& e) {
        add_pattern(e, invocation.session_owner(), invocation.name, doomed);
        any = true;
    });
    if (!any) doomed.all = true;
    invocation.service.session_ends().kill(doomed, invocation.client);
}

bool is_committed(const Invocation& invocation) {
    const oplog::Done* const done = invocation.turn->answered(0);
    return (done != nullptr && done->op == 'c') || invocation.service.transactions().is_committed(
                                                       *invocation.session, *invocation.txn_number);
}

void run_commit(Invocation& invocation) {
    if (is_committed(invocation)) return;
    const auto use =
        invocation.service.transactions().go_on(*invocation.session, *invocation.txn_number);
    const oplog::Statement statement(invocation.turn, 0);
    use->commit(invocation.client, invocation.service.context().member->log());
}

void run_abort(Invocation& invocation) {
    invocation.skip_concern = true;
    if (is_committed(invocation))
        base::fail(base::kTransactionCommitted, "Transaction {} has been committed.",
                   *invocation.txn_number);
    invocation.service.transactions().give_up(*invocation.session, *invocation.txn_number);
}

constexpr Field kEndFields[] = {without_effect("recoveryToken", types::object, "4.2")};

constexpr Command kCommands[] = {
    {"startSession", "", kNoSession, LockKind::none, "begin a logical session; its id",
     run_start_session, needs::login},
    {"refreshSessions", "", kNoSession, LockKind::none,
     "{ refreshSessions: [ { id: UUID } ] }: they have been used now", run_refresh_sessions,
     needs::login},
    {"endSessions", "", kNoSession, LockKind::none,
     "{ endSessions: [ { id: UUID } ] }: end logical sessions and their cursors", run_end_sessions,
     needs::login},
    {"killSessions", "", kNoSession, LockKind::none,
     "{ killSessions: [ { id: UUID } ] }: end logical sessions, their cursors and what runs in "
     "them; [] means all of one's own",
     run_kill_sessions, needs::login},
    {"killAllSessions", "", kNoSession, LockKind::none,
     "{ killAllSessions: [ { user, db } ] }: killSessions for users; [] means all",
     run_kill_all_sessions, needs::on_cluster(auth::action::killop)},
    {"killAllSessionsByPattern", "", kNoSession, LockKind::none,
     "{ killAllSessionsByPattern: [ { lsid } | { uid } | { users } ] }; [] means all",
     run_kill_by_pattern, needs::on_cluster(auth::action::killop)},
    {"commitTransaction", "", kAdminOnly | kEndsTransaction, LockKind::write,
     "{ commitTransaction: 1, lsid, txnNumber, autocommit: false, writeConcern }", run_commit,
     needs::login, kEndFields},
    {"abortTransaction", "", kAdminOnly | kEndsTransaction, LockKind::write,
     "{ abortTransaction: 1, lsid, txnNumber, autocommit: false }", run_abort, needs::login,
     kEndFields},
};

}  // namespace

Family session_commands() {
    return kCommands;
}

}  // namespace command

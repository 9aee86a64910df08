// getLastError, getPrevError, resetError, forceerror (wire spec 3.9, journal spec 1.9).
#include <algorithm>

#include "base/dcheck.h"
#include "command/commands/families.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "replica/member.h"

namespace command {

namespace {

// Appends an int32 that resume() replaces by the milliseconds the wait for the disk took.
void append_wait(Invocation& invocation, const char* field) {
    invocation.reply->append(field, int32_t{0});
    invocation.client.commit_wait().report_at(invocation.reply->buffer().size() - sizeof(int32_t));
}

void append_connection(Invocation& invocation) {
    invocation.reply->append("connectionId", static_cast<int32_t>(invocation.client.info().number));
}

// Fails with what the write came to beside it. When that failed too, its code is the one to act on.
[[noreturn]] void refuse(Invocation& invocation, const base::Error& error, bool bad_options) {
    const LastError& last = invocation.client.last_error();
    bson::Builder details;
    details.append("connectionId", static_cast<int32_t>(invocation.client.info().number));
    bson::Builder outcome;
    last.append_last(outcome);
    for (const bson::Element& e : outcome.doc())
        if (e.name() != "code") details.append(e);
    if (bad_options) details.append("badGLE", invocation.body);
    const bson::Object fields = details.object();
    throw base::Error(last.failed() ? last.code() : error.code(), error.what(), fields.bytes());
}

// A client that says which write it means asks only for the wait.
bool asks_about_another_write(bson::Doc body) {
    const bson::Type type = body["wOpTime"].type();
    return type == bson::Type::timestamp || type == bson::Type::date;
}

// A client that knows which primary took its write asks that it is still the same.
void check_election(Invocation& invocation) {
    const bson::Element asked = invocation.body["wElectionId"];
    if (asked.type() != bson::Type::object_id) return;
    const replica::Member* const member = invocation.service.context().member;
    if (member == nullptr)
        refuse(invocation,
               base::Error(base::kBadValue, "wElectionId passed but no replication active"), false);
    if (asked.as_object_id() != member->election_id())
        refuse(invocation, base::Error(base::kWriteConcernFailed, "election occurred after write"),
               false);
}

// Returns the write concern of the client, or that of the set where the client gives none.
WriteConcern concern_of(const Invocation& invocation) {
    const replica::Member* const member = invocation.service.context().member;
    const bool gives_one = std::ranges::any_of(
        std::initializer_list<const char*>{"w", "j", "fsync", "wtimeout"},
        [&invocation](const char* field) { return invocation.body.has(field); });
    if (member == nullptr || gives_one || !member->has_default_concern())
        return WriteConcern::parse(invocation.body);
    return WriteConcern::of_set(*member);
}

// The entry that the client asks about; no `ts`: nothing has been written.
// REQUIRES: asks_for_members(), so that there is a member.
oplog::Position asked_position(const Invocation& invocation, bool about_last) {
    DCHECK(invocation.service.context().member != nullptr);
    if (about_last) return invocation.client.last_write();
    DCHECK(asks_about_another_write(invocation.body));
    const bson::Element asked = invocation.body["wOpTime"];
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
    const oplog::Position last = invocation.service.context().member->last_settled();
    const uint64_t ts = asked.type() == bson::Type::timestamp
                            ? asked.as_timestamp()
                            : static_cast<uint64_t>(asked.as_date());
    return {last.term, std::min(ts, last.ts)};
}

void run_get_last_error(Invocation& invocation) {
    WriteConcern concern;
    try {
        concern = concern_of(invocation);
        concern.check(invocation.service.durability().journaling(),
                      invocation.service.context().member != nullptr);
    } catch (const base::Error& e) {
        refuse(invocation, e, true);
    }
    const LastError& last = invocation.client.last_error();
    const bool about_last = !asks_about_another_write(invocation.body);
    const bool failed = about_last && last.failed();
    if (!failed) check_election(invocation);
    if (!failed && asks_for_members(invocation, concern)) {
        const oplog::Position position = asked_position(invocation, about_last);
        try {
            const MembersAwaited awaited =
                members_of(invocation, concern, MembersAwaited::Of::last_error, position);
            if (position.ts != 0) invocation.suspension.add_members(awaited);
        } catch (const base::Error& e) {
            refuse(invocation, e, false);
        }
    }
    const bool waits_for_members = invocation.suspension.what() == Suspension::For::members;
    DCHECK(!failed || !waits_for_members);
    append_connection(invocation);
    if (about_last) last.append_last(*invocation.reply);
    if (failed) return;

    const bool journaling = invocation.service.durability().journaling();
    append_wait(invocation, "syncMillis");
    if (concern.fsync && !journaling) {
        const int files = invocation.service.durability().flush_all(true);
        invocation.reply->append("fsyncFiles", static_cast<int32_t>(files));
    } else if (concern.waits()) {
        DCHECK(journaling);
        invocation.suspension.add_commit();
        if (concern.fsync && !waits_for_members) append_wait(invocation, "waited");
    }
    // The rest stands there once the members have it.
    if (!waits_for_members) invocation.reply->append_null("writtenTo").append_null("err");
}

void run_get_prev_error(Invocation& invocation) {
    invocation.client.last_error().append_previous(*invocation.reply);
}

void run_reset_error(Invocation& invocation) {
    invocation.client.last_error().reset();
}

void run_force_error(Invocation&) {
    base::fail(10038, "forced error");
}

// A client that is not logged in learns about its own request, and cannot cause a commit.
bool may_ask_last_error(const Invocation& invocation, const Rights& rights) {
    const bson::Doc body = invocation.body;
    const bool waits = body["fsync"].truthy() || body["j"].truthy() || body["w"].is_string();
    return rights.logged_in() || !waits;
}

// A write concern.
constexpr Field kFields[] = {
    {"w"},       {"j", types::flag}, {"fsync", types::flag}, {"wtimeout", types::number},
    {"wOpTime"}, {"wElectionId"},
};

constexpr Command kCommands[] = {
    {"getLastError", "getlasterror", kKeepsLastError, LockKind::none,
     "return error status of the last operation on this connection", run_get_last_error,
     needs::decided(may_ask_last_error), kFields},
    {"getPrevError", "getpreverror", kKeepsLastError, LockKind::none,
     "the last error on this connection, and how many operations ago", run_get_prev_error,
     needs::nothing},
    {"resetError", "reseterror", kKeepsLastError, LockKind::none,
     "forget the errors of this connection", run_reset_error, needs::nothing},
    {"forceerror", "", kRecordsFailure, LockKind::none, "for tests: fails", run_force_error,
     needs::login},
};

}  // namespace

Family last_error_commands() {
    return kCommands;
}

}  // namespace command

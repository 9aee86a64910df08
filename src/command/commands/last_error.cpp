// getLastError, getPrevError, resetError, forceerror (wire spec 3.9, journal spec 1.9).
#include "command/commands/families.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "replica/member.h"
#include "sched/blocking.h"

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

// No other member will have the write in that time.
void append_timeout(Invocation& invocation, int64_t ms) {
    invocation.reply_at = invocation.client.operation().started() + std::chrono::milliseconds(ms);
    invocation.reply->append("waited", static_cast<int32_t>(ms))
        .append("wtimeout", true)
        .append_null("writtenTo")
        .append("err", "timeout");
}

void run_get_last_error(Invocation& invocation) {
    WriteConcern concern;
    try {
        concern = WriteConcern::parse(invocation.body);
        concern.check(invocation.service.durability().journaling(),
                      invocation.service.context().member != nullptr);
    } catch (const base::Error& e) {
        refuse(invocation, e, true);
    }
    const LastError& last = invocation.client.last_error();
    const bool about_last = !asks_about_another_write(invocation.body);
    const bool failed = about_last && last.failed();
    if (!failed) check_election(invocation);
    const std::optional<base::Error> unsatisfied =
        failed ? std::nullopt : invocation.unsatisfied_concern(concern);
    // By the old messages a client that gives a time is answered when it is over.
    const bool times_out = unsatisfied && !invocation.over_msg() && concern.wtimeout_ms > 0 &&
                           unsatisfied->code() == base::kUnsatisfiableWriteConcern;
    if (unsatisfied && !times_out) refuse(invocation, *unsatisfied, false);
    append_connection(invocation);
    if (about_last) last.append_last(*invocation.reply);
    if (failed) return;

    const bool journaling = invocation.service.durability().journaling();
    append_wait(invocation, "syncMillis");
    if (concern.fsync && !journaling) {
        const sched::BlockingSection away;
        const int files = invocation.service.durability().flush_all(true);
        invocation.reply->append("fsyncFiles", static_cast<int32_t>(files));
    } else if (concern.waits()) {
        invocation.wait_for_commit = true;
        if (concern.fsync && !times_out) append_wait(invocation, "waited");
    }
    if (times_out) return append_timeout(invocation, concern.wtimeout_ms);
    invocation.reply->append_null("writtenTo").append_null("err");
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

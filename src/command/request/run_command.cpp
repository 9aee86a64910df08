#include "command/request/run_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "auth/user.h"
#include "base/dcheck.h"
#include "base/log.h"
#include "command/context/locks.h"
#include "command/request/authorization.h"
#include "command/request/cluster_time.h"
#include "command/request/member_state.h"
#include "command/request/registry.h"
#include "command/request/retryable_write.h"
#include "command/request/secret_commands.h"
#include "command/request/stable_api.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"
#include "replica/member.h"
#include "storage/lock.h"

namespace command {

namespace {

// Whether its changes are acknowledged by the end of a transaction.
bool is_statement(const Invocation& invocation, const Command& command) {
    return invocation.in_transaction && (command.flags & kEndsTransaction) == 0;
}

// Does what describe() does, compiled in place: each request comes by here.
inline void describe_here(Invocation& invocation, const Command& command);

constexpr int kNotFullNamespace = 17005;

// The old server threw some errors of a command, which getLastError then knows, and answered
// others. It threw those with a number of their own, but for the ones found before the command's
// own work.
bool is_exception(const Command& command, const Invocation& invocation, const base::Error& error) {
    constexpr int kFirstOwnNumber = 10000;
    constexpr int kAnswered[] = {base::kDatabaseDifferCase, kNotFullNamespace};
    if (std::ranges::find(kAnswered, error.code()) != std::end(kAnswered)) return false;
    return error.code() >= kFirstOwnNumber || invocation.records_failure ||
           (command.flags & kRecordsFailure) != 0;
}

int64_t checked_max_time(const bson::Element& e, dialect::Dialect dialect) {
    if (!e.is_number())
        base::fail(dialect.code(base::kBadValue, base::kTypeMismatch),
                   "maxTimeMS must be a number");
    const double given = e.to_double();
    if (!(given >= 0 && given <= 2147483647.0) || given != static_cast<double>(e.to_int64()))
        base::fail(base::kBadValue, "maxTimeMS is out of range");
    return e.to_int64();
}

constexpr Field kWriteConcernFields[] = {
    {"w"},
    {"j", types::flag},
    {"wtimeout", types::number},
    {"fsync", types::flag},
    without_effect("provenance", types::string, "4.4"),
};

// The write commands alone always knew this field; to the others of the old shells it may come as
// what stands for a missing one.
WriteConcern concern_of(const bson::Element& e, const Command& command, dialect::Dialect dialect) {
    if (e.is_object()) {
        read_fields(e.as_doc(), e.name(), kWriteConcernFields, dialect);
        WriteConcern concern = WriteConcern::parse(e.as_doc());
        constexpr int kMembersMax = 50;
        if (dialect.has(dialect::kWriteConcernIsChecked) &&
            (concern.w < 0 || concern.w > kMembersMax))
            base::fail(base::kFailedToParse,
                       "w has to be a non-negative number and not greater than {}", kMembersMax);
        return concern;
    }
    constexpr std::string_view kWriteCommands[] = {"insert", "update", "delete"};
    const bool strict = std::ranges::find(kWriteCommands, command.name) != std::end(kWriteCommands);
    if (strict || e.truthy() || e.is_number())
        base::fail(dialect.code(base::kFailedToParse, base::kTypeMismatch),
                   "writeConcern must be a document");
    return {};
}

// Takes a field that drivers, and routers before them, put into any request of theirs.
bool take_dollar_field(const bson::Element& e, Invocation& invocation) {
    const std::string_view name = e.name();
    if (name == "$db") return true;
    if (name == "$maxTimeMS")
        base::fail(base::kBadValue, "no such command option $maxTimeMS; use maxTimeMS instead");
    if (name == "$clusterTime") {
        invocation.told_time = told_cluster_time(e);
        return true;
    }
    for (const std::string_view known : {"$readPreference", "$client", "$queryOptions", "$audit"}) {
        if (name != known) continue;
        if (invocation.dialect().has(dialect::kFieldsAreChecked) && !e.is_object())
            base::fail(base::kTypeMismatch, "{} is no document", name);
        return true;
    }
    return false;
}

// Checks the mode without a set, too: no mode that is not known may count as one that allows any
// member.
void check_read_preference(bson::Doc preference) {
    const bson::Element mode = preference["mode"];
    if (mode.missing()) return;
    if (!mode.is_string()) base::fail(base::kTypeMismatch, "$readPreference.mode must be a string");
    constexpr std::string_view kModes[] = {"primary", "primaryPreferred", "secondary",
                                           "secondaryPreferred", "nearest"};
    if (std::ranges::find(kModes, mode.as_string()) == std::end(kModes))
        base::fail(base::kFailedToParse,
                   "Could not parse $readPreference mode '{}'. Only the modes '{}' are supported.",
                   mode.as_string(), fmt::join(kModes, "', '"));
}

constexpr int kNoApiVersion = 4886600;

void check_boolean(const bson::Element& e, dialect::Dialect dialect) {
    if (dialect.has(dialect::kFieldsAreChecked) && e.type() != bson::Type::boolean)
        base::fail(base::kTypeMismatch, "{} must be a boolean", e.name());
}

// Fields that any command may carry (wire spec 1b). Returns whether it is one.
bool take_generic_field(const bson::Element& e, Invocation& invocation, const Command& command,
                        bool& help) {
    const std::string_view name = e.name();
    switch (name.empty() ? 0 : name.front()) {
        case 'w':
            if (name != "writeConcern") return false;
            if (is_absent(e, invocation.dialect())) return true;
            invocation.concern = concern_of(e, command, invocation.dialect());
            return true;
        case 'm': {
            if (name != "maxTimeMS") return false;
            if (is_absent(e, invocation.dialect())) return true;
            const int64_t most = checked_max_time(e, invocation.dialect());
            // There it says how long to wait for data, and then the batch is empty.
            if (command.name != "getMore") invocation.client.operation().set_deadline_ms(most);
            return true;
        }
        case 'l':
            if (name != "lsid") return false;
            invocation.session = SessionId::parse(e, name, invocation.session_owner());
            return true;
        case '$':
            if (name == "$readPreference" && e.is_object()) {
                if (invocation.dialect().has(dialect::kReadPreferenceIsChecked))
                    check_read_preference(e.as_doc());
                invocation.secondary_ok |= allows_secondary(invocation.body);
            }
            return take_dollar_field(e, invocation);
        case 't':
            if (name != "txnNumber") return false;
            if (is_absent(e, invocation.dialect())) return true;
            invocation.txn_number = checked_txn_number(e, invocation);
            return true;
        case 's':
            if (name != "startTransaction") return false;
            take_transaction_field(e, invocation);
            return true;
        case 'a':
            if (name == "autocommit") {
                take_transaction_field(e, invocation);
                return true;
            }
            if (name == "apiVersion") {
                if (!e.is_string() || e.as_string() != "1")
                    base::fail(base::kAPIVersionError, "API version must be \"1\"");
                return true;
            }
            if (name != "apiStrict" && name != "apiDeprecationErrors") return false;
            check_boolean(e, invocation.dialect());
            if (invocation.dialect().has(dialect::kFieldsAreChecked) &&
                invocation.body["apiVersion"].missing())
                base::fail(kNoApiVersion, "{} needs apiVersion beside it", name);
            if (name == "apiStrict" && invocation.dialect().has(dialect::kFieldsAreChecked) &&
                e.truthy())
                check_stable_api(invocation, command);
            return true;
        case 'r':
            if (name != "readConcern") return false;
            if (is_absent(e, invocation.dialect())) return true;
            take_read_concern(e, invocation);
            return true;
        case 'h':
            if (name != "help") return false;
            help = e.truthy();
            return true;
        default:
            return name == "comment" || name == "backpressure";
    }
}

// Fields that drivers and routers may add to any request say nothing by the old messages, and
// neither does the name of the command when it comes again.
bool is_ignored(const bson::Element& e, const Invocation& invocation, const Command& command) {
    return !invocation.dialect().has(dialect::kFieldsAreChecked) &&
           (e.name().starts_with('$') || e.name() == invocation.name) &&
           !command.fields.has(e.name());
}

// Whether its value is the name of a collection, for all that is known of it here.
bool names_collection(const Command& command) {
    return command.need.on == Need::On::collection || command.name == "aggregate" ||
           command.name == "findAndModify";
}

// A client without rights hears of these, not of what is wrong with its fields.
bool take_fields_of_admitted(Invocation& invocation, const Command& command) try {
    return take_fields(invocation, command);
} catch (const base::Error&) {
    if (!invocation.of_log) admit(invocation, command);
    throw;
}

void check_number(const Invocation& invocation, const Command& command) {
    const Transactions& all = invocation.service.transactions();
    if (!invocation.in_transaction) {
        check_retryable(invocation, command);
        all.check_is_of_write(*invocation.session, *invocation.txn_number);
    } else if (!invocation.starts_transaction) {
        all.check_can_go_on(*invocation.session, *invocation.txn_number);
    }
}

void execute(Invocation& invocation, const Command& command) {
    DCHECK(invocation.reply != nullptr && !invocation.started);
    // Rights are looked up there.
    invocation.service.opener().open_again(catalog::split(auth::kUsers).db);
    if (take_fields_of_admitted(invocation, command)) {
        invocation.reply->append("help", fmt::format("help for: {} {}", command.name, command.help))
            .append("lockType", static_cast<int32_t>(command.lock));
        return;
    }
    if (!invocation.of_log) admit(invocation, command);
    if (command.lock != LockKind::none) invocation.service.opener().open_again(invocation.db);
    if (!catalog::valid_database_name(invocation.db))
        base::fail(base::kInvalidNamespace, "Invalid database name: '{}'", invocation.db);
    if (!invocation.of_log) {
        if (awaits_heir(invocation, command)) return;
        check_member_state(invocation, command);
    }
    if (command.lock == LockKind::write && !is_statement(invocation, command))
        invocation.check_concern();
    const bool unauthenticated =
        invocation.client.access_control().enabled && !invocation.client.login().logged_in();
    if ((command.flags & kNoSession) != 0 || unauthenticated) invocation.session.reset();
    check_transaction(invocation, command);
    if (invocation.txn_number) check_number(invocation, command);
    if (invocation.session)
        invocation.service.sessions().use(*invocation.session,
                                          invocation.client.operation().started(),
                                          invocation.client.recent_session());
    std::unique_ptr<oplog::Retries::Turn> turn;
    if (invocation.txn_number) {
        turn = take_turn(invocation);
        if (turn == nullptr) return invocation.wait_for_turn();
        invocation.turn = turn.get();
        invocation.service.transactions().note_number(*invocation.session, *invocation.txn_number);
    }
    describe_here(invocation, command);
    if (invocation.after_time != 0 && awaits_cluster_time(invocation)) return;
    if (invocation.read_level != ReadLevel::local) check_read_level(invocation);
    if (const replica::Member* const member = invocation.service.context().member)
        invocation.rollbacks = member->rollbacks();
    invocation.started = true;
    if (invocation.in_transaction) return run_in_transaction(invocation, command);
    invocation.client.set_may_defer((command.flags & kRetryable) != 0 && !invocation.of_log);
    command.run(invocation);
}

// A primary whose lease has run out acknowledges no write: another may lead by now.
bool lost_lease(const Invocation& invocation, bson::Builder& out) {
    if (invocation.service.context().member->role().has_lease()) return false;
    append_concern_error(base::kPrimarySteppedDown,
                         "this primary has not heard of a majority in time: another one may be it",
                         false, out);
    append_retry_label(invocation.txn_number.has_value(), base::kPrimarySteppedDown, out);
    return true;
}

// Notes the members that have to have what a read may have seen.
void await_members_of_read(Invocation& invocation) {
    const int64_t cursor = invocation.client.report().left_open;
    CursorManager& cursors = invocation.service.cursors();
    try {
        invocation.suspension.add_members(members_of_read(invocation, cursor));
        if (cursor != 0) cursors.note_majority(cursor);
    } catch (...) {
        if (cursor != 0) cursors.kill(cursor);
        throw;
    }
}

// Notes the members that a write waits for beside a commit of this server; or appends what the set
// says to its concern.
void await_members(Invocation& invocation, const Command& command, bson::Builder& out) {
    DCHECK(invocation.service.context().member != nullptr);
    const bool wrote =
        !is_statement(invocation, command) && (command.lock == LockKind::write || invocation.wrote);
    if (wrote && invocation.db != "local" && lost_lease(invocation, out)) return;
    const bool is_read = invocation.read_level != ReadLevel::local;
    if (!wrote || invocation.skip_concern || !asks_for_members(invocation, invocation.concern)) {
        if (is_read) await_members_of_read(invocation);
        return;
    }
    oplog::Position position = oplog::Log::written();
    // A first try, or another client, may have done the write, so that nothing had to be changed.
    if (position.ts == 0 || is_read) position = invocation.service.context().member->last_settled();
    try {
        invocation.suspension.add_members(
            members_of(invocation, invocation.concern, MembersAwaited::Of::write, position));
    } catch (const base::Error& error) {
        append_concern_error(error.code(), error.what(), false, out);
    }
}

[[gnu::always_inline]] inline void describe_here(Invocation& invocation, const Command& command) {
    invocation.client.current().describe({
        .name = command.name,
        .db = invocation.db,
        .target = target_of(invocation, command),
        .body = invocation.body,
        .session = invocation.session,
        .has_secrets = holds_secrets(invocation, command),
        .uses_data = command.lock != LockKind::none,
        .changes_data = command.lock == LockKind::write,
        .dialect = invocation.dialect(),
        .on_collection = names_collection(command),
    });
}

}  // namespace

void describe(Invocation& invocation, const Command& command) {
    describe_here(invocation, command);
}

bool take_fields(Invocation& invocation, const Command& command) {
    bool help = false;
    int count = 0;
    const bool any = (command.flags & kAnyField) != 0;
    FieldReader reader(command.name, command.fields, invocation.dialect(), &invocation.given);
    for (const bson::Element& e : invocation.body) {
        if (++count > kFieldsMax) refuse_so_many_fields(command.name);
        if (count == 1 || take_generic_field(e, invocation, command, help) || any) continue;
        if (!is_ignored(e, invocation, command)) reader.take(e);
    }
    if (any || help) return help;
    if (invocation.dialect().has(dialect::kFieldsAreChecked)) {
        for (size_t i = 0; i < invocation.msg->sequence_count; ++i)
            reader.take_sequence(invocation.msg->sequences[i].name);
    }
    reader.end();
    return false;
}

void run_command(Invocation& invocation, bson::Buffer& reply) {
    Service& service = invocation.service;
    Client& client = invocation.client;
    DCHECK(sched::Operation::current() == &client.operation());
    LastError& last_error = client.last_error();
    const size_t start = reply.size();
    invocation.name = invocation.body.first().name();
    Registry::Found found = service.commands().look_up(invocation.name);
    if (found.command != nullptr && (found.command->flags & kTestOnly) != 0 &&
        !service.context().test_commands)
        found = service.commands().unknown();
    const Command* const command = found.command;
    const auto fail_with = [&](const base::Error& error) {
        found.counts->total.fetch_add(1, std::memory_order_relaxed);
        found.counts->failed.fetch_add(1, std::memory_order_relaxed);
        DCHECK(reply.size() >= start);
        reply.truncate(start);
        invocation.suspension = {};
        client.commit_wait().clear_wait_fields();
        bson::Builder out(reply);
        const base::Error shown = for_client(invocation, error);
        if (!invocation.dialect().has(dialect::kErrorsOfToday) && shown.details() != nullptr) {
            // The old server had them before it knew that there was an error.
            out.append_all(bson::Doc(shown.details()->data()));
            append_error(out, base::Error(shown.code(), shown.what()));
        } else {
            append_error(out, shown);
        }
        append_error_labels(invocation, error.code(), out);
        if (invocation.is_of_stream()) append_stream_label(error.code(), out);
        if (invocation.dialect().has(dialect::kHelloWaits))
            append_state_of_error(service.context(), error.code(), out);
        if (invocation.dialect().has(dialect::kMembersTellTime))
            append_cluster_time(service.context(), out);
    };
    if (command != nullptr && command->lock != LockKind::none &&
        should_defer(client, invocation.db, command->lock == LockKind::write, invocation.body))
        return invocation.wait_for_turn();
    const bool keeps_last_error = command != nullptr && (command->flags & kKeepsLastError) != 0;
    if (!keeps_last_error) last_error.next_request();
    const bool is_counted = command == nullptr || (command->flags & kNotCounted) == 0;
    if (is_counted && !client.data_wait().is_retry())
        service.counters().command.fetch_add(1, std::memory_order_relaxed);
    try {
        if (command == nullptr)
            base::fail(base::kCommandNotFound, "no such cmd: {}", invocation.name);
        bson::Builder out(reply);
        invocation.reply = &out;
        execute(invocation, *command);
        invocation.settle();
        if (!invocation.suspension.has_reply()) return;
        const bool is_member = service.context().member != nullptr;
        if (is_member) await_members(invocation, *command, out);
        out.append("ok", 1.0);
        if (is_member && invocation.dialect().has(dialect::kMembersTellTime))
            append_cluster_time(service.context(), out);
    } catch (const Deferred&) {
        client.commit_wait().clear_wait_fields();
        client.report().comes_again = false;
        if (is_counted && !client.data_wait().is_retry())
            service.counters().command.fetch_sub(1, std::memory_order_relaxed);
        return invocation.wait_for_turn();
    } catch (const base::Error& e) {
        fail_with(e);
        client.report().failed(e.code(), e.what());
        service.asserts().user.fetch_add(1, std::memory_order_relaxed);
        if (client.reply_at()) {
            invocation.suspension = Suspension::until_time(*client.reply_at());
            return;
        }
        if (!invocation.started) {
            if (keeps_last_error) last_error.next_request();
        } else if (is_exception(*command, invocation, e)) {
            last_error.record_error(e.code(), e.what());
        }
        return;
    } catch (const std::bad_alloc& e) {
        fail_with(base::Error(base::kExceededMemoryLimit, e.what()));
        client.report().failed(base::kExceededMemoryLimit, e.what());
        service.asserts().user.fetch_add(1, std::memory_order_relaxed);
        return;
    } catch (const std::exception& e) {
        base::log::error("command {} failed: {}", invocation.name, e.what());
        fail_with(base::Error(base::kInternalError, e.what()));
        client.report().failed(base::kInternalError, e.what());
        return;
    }
    found.counts->total.fetch_add(1, std::memory_order_relaxed);
    const bool by_concern = (command->lock == LockKind::write || invocation.wrote) &&
                            invocation.concern.waits() && !invocation.skip_concern;
    // The data files alone can have it, if there is no journal.
    if (by_concern && !service.durability().journaling()) service.durability().flush_all(true);
    if (by_concern) invocation.suspension.add_commit();
}

}  // namespace command

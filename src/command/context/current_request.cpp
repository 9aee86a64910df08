#include "command/context/current_request.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/dcheck.h"
#include "catalog/names.h"
#include "command/observe/secrets.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"

namespace command {

namespace {

Top::Kind top_kind(std::string_view op) {
    if (op == "find" || op == "query") return Top::Kind::queries;
    if (op == "getMore" || op == "getmore") return Top::Kind::getmore;
    if (op == "insert") return Top::Kind::insert;
    if (op == "update") return Top::Kind::update;
    if (op == "delete" || op == "remove") return Top::Kind::remove;
    return Top::Kind::commands;
}

bool is_write(Top::Kind kind) {
    return kind == Top::Kind::insert || kind == Top::Kind::update || kind == Top::Kind::remove;
}

// The old server counted each time that a command took up its collection.
int times_in_top(bson::Doc command) {
    const std::string_view name = command.empty() ? "" : command.first().name();
    if (name == "collStats" || name == "collstats") return 3;
    constexpr std::string_view kTwice[] = {"count", "aggregate", "findAndModify", "findandmodify",
                                           "collMod"};
    return std::ranges::find(kTwice, name) == std::end(kTwice) ? 1 : 2;
}

// Returns the name that a command is about. The strings that it goes into keep their room as long
// as the connection lasts: if it is too long for any name, its beginning is enough.
std::string_view shown_name(const bson::Element& target) {
    return catalog::until_nul(target.as_string()).substr(0, Top::kNameBytesMax);
}

}  // namespace

void CurrentRequest::describe(const char* op, std::string_view ns, bson::Doc request) {
    const std::lock_guard guard(mutex_);
    if (holds_users(ns)) request = hide(request);
    shown_.op = op;
    shown_.ns = ns;
    shown_.request = request;
    shown_.has_request = !request.empty();
    shown_.dialect = dialect::kV26;
    shown_.session.reset();
    report_.request = request;
    report_.has_request = true;
    recorded_ = true;
    top_ns_ = ns;
    top_kind_ = top_kind(op);
    top_write_ = is_write(top_kind_);
}

bson::Doc CurrentRequest::hide(bson::Doc body) {
    shown_part_ = first_field(body);
    return shown_part_;
}

void CurrentRequest::describe(const DescribedCommand& command) {
    const bson::Element& target = command.target;
    const Top::Kind kind = top_kind(command.name);
    const bool on_collection = command.uses_data && target.is_string();
    const bool named = command.dialect.has(dialect::kProfileShowsCommands) &&
                       command.on_collection && on_collection;
    const std::string_view collection = on_collection ? shown_name(target) : std::string_view();
    const std::string_view db = command.db;
    const std::lock_guard guard(mutex_);
    const bson::Doc body = command.has_secrets ? hide(command.body) : command.body;
    shown_.request = body;
    shown_.has_request = true;
    shown_.dialect = command.dialect;
    shown_.session = command.session;
    report_.request = body;
    report_.has_request = true;
    report_.as_command = command.dialect.has(dialect::kProfileShowsCommands);
    report_.command_name = command.name;
    recorded_ = command.uses_data;
    // A command that the old server had messages for is shown as those.
    if (on_collection && kind != Top::Kind::commands) {
        constexpr const char* kOps[] = {"query", "getmore", "insert", "update", "remove"};
        DCHECK(static_cast<size_t>(kind) < std::size(kOps));
        shown_.op = kOps[static_cast<size_t>(kind)];
        shown_.ns.assign(db).append(1, '.').append(collection);
        // The items of an update or a delete are recorded one by one, an insert by OP_MSG as the
        // command.
        if (is_write(kind) &&
            !(command.dialect.has(dialect::kProfileShowsCommands) && kind == Top::Kind::insert)) {
            command_ns_.assign(db).append(".$cmd");
            recorded_ = false;
        }
    } else {
        shown_.op = "command";
        shown_.ns.assign(db).append(1, '.').append(named ? collection : "$cmd");
    }
    if (on_collection && command.name != "drop") {
        top_ns_.assign(db).append(1, '.').append(collection);
        top_kind_ = kind;
        top_write_ = command.changes_data;
    }
}

void CurrentRequest::finish(Top& top, Profiler& profiler, sched::Operation& operation,
                            std::string_view remote, const std::vector<auth::User>& users) {
    const Forget forget{*this};
    DCHECK(operation.active());
    const auto spent = sched::Operation::Clock::now() - operation.started();
    operation.finish();
    if (!top_ns_.empty()) {
        Top::Entry& entry = recent_top_.find(top, top_ns_);
        int64_t micros = std::chrono::duration_cast<std::chrono::microseconds>(spent).count();
        const bool old_command = top_kind_ == Top::Kind::commands && !report_.as_command;
        for (int i = old_command ? times_in_top(report_.request) : 1; i > 0; --i)
            entry.record(top_kind_, top_write_, std::exchange(micros, 0));
    }
    report_to(profiler, operation, remote, users,
              std::chrono::duration_cast<std::chrono::milliseconds>(spent).count());
}

// The message is about to be freed: no report may read it any more.
void CurrentRequest::forget() {
    const std::lock_guard guard(mutex_);
    shown_.op = "none";
    shown_.has_request = false;
    shown_.session.reset();
    recorded_ = false;
    top_ns_.clear();
    command_ns_.clear();
    yields_.store(0, std::memory_order_relaxed);
}

void CurrentRequest::report_to(Profiler& profiler, sched::Operation& operation,
                               std::string_view remote, const std::vector<auth::User>& users,
                               int64_t millis) {
    DCHECK(report_.idle_millis <= millis);
    FinishedOp finished{shown_.op,
                        shown_.ns,
                        remote,
                        &users,
                        millis - report_.idle_millis,
                        yields(),
                        operation.locks().times()};
    if (!command_ns_.empty()) {
        finished.op = "command";
        finished.ns = command_ns_;
    }
    if (std::string_view(finished.op) != "none") profiler.finished(finished, report_, recorded_);
}

}  // namespace command

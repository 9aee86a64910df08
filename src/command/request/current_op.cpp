#include "command/request/current_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/dcheck.h"
#include "base/utf8.h"
#include "command/context/operation_context.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"
#include "query/match/match_tree.h"
#include "storage/fsync_lock.h"

namespace command {

namespace {

// The most bytes that are shown of a request, and of those of all operations together: where there
// are thousands, less is shown of each, so that the answer goes into a document.
constexpr int64_t kShownRequestBytes = 8192;
constexpr int64_t kAllShownBytes = 4 << 20;

// locks: { "^": "w", "^test": "W" } and whether it waits for one.
void append_locks(const sched::LockView& view, bool waiting, std::string_view db,
                  bson::Builder& out) {
    {
        bson::Builder locks = out.sub_object("locks");
        if (const char global = view.global()) locks.append("^", std::string_view(&global, 1));
        if (const char database = view.database())
            locks.append(base::as_utf8(fmt::format("^{}", db)), std::string_view(&database, 1));
    }
    out.append("waitingForLock", waiting);
}

void append_progress(const sched::Operation::Progress& progress, bson::Builder& out) {
    if (progress.text == nullptr) return;
    const int64_t percent = progress.total > 0 ? progress.done * 100 / progress.total : 0;
    out.append("msg",
               fmt::format("{}: {}/{} {}%", progress.text, progress.done, progress.total, percent));
    bson::Builder metrics = out.sub_object("progress");
    metrics.append_number("done", progress.done).append_number("total", progress.total);
}

void append_lock_stats(const sched::LockTimes& times, bson::Builder& out) {
    bson::Builder stats = out.sub_object("lockStats");
    const auto append = [&stats](const char* name, int64_t read, int64_t write) {
        bson::Builder entry = stats.sub_object(name);
        entry.append("r", read).append("w", write);
    };
    append("timeLockedMicros", times.locked_read, times.locked_write);
    append("timeAcquiringMicros", times.acquiring_read, times.acquiring_write);
}

void append_metadata(const bson::Object& metadata, bson::Builder& out) {
    if (metadata.empty()) return;
    const bson::Element name = metadata.doc().at_path("application.name");
    if (name.is_string()) out.append_as("appName", name);
    out.append("clientMetadata", metadata);
}

bool is_write_command(const CurrentRequest::Shown& request) {
    const std::string_view name = request.request.first().name();
    return name == "insert" || name == "update" || name == "delete";
}

// Returns what the old server showed of a write command that has not begun: its first item.
bson::Doc first_item(bson::Doc command) {
    for (const bson::Element& e : command) {
        if (!e.is_array() || !e.as_doc().first().is_object()) continue;
        const bson::Doc item = e.as_doc().first().as_doc();
        if (e.name() == "documents") return item;
        if ((e.name() == "updates" || e.name() == "deletes") && item["q"].is_object())
            return item["q"].as_doc();
    }
    return command;
}

// Shows a request that came by an old message and waits for its first lock as the old server showed
// it: it had not looked at the message yet, but for what a write command asks for.
CurrentRequest::Shown as_not_begun(CurrentRequest::Shown request) {
    if (is_write_command(request)) {
        request.request = first_item(request.request);
        return request;
    }
    request.ns.clear();
    if (std::string_view(request.op) == "insert") request.request = bson::Doc();
    return request;
}

bool has_begun(const sched::LockView& locks, bool waiting) {
    const sched::LockTimes times = locks.times();
    return !waiting || times.locked_read + times.locked_write > 0;
}

bson::Object describe(OperationContext& context, const Transactions* transactions,
                      const CurrentRequest::Shown& current, int64_t shown_bytes,
                      dialect::Dialect dialect) {
    const sched::Operation& operation = context.operation();
    const wire::ConnectionInfo* connection = context.connection();
    const bool old_form = !dialect.has(dialect::kProfileShowsCommands) &&
                          !current.dialect.has(dialect::kProfileShowsCommands);
    const bool waiting = operation.locks().waiting();  // read once: the answer agrees with itself
    const bool begun = !old_form || has_begun(operation.locks(), waiting);
    CurrentRequest::Shown request = begun ? current : as_not_begun(current);
    if (old_form && std::string_view(request.op) == "command") request.op = "query";
    const bool active = operation.active() && (begun || is_write_command(current));
    bson::Builder out;
    out.append("opid", static_cast<int32_t>(operation.id())).append("active", active);
    if (active) {
        const auto running = sched::Operation::Clock::now() - operation.started();
        out.append("secs_running",
                   static_cast<int32_t>(
                       std::chrono::duration_cast<std::chrono::seconds>(running).count()))
            .append("microsecs_running",
                    static_cast<int64_t>(
                        std::chrono::duration_cast<std::chrono::microseconds>(running).count()));
    }
    out.append("op", request.op).append("ns", base::as_utf8(request.ns));
    if (request.has_request)
        out.append(std::string_view(request.op) == "insert" ? "insert" : "query",
                   shown_request(request.request, shown_bytes));
    if (connection != nullptr) out.append("client", connection->remote);
    append_metadata(context.metadata(), out);
    out.append("desc", context.description())
        .append("threadId", fmt::format("{:#x}", context.current().thread()));
    if (connection != nullptr) out.append("connectionId", static_cast<int32_t>(connection->number));
    append_locks(operation.locks(), waiting, catalog::split(request.ns).db, out);
    append_progress(operation.progress(), out);
    if (active && !old_form && request.session && transactions != nullptr)
        transactions->append_of(*request.session, out);
    if (operation.kill_pending()) out.append("killPending", true);
    out.append("numYields", static_cast<int32_t>(context.current().yields()));
    if (!old_form) append_lock_stats(operation.locks().times(), out);
    return out.object();
}

// The conditions among the fields of a currentOp request.
bson::Object conditions(bson::Doc query) {
    bson::Builder out;
    for (const bson::Element& e : query) {
        const std::string_view name = e.name();
        const bool option = name == "$all" || name == "$ownOps" || name == "$db" ||
                            name == "currentOp" || name == "lsid" || name == "$readPreference" ||
                            name == "maxTimeMS" || name == "comment" || name == "readConcern" ||
                            name.starts_with("api") || name == "$clusterTime";
        if (!option) out.append(e);
    }
    return out.object();
}

}  // namespace

void each_operation(OperationContexts& contexts, const OperationContext* except, bool all,
                    dialect::Dialect dialect, const std::function<void(bson::Doc)>& visit) {
    const auto wanted = [except, all](OperationContext& context) {
        return &context != except && (all || context.operation().active());
    };
    int64_t count = 1;
    contexts.each([&](OperationContext& context) { count += wanted(context) ? 1 : 0; });
    const int64_t shown_bytes = std::min(kShownRequestBytes, kAllShownBytes / count);
    DCHECK(shown_bytes > 0);
    std::vector<bson::Object> operations;
    contexts.each([&](OperationContext& context) {
        sched::Operation::check();
        if (!wanted(context)) return;
        operations.push_back(context.current().visit([&](const CurrentRequest::Shown& request) {
            return describe(context, contexts.transactions(), request, shown_bytes, dialect);
        }));
    });
    for (const bson::Object& operation : operations)
        visit(operation);
    if (contexts.transactions() != nullptr && dialect.has(dialect::kProfileShowsCommands))
        contexts.transactions()->each_idle(visit);
}

void append_operations(OperationContexts& contexts, const storage::FsyncLock& fsync_lock,
                       const OperationContext* except, bson::Doc query, dialect::Dialect dialect,
                       bson::Builder& out) {
    const auto matcher = query::Matcher::parse(conditions(query));
    {
        bson::Builder list = out.sub_array("inprog");
        each_operation(contexts, except, query["$all"].truthy(), dialect, [&](bson::Doc operation) {
            if (matcher->matches(operation)) list.push(operation);
        });
    }
    if (fsync_lock.locked())
        out.append("fsyncLock", true)
            .append("info", "use db.fsyncUnlock() to terminate the fsync write/snapshot lock");
}

void kill_operation(OperationContexts& contexts, const bson::Element& op, bson::Builder& out) {
    if (!op.is_number()) {
        out.append("err", "no op number field specified?");
        return;
    }
    const auto id = static_cast<uint32_t>(op.to_int64());
    contexts.each([id](OperationContext& context) {
        const sched::Operation& operation = context.operation();
        if (operation.active() && operation.id() == id) context.kill(id);
    });
    out.append("info", "attempting to kill op");
}

}  // namespace command

#include "command/current_op.h"

#include <chrono>

#include "base/error.h"
#include "command/background.h"
#include "command/registry.h"
#include "command/session.h"
#include "query/match/match_tree.h"

namespace command {

namespace {

constexpr int32_t kShownRequestBytes = 8192;

// locks: { "^": "w", "^test": "W" } and whether it waits for one.
void append_locks(const base::Operation& operation, std::string_view db, bson::Builder& out) {
    const base::LockView& view = operation.locks();
    {
        bson::Builder locks = out.sub_object("locks");
        if (const char global = view.global()) locks.append("^", std::string_view(&global, 1));
        if (const char database = view.database())
            locks.append(fmt::format("^{}", db), std::string_view(&database, 1));
    }
    out.append("waitingForLock", view.waiting());
}

void append_progress(const base::Operation::Progress& progress, bson::Builder& out) {
    if (progress.text == nullptr) return;
    const int64_t percent = progress.total > 0 ? progress.done * 100 / progress.total : 0;
    out.append("msg",
               fmt::format("{}: {}/{} {}%", progress.text, progress.done, progress.total, percent));
    bson::Builder figures = out.sub_object("progress");
    figures.append_number("done", progress.done).append_number("total", progress.total);
}

void append_lock_stats(const base::LockTimes& times, bson::Builder& out) {
    bson::Builder stats = out.sub_object("lockStats");
    const auto append = [&stats](const char* name, int64_t read, int64_t write) {
        bson::Builder entry = stats.sub_object(name);
        entry.append("r", read).append("w", write);
    };
    append("timeLockedMicros", times.locked_read, times.locked_write);
    append("timeAcquiringMicros", times.acquiring_read, times.acquiring_write);
}

// `connection`: null for work of the server itself.
bson::Object describe(const base::Operation& operation, CurrentRequest& current,
                      const std::string& description, const wire::ConnectionInfo* connection) {
    const std::lock_guard guard(current.mutex);
    const bool active = operation.active();
    bson::Builder out;
    out.append("opid", static_cast<int32_t>(operation.id())).append("active", active);
    if (active) {
        const auto running = base::Operation::Clock::now() - operation.started();
        out.append("secs_running",
                   static_cast<int32_t>(
                       std::chrono::duration_cast<std::chrono::seconds>(running).count()))
            .append("microsecs_running",
                    static_cast<int64_t>(
                        std::chrono::duration_cast<std::chrono::microseconds>(running).count()));
    }
    out.append("op", current.op).append("ns", current.ns);
    if (current.has_request)
        out.append(std::string_view(current.op) == "insert" ? "insert" : "query",
                   shown_request(current.request, kShownRequestBytes));
    if (connection != nullptr) out.append("client", connection->remote);
    out.append("desc", description)
        .append("threadId", fmt::format("{:#x}", current.thread.load(std::memory_order_relaxed)));
    if (connection != nullptr) out.append("connectionId", static_cast<int32_t>(connection->number));
    append_locks(operation, catalog::split(current.ns).db, out);
    append_progress(operation.progress(), out);
    if (operation.kill_pending()) out.append("killPending", true);
    out.append("numYields", static_cast<int32_t>(current.yields.load(std::memory_order_relaxed)));
    append_lock_stats(operation.locks().times(), out);
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

void run_current_op(Invocation& invocation) {
    append_operations(invocation.service, nullptr, invocation.body, *invocation.reply);
}

void run_kill_op(Invocation& invocation) {
    kill_operation(invocation.service, invocation.body["op"], *invocation.reply);
}

constexpr Command kCommands[] = {
    {"currentOp", "", kAdminOnly, LockKind::none, "{ currentOp: 1, $all: bool }: what is running",
     run_current_op},
    {"killOp", "", kAdminOnly, LockKind::none, "{ killOp: 1, op: opid }", run_kill_op},
};

}  // namespace

void each_operation(Service& service, const ClientSession* except, bool all,
                    const std::function<void(bson::Doc)>& visit) {
    std::vector<bson::Object> operations;
    service.each_session([&](ClientSession& session) {
        if (&session != except && (all || session.operation().active()))
            operations.push_back(describe(session.operation(), session.current(),
                                          fmt::format("conn{}", session.info().number),
                                          &session.info()));
    });
    service.each_background([&](BackgroundOperation& work) {
        operations.push_back(
            describe(work.operation(), work.current(), work.description(), nullptr));
    });
    for (const bson::Object& operation : operations)
        visit(operation);
}

void append_operations(Service& service, const ClientSession* except, bson::Doc query,
                       bson::Builder& out) {
    const auto matcher = query::Matcher::parse(conditions(query));
    {
        bson::Builder list = out.sub_array("inprog");
        each_operation(service, except, query["$all"].truthy(), [&](bson::Doc operation) {
            if (matcher->matches(operation)) list.push(operation);
        });
    }
    if (service.fsync_locked())
        out.append("fsyncLock", true)
            .append("info", "use db.fsyncUnlock() to terminate the fsync write/snapshot lock");
}

void kill_operation(Service& service, const bson::Element& op, bson::Builder& out) {
    if (!op.is_number()) {
        out.append("err", "no op number field specified?");
        return;
    }
    const auto id = static_cast<uint32_t>(op.to_int64());
    const auto kill = [id](base::Operation& operation) {
        if (operation.active() && operation.id() == id) operation.kill(id);
    };
    service.each_session([&kill](ClientSession& session) { kill(session.operation()); });
    service.each_background([&kill](BackgroundOperation& work) { kill(work.operation()); });
    out.append("info", "attempting to kill op");
}

std::span<const Command> current_op_commands() {
    return kCommands;
}

}  // namespace command

// serverStatus (wire spec 2.3), and getDiagnosticData, which has it inside. Numbers that monitoring
// tools read as integers have no fraction.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "base/dcheck.h"
#include "base/milliseconds.h"
#include "base/process_memory.h"
#include "base/utf8.h"
#include "command/report/member_report.h"
#include "command/report/reports.h"
#include "command/request/invocation.h"
#include "dialect/requests.h"
#include "storage/metrics.h"

namespace command {

namespace {

int64_t value(const std::atomic<int64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
}

void append_asserts(const Asserts& asserts, bson::Builder& out) {
    out.append_number("regular", value(asserts.regular))
        .append_number("warning", value(asserts.warning))
        .append_number("msg", value(asserts.msg))
        .append_number("user", value(asserts.user))
        .append_number("rollovers", value(asserts.rollovers));
}

void append_connections(const ServerContext& context, bson::Builder& out) {
    ConnectionCounts counts;
    if (context.connections) counts = context.connections();
    out.append("current", static_cast<int32_t>(counts.current))
        .append("available", static_cast<int32_t>(counts.available))
        .append("totalCreated", counts.total_created);
}

// Returns how many connections have an operation that goes on.
int32_t active_connections(OperationContexts& contexts) {
    int32_t active = 0;
    contexts.each([&](OperationContext& context) {
        if (context.operation().active()) ++active;
    });
    return active;
}

void append_cursors(const CursorManager::Counts& counts, bson::Builder& out) {
    DCHECK(counts.pinned <= counts.open && counts.no_timeout <= counts.open);
    const auto open = static_cast<int32_t>(counts.open);
    out.append("note", "deprecated, use server status metrics")
        .append("clientCursors_size", open)
        .append("totalOpen", open)
        .append("pinned", static_cast<int32_t>(counts.pinned))
        .append("totalNoTimeout", static_cast<int32_t>(counts.no_timeout))
        .append("timedOut", static_cast<int32_t>(counts.timed_out));
}

void append_extra_info(bson::Builder& out) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    out.append("note", "fields vary by platform")
        .append_number("heap_usage_bytes", static_cast<int64_t>(mallinfo2().uordblks))
        .append_number("page_faults", static_cast<int64_t>(usage.ru_majflt));
}

void append_index_counters(bson::Builder& out) {
    for (const char* name : {"accesses", "hits", "misses", "resets"})
        out.append(name, int32_t{0});
    out.append("missRatio", 0.0);
}

void append_network(const ServerContext& context, bson::Builder& out) {
    NetworkCounts counts;
    if (context.network) counts = context.network();
    out.append("bytesIn", counts.bytes_in)
        .append("bytesOut", counts.bytes_out)
        .append_number("numRequests", counts.requests);
}

void append_record_stats(catalog::Catalog& catalog, bson::Builder& out) {
    out.append("accessesNotInMemory", int32_t{0}).append("pageFaultExceptionsThrown", int32_t{0});
    for (const std::string& name : catalog.database_names()) {
        bson::Builder db = out.sub_object(base::as_utf8(name));
        db.append("accessesNotInMemory", int32_t{0})
            .append("pageFaultExceptionsThrown", int32_t{0});
    }
}

void append_mem(const storage::Durability& durability, bson::Builder& out) {
    const base::ProcessMemory has = base::process_memory();
    const int64_t mapped = durability.mapped_bytes();
    const auto mb = [](int64_t bytes) { return static_cast<int32_t>(bytes >> 20); };
    out.append("bits", static_cast<int32_t>(sizeof(void*) * 8))
        .append("resident", mb(static_cast<int64_t>(has.resident)))
        .append("virtual", mb(static_cast<int64_t>(has.address_space)))
        .append("supported", true)
        .append("mapped", mb(mapped));
    if (durability.journaling()) out.append("mappedWithJournal", mb(mapped * 2));
}

void append_lifespans(const CursorManager::Counts& counts, bson::Builder& out) {
    constexpr const char* kNames[] = {
        "lessThan1Second", "lessThan5Seconds",  "lessThan15Seconds",          "lessThan30Seconds",
        "lessThan1Minute", "lessThan10Minutes", "greaterThanOrEqual10Minutes"};
    static_assert(std::size(kNames) == std::size(CursorManager::kLifespans) + 1);
    bson::Builder lifespan = out.sub_object("lifespan");
    for (size_t i = 0; i < counts.ended.size(); ++i)
        lifespan.append(kNames[i], counts.ended[i]);
}

void append_cursor_metrics(const CursorManager::Counts& counts, bool tells_more,
                           bson::Builder& out) {
    bson::Builder cursor = out.sub_object("cursor");
    cursor.append("timedOut", counts.timed_out);
    if (tells_more) {
        cursor.append("totalOpened", counts.opened).append("moreThanOneBatch", counts.asked_on);
        append_lifespans(counts, cursor);
    }
    bson::Builder open = cursor.sub_object("open");
    open.append("noTimeout", counts.no_timeout)
        .append("pinned", counts.pinned)
        .append("total", counts.open);
}

void append_no_time(bson::Builder& out, const char* name) {
    out.append(name, bson::make("num", 0, "totalMillis", 0));
}

// Appends what a secondary has read of the primary's log. Null: this server is no member.
void append_replication_metrics(const replica::Member* member, bson::Builder& out) {
    static const replica::FollowCounts kNone;
    const replica::FollowCounts& counts = member == nullptr ? kNone : member->following().counts();
    constexpr int32_t kBufferBytes = 256 << 20;
    bson::Builder repl = out.sub_object("repl");
    {
        bson::Builder apply = repl.sub_object("apply");
        {
            bson::Builder batches = apply.sub_object("batches");
            batches.append_number("num", value(counts.batches));
            batches.append("totalMillis", int32_t{0});
        }
        apply.append("ops", value(counts.entries));
    }
    repl.append("buffer", bson::make("count", int64_t{0}, "maxSizeBytes", kBufferBytes, "sizeBytes",
                                     int64_t{0}));
    {
        bson::Builder network = repl.sub_object("network");
        network.append("bytes", value(counts.bytes));
        append_no_time(network, "getmores");
        network.append("ops", value(counts.entries))
            .append("readersCreated", value(counts.sources));
    }
    bson::Builder preload = repl.sub_object("preload");
    append_no_time(preload, "docs");
    append_no_time(preload, "indexes");
}

// `wanted`: the request's field of that name, by which parts can be left out.
void append_metrics(Service& service, const bson::Element& wanted, bool tells_more,
                    bson::Builder& out) {
    const Metrics& metrics = service.metrics();
    const bson::Element commands = wanted.is_object() ? wanted.as_doc()["commands"] : wanted;
    if (tells_more && (commands.missing() || commands.truthy())) {
        bson::Builder counts = out.sub_object("commands");
        service.commands().append_counts(service.context().test_commands, counts);
    }
    append_cursor_metrics(service.cursors().counts(), tells_more, out);
    {
        bson::Builder document = out.sub_object("document");
        document.append("deleted", value(metrics.deleted))
            .append("inserted", value(metrics.inserted))
            .append("returned", value(metrics.returned))
            .append("updated", value(metrics.updated));
    }
    {
        bson::Builder last_error = out.sub_object("getLastError");
        {
            bson::Builder wtime = last_error.sub_object("wtime");
            wtime.append("num", static_cast<int32_t>(value(metrics.write_waits)))
                .append("totalMillis", static_cast<int32_t>(value(metrics.write_waits_ms)));
        }
        last_error.append("wtimeouts", value(metrics.write_timeouts));
    }
    {
        bson::Builder operation = out.sub_object("operation");
        operation.append("fastmod", value(metrics.fastmod))
            .append("idhack", value(metrics.idhack))
            .append("scanAndOrder", value(metrics.scan_and_order));
    }
    {
        bson::Builder executor = out.sub_object("queryExecutor");
        executor.append("scanned", value(metrics.scanned))
            .append("scannedObjects", value(metrics.scanned_objects));
    }
    {
        bson::Builder record = out.sub_object("record");
        record.append("moves", value(metrics.moves));
    }
    append_replication_metrics(service.context().member, out);
    {
        const storage::FreeSpaceSearches& searches = storage::free_space_searches();
        bson::Builder storage = out.sub_object("storage");
        bson::Builder freelist = storage.sub_object("freelist");
        freelist.append("search",
                        bson::make("bucketExhausted", value(searches.exhausted), "requests",
                                   value(searches.requests), "scanned", value(searches.scanned)));
    }
    bson::Builder ttl = out.sub_object("ttl");
    ttl.append("deletedDocuments", value(metrics.ttl_deleted))
        .append("passes", value(metrics.ttl_passes));
}

// Appends what it is under both names: that of older servers, and that of today's.
void append_repl(const replica::Member& member, bson::Builder& out) {
    append_role(member, "ismaster", out);
    out.append("isWritablePrimary", member.role().takes_writes())
        .append("rbid", 1 + member.rollbacks());
    if (!member.role().follows()) return;
    out.append("syncSourceHost", member.following().syncing_to());
    if (const std::optional<int64_t> lag = member.lag_seconds()) out.append("lagSeconds", *lag);
    out.append("message", member.following().message());
}

struct Section {
    const char* name;
    void (*append)(Service& service, bson::Builder& out);
    enum class Of { all, set, today } of = Of::all;
    void (*append_more)(Service& service, bson::Builder& out) = nullptr;  // for today's clients
};
using Of = Section::Of;

constexpr Section kSections[] = {
    {"asserts", [](Service& s, bson::Builder& out) { append_asserts(s.asserts(), out); }},
    {"backgroundFlushing",
     [](Service& s, bson::Builder& out) { s.durability().append_flush_status(out); }},
    {"connections", [](Service& s, bson::Builder& out) { append_connections(s.context(), out); },
     Of::all,
     [](Service& s, bson::Builder& out) {
         out.append("active", active_connections(s.contexts()));
     }},
    {"cursors", [](Service& s, bson::Builder& out) { append_cursors(s.cursors().counts(), out); }},
    {"dur", [](Service& s, bson::Builder& out) { s.durability().append_dur_status(out); }},
    {"extra_info", [](Service&, bson::Builder& out) { append_extra_info(out); }},
    {"globalLock", [](Service& s, bson::Builder& out) { s.locks().append_global_status(out); }},
    {"indexCounters", [](Service&, bson::Builder& out) { append_index_counters(out); }},
    {"locks", [](Service& s, bson::Builder& out) { s.locks().append_lock_status(out); }},
    {"logicalSessionRecordCache",
     [](Service& s, bson::Builder& out) {
         out.append("activeSessionsCount", static_cast<int32_t>(s.sessions().count()));
     }},
    {"network", [](Service& s, bson::Builder& out) { append_network(s.context(), out); }},
    {"opLatencies", [](Service& s, bson::Builder& out) { s.top().append_latencies(out); },
     Of::today},
    {"opcounters", [](Service& s, bson::Builder& out) { s.counters().append_to(out); }},
    {"opcountersRepl", [](Service&, bson::Builder& out) { OpCounters().append_to(out); }},
    {"recordStats", [](Service& s, bson::Builder& out) { append_record_stats(s.catalog(), out); }},
    {"repl", [](Service& s, bson::Builder& out) { append_repl(*s.context().member, out); },
     Of::set},
    {"transactions",
     [](Service& s, bson::Builder& out) {
         const oplog::Retries& retries = s.context().member->retries();
         const Transactions::Counts counts = s.transactions().counts();
         out.append("retriedCommandsCount", retries.retried_commands())
             .append("retriedStatementsCount", retries.retried_statements())
             .append("currentActive", counts.active)
             .append("currentInactive", counts.inactive)
             .append("currentOpen", counts.active + counts.inactive)
             .append("totalStarted", counts.started)
             .append("totalCommitted", counts.committed)
             .append("totalAborted", counts.aborted);
     },
     Of::set},
};

void append_section(Service& service, bson::Doc request, const Section& section, bool tells_more,
                    bson::Builder& reply) {
    DCHECK(section.of != Of::set || service.context().member != nullptr);
    const bson::Element wanted = request[section.name];
    if (wanted && !wanted.truthy()) return;
    bson::Builder out = reply.sub_object(section.name);
    section.append(service, out);
    if (tells_more && section.append_more != nullptr) section.append_more(service, out);
}

void append_server_status(Service& service, bson::Doc request, bool tells_more,
                          bson::Builder& reply) {
    const ServerContext& context = service.context();
    const int64_t uptime = base::ms_since(context.started);
    const int64_t whole_seconds = uptime / 1000;
    const auto seconds = static_cast<double>(whole_seconds);
    reply.append("host", context.host)
        .append("version", context.version)
        .append("process", "mongod")
        .append("pid", static_cast<int64_t>(getpid()))
        .append("uptime", seconds)
        .append("uptimeMillis", uptime)
        .append("uptimeEstimate", seconds)
        .append_date("localTime", base::ms_since_1970());
    for (const Section& section : kSections) {
        if (std::string_view(section.name) == "dur" && !service.durability().journaling()) continue;
        if (section.of == Of::set && context.member == nullptr) continue;
        if (section.of == Of::today && !tells_more) continue;
        append_section(service, request, section, tells_more, reply);
    }
    // These three are one section to the request.
    if (const bson::Element wanted = request["metrics"]; !wanted || wanted.truthy()) {
        reply.append("writeBacksQueued", false);
        {
            bson::Builder mem = reply.sub_object("mem");
            append_mem(service.durability(), mem);
        }
        bson::Builder metrics = reply.sub_object("metrics");
        append_metrics(service, wanted, tells_more, metrics);
    }
    {
        bson::Builder engine = reply.sub_object("storageEngine");
        engine.append("name", service.engine().name());
    }
    const std::string name(service.engine().name());
    const bson::Element wanted = request[name];
    if (wanted && !wanted.truthy()) return;
    bson::Builder of_engine;
    service.engine().append_metrics(of_engine);
    if (!of_engine.doc().empty()) reply.append(name, of_engine.doc());
}

void run_server_status(Invocation& invocation) {
    append_server_status(invocation.service, invocation.body,
                         invocation.dialect().has(dialect::kRepliesTellMore), *invocation.reply);
}

// Replies with the data that later servers collect each second, of which this one has serverStatus.
// Each part says when it was begun and done.
void run_get_diagnostic_data(Invocation& invocation) {
    const auto now = [](bson::Builder& out, const char* name) {
        out.append_date(name, base::ms_since_1970());
    };
    bson::Builder data = invocation.reply->sub_object("data");
    now(data, "start");
    {
        bson::Builder status = data.sub_object("serverStatus");
        now(status, "start");
        append_server_status(invocation.service, bson::Doc(), true, status);
        status.append("ok", 1.0);
        now(status, "end");
    }
    now(data, "end");
}

void run_cursor_info(Invocation& invocation) {
    append_cursors(invocation.service.cursors().counts(), *invocation.reply);
}

constexpr Command kCommands[] = {
    {"serverStatus", "", kAnyField, LockKind::none, "metrics about the server", run_server_status,
     needs::on_cluster(auth::action::serverStatus)},
    {"getDiagnosticData", "", kAdminOnly, LockKind::none,
     "serverStatus, with the time that it took", run_get_diagnostic_data,
     needs::on_cluster(auth::action::serverStatus)},
    {"cursorInfo", "", 0, LockKind::none, "metrics about open cursors", run_cursor_info,
     needs::on_cluster(auth::action::cursorInfo)},
};

}  // namespace

Family server_status_commands() {
    return kCommands;
}

}  // namespace command

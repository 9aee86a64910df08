#include "command/observe/op_report.h"

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/milliseconds.h"
#include "base/utf8.h"
#include "bson/json.h"
#include "bson/texts.h"
#include "command/observe/secrets.h"

namespace command {

namespace {

constexpr int64_t kLoggedBytes = 8192;
// A document of system.profile stays below 100 KB, as it always did.
constexpr int64_t kProfiledBytes = 48 * 1024;
constexpr int64_t kProfiledTogetherBytes = 2 * kProfiledBytes;
// The old server told the lengths of replies without the head that all messages have.
constexpr int64_t kMessageHeadBytes = 16;

bool is_batch(std::string_view field) {
    return field == "documents" || field == "updates" || field == "deletes";
}

bool is_op_command(const FinishedOp& finished) {
    return std::string_view(finished.op) == "command";
}

// Whether the request is shown as a command.
bool is_command(const FinishedOp& finished, const OpReport& report) {
    return report.as_command || is_op_command(finished);
}

// The metrics in the order of log lines and profile documents, those that are there.
template <typename Number, typename Flag>
void each_metric(const OpReport& report, Number&& number, Flag&& flag) {
    const auto optional = [&](const char* name, int64_t value) {
        if (value != OpReport::kNone) number(name, value);
    };
    optional("ntoreturn", report.to_return);
    optional("ntoskip", report.to_skip);
    optional("nscanned", report.scanned);
    optional("nscannedObjects", report.scanned_objects);
    if (report.id_hack) flag("idhack");
    if (report.scan_and_order) flag("scanAndOrder");
    if (report.moved > 0) {
        if (!report.as_command) flag("moved");
        number("nmoved", report.moved);
    }
    optional("nMatched", report.matched);
    optional("nModified", report.modified);
    optional("ninserted", report.inserted);
    optional("ndeleted", report.deleted);
    if (report.fast_mod) flag(report.as_command ? "fastmod" : "fastmodinsert");
    if (report.upsert) flag("upsert");
    number("keyUpdates", report.key_updates);
}

// An update by operators that inserted what was not found by its _id alone.
bool inserts_by_operators(const OpReport& report) {
    return report.upsert && report.has_update && report.update.first().name().starts_with('$') &&
           !query::is_id_query(report.request);
}

// A getMore by an old message has one also where the client asked for the cursor 0.
bool has_cursor(const FinishedOp& finished, const OpReport& report) {
    const bool asks_on = std::string_view(finished.op) == "getmore" && !report.as_command;
    return report.cursor_id != 0 || asks_on;
}

// Returns what the old server told of an operation: `report` in its terms.
OpReport as_by_old_message(const FinishedOp& finished, const OpReport& report) {
    DCHECK(!report.as_command);
    OpReport told = report;
    const std::string_view op = finished.op;
    const bool failed = report.code != 0;
    const auto examined_nothing = [&told] {
        told.scanned = told.scanned_objects = OpReport::kNone;
    };
    told.reply_bytes -= kMessageHeadBytes;
    told.key_updates = report.last_key_updates;
    told.fast_mod = op == "update" && inserts_by_operators(report);
    if (report.upsert) told.matched = 1;
    if (op == "query") {
        if (failed) examined_nothing();
        return told;
    }
    told.id_hack = told.scan_and_order = false;
    if (op != "command" || report.command_name != "count") told.plan.clear();
    if (op == "insert" && failed)
        told.inserted = report.has_request ? 0 : OpReport::kNone;
    else if (op == "update" && failed && !is_refused(finished, report))
        told.modified = 0;
    if (failed || report.matched == OpReport::kNone)
        examined_nothing();
    else if (op == "command")  // a findAndModify, which had looked for the document before
        told.scanned = told.scanned_objects = report.upsert ? 0 : report.matched;
    return told;
}

bson::Object shown(const FinishedOp& finished, bson::Doc request, int64_t max_bytes) {
    if (holds_users(finished.ns)) return shown_request(first_field(request), max_bytes);
    return shown_request(request, max_bytes);
}

void append_users(const FinishedOp& finished, bson::Builder& out) {
    std::string first;
    {
        bson::Builder all = out.sub_array("allUsers");
        if (finished.users != nullptr) {
            for (const auth::User& user : *finished.users) {
                all.push(bson::make("user", base::as_utf8(user.who.name), "db",
                                    base::as_utf8(user.who.db)));
                if (first.empty()) first = base::as_utf8(user.who.text());
            }
        }
    }
    out.append("user", first);
}

}  // namespace

void OpReport::add(const query::ExecutionStats& before, const query::ExecutionStats& after) {
    const auto raise = [](int64_t& sum, int64_t by) { sum = (sum == kNone ? 0 : sum) + by; };
    raise(scanned, std::max(after.keys_examined, after.docs_examined) -
                       std::max(before.keys_examined, before.docs_examined));
    raise(scanned_objects, after.docs_examined - before.docs_examined);
    scan_and_order |= after.scan_and_order;
    id_hack |= after.id_hack;
}

namespace {

// Returns the request with texts that clients can read, whatever another client has sent.
bson::Object readable(bson::Doc shown) {
    const auto bytes = shown.bytes();
    std::vector<uint8_t> copy(bytes.begin(), bytes.end());
    bson::make_texts_utf8(copy.data());
    return bson::Object(bson::Doc(copy.data()));
}

}  // namespace

// Copies no more than may be shown: requests may be large, and many.
bson::Object shown_request(bson::Doc request, int64_t max_bytes) {
    constexpr int64_t kEndBytes = 1;
    constexpr int64_t kNumberBytes = 6;  // of an int32, without its name
    if (request.size() <= max_bytes) return readable(request);
    bson::Builder out;
    for (const bson::Element& e : request) {
        const bool counted = e.is_array() && is_batch(e.name());
        const int64_t bytes = counted ? kNumberBytes + std::ssize(e.name()) : e.size();
        if (static_cast<int64_t>(out.size()) + bytes + kEndBytes > max_bytes)
            return bson::make("$msg",
                              fmt::format("{} bytes are too many to show here", request.size()));
        if (counted)
            out.append(e.name(), static_cast<int32_t>(e.as_doc().field_count()));
        else
            out.append(e);
    }
    const bson::Doc whole = out.doc();
    DCHECK(whole.size() <= max_bytes);
    return readable(whole);
}

namespace {

// Returns the request with the number of items in place of several items of a write command.
bson::Object with_counts(bson::Doc request) {
    bson::Builder out;
    for (const bson::Element& e : request) {
        const int64_t items = e.is_array() && is_batch(e.name()) ? e.as_doc().field_count() : 0;
        if (items > 1)
            out.append(e.name(), static_cast<int32_t>(items));
        else
            out.append(e);
    }
    return out.object();
}

std::string logged_request(const FinishedOp& finished, const OpReport& report) {
    if (!is_op_command(finished))
        return bson::to_text(shown(finished, report.request, kLoggedBytes).doc());
    const bson::Object counted = report.as_command ? bson::Object() : with_counts(report.request);
    const bson::Doc request = report.as_command ? report.request : counted.doc();
    const std::string_view name = report.command_name.empty() || report.as_command
                                      ? request.first().name()
                                      : report.command_name;
    return fmt::format("{} {}", name, bson::to_text(shown(finished, request, kLoggedBytes).doc()));
}

std::string line_of(const FinishedOp& finished, const OpReport& report) {
    const bool as_once = !report.as_command;
    std::string line = fmt::format("{} {}", finished.op, finished.ns);
    if (report.has_request && !(as_once && report.request.empty())) {
        line += is_command(finished, report) ? " command: " : " query: ";
        line += logged_request(finished, report);
    }
    if (!report.plan.empty()) line += fmt::format(" planSummary: {}", report.plan);
    if (report.has_update)
        line += fmt::format(" update: {}",
                            bson::to_text(shown(finished, report.update, kLoggedBytes).doc()));
    if (has_cursor(finished, report)) line += fmt::format(" cursorid:{}", report.cursor_id);
    each_metric(
        report,
        [&](const char* name, int64_t value) {
            if (as_once && value < 0) return;
            line += fmt::format(" {}:{}", name, value);
        },
        [&line](const std::string_view name) {
            if (name != "moved") line += fmt::format(" {}:1", name);
        });
    if (report.code != 0)
        line += fmt::format(" exception: {} code:{}", report.exception, report.code);
    const std::string_view op = finished.op;
    const bool reads =
        finished.locks.locked_read > 0 || (as_once && (op == "query" || op == "getmore"));
    line += fmt::format(" numYields:{} ", finished.yields);
    if (!as_once || reads || finished.locks.locked_write > 0) line += "locks(micros)";
    if (reads) line += fmt::format(" r:{}", finished.locks.locked_read);
    if (finished.locks.locked_write > 0) line += fmt::format(" w:{}", finished.locks.locked_write);
    if (report.returned != OpReport::kNone) line += fmt::format(" nreturned:{}", report.returned);
    if (report.reply_bytes > 0) line += fmt::format(" reslen:{}", report.reply_bytes);
    return line + fmt::format(" {}ms", finished.millis);
}

bson::Object document_of(const FinishedOp& finished, const OpReport& report) {
    bson::Builder out;
    out.append("op", finished.op).append("ns", base::as_utf8(finished.ns));
    const int64_t bytes = (report.has_request ? report.request.size() : 0) +
                          (report.has_update ? report.update.size() : 0);
    const int64_t bytes_max = !report.as_command && bytes <= kProfiledTogetherBytes
                                  ? kProfiledTogetherBytes
                                  : kProfiledBytes;
    if (report.has_request)
        out.append(is_command(finished, report) ? "command" : "query",
                   shown(finished, report.request, bytes_max));
    if (report.has_update) out.append("updateobj", shown(finished, report.update, bytes_max));
    if (has_cursor(finished, report)) out.append("cursorid", report.cursor_id);
    each_metric(
        report, [&out](const char* name, int64_t value) { out.append_number(name, value); },
        [&out](const char* name) { out.append(name, true); });
    out.append_number("numYield", finished.yields);
    {
        bson::Builder locks = out.sub_object("lockStats");
        const auto times = [&locks](const char* name, int64_t read, int64_t write) {
            bson::Builder entry = locks.sub_object(name);
            entry.append("r", read).append("w", write);
        };
        times("timeLockedMicros", finished.locks.locked_read, finished.locks.locked_write);
        times("timeAcquiringMicros", finished.locks.acquiring_read, finished.locks.acquiring_write);
    }
    if (report.code != 0)
        out.append("exception", report.exception).append("exceptionCode", report.code);
    if (report.returned != OpReport::kNone) out.append_number("nreturned", report.returned);
    if (report.reply_bytes > 0) out.append_number("responseLength", report.reply_bytes);
    out.append_number("millis", finished.millis);
    {
        bson::Builder stats = out.sub_object("execStats");
        if (report.stages != nullptr)
            stats.append_all(*report.stages);
        else if (report.as_command && !report.plan.empty())
            stats.append("summary", base::as_utf8(report.plan));
    }
    out.append_date("ts", base::ms_since_1970());
    out.append("client", finished.client.substr(0, finished.client.rfind(':')));
    append_users(finished, out);
    return out.object();
}

}  // namespace

bool is_refused(const FinishedOp& finished, const OpReport& report) {
    const sched::LockTimes& times = finished.locks;
    return !report.as_command && report.code != 0 && std::string_view(finished.op) != "query" &&
           times.locked_read + times.locked_write + times.acquiring_read + times.acquiring_write ==
               0;
}

std::string report_line(const FinishedOp& finished, const OpReport& report) {
    return line_of(finished, report.as_command ? report : as_by_old_message(finished, report));
}

bson::Object report_document(const FinishedOp& finished, const OpReport& report) {
    return document_of(finished, report.as_command ? report : as_by_old_message(finished, report));
}

std::string assertion_line(std::string_view ns, const OpReport& report) {
    return fmt::format("assertion {} {} ns:{} query:{}", report.code, report.exception, ns,
                       bson::to_text(shown_request(report.request, kLoggedBytes).doc()));
}

}  // namespace command

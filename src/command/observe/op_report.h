// command/observe/op_report.h - what one operation did, as a line in the log (when it was slow) and
// as a document in system.profile (wire spec 6.3).
//
// The thread that runs the operation fills a report on the way; views point into the message being
// served. Nothing here locks.
//
// The room observe: what is counted and kept of operations that are over. It knows no client and no
// request: what runs one fills a report.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "auth/user.h"
#include "bson/builder.h"
#include "query/plan/executor.h"
#include "sched/operation.h"

namespace command {

struct OpReport {
    static constexpr int64_t kNone = -1;  // the operation has no such metric
    static constexpr int kLevelOfDatabase = -1;

    bson::Doc request;  // the query, the inserted document, or the command
    bool has_request = false;
    // Whether the request came by OP_MSG: `request` is then shown as a command, whatever was done.
    // If not, the operation is described as by the old server.
    bool as_command = false;
    std::string_view command_name;  // as the server writes it
    bson::Doc update;
    bool has_update = false;
    std::string plan;  // planSummary
    int64_t cursor_id = 0;
    int64_t left_open = 0;  // the cursor that goes on after it
    int64_t to_return = kNone, to_skip = kNone;
    int64_t scanned = kNone, scanned_objects = kNone;
    int64_t matched = kNone, modified = kNone, inserted = kNone, deleted = kNone;
    int64_t moved = 0, key_updates = 0;
    int64_t last_key_updates = 0;  // of the last document that did not move
    int64_t returned = kNone, reply_bytes = kNone;
    int64_t idle_millis = 0;  // in which it waited for something to tell, and did nothing
    bool scan_and_order = false, id_hack = false, fast_mod = false, upsert = false;
    bool wants_stages = false;
    bool comes_again = false;  // it has done nothing, and is begun anew (Deferred, context/locks.h)
    std::shared_ptr<const bson::Object> stages;  // execStats; null: none
    int profiled_at = kLevelOfDatabase;          // the profiling level that decides about it
    int code = 0;                                // 0: no error
    std::string exception;

    void failed(int with_code, std::string_view text) {
        code = with_code;
        exception = text;
    }
    // Adds what an execution did since `before`.
    void add(const query::ExecutionStats& before, const query::ExecutionStats& after);
};

// One operation that is over.
struct FinishedOp {
    const char* op = "none";  // query, getmore, insert, update, remove, command
    std::string_view ns;
    std::string_view client;                         // "address:port"
    const std::vector<auth::User>* users = nullptr;  // who had logged in there; null: none
    int64_t millis = 0;
    int64_t yields = 0;
    sched::LockTimes locks;
};

// Whether a request by an old message failed before it did anything: the old server did so before
// it took a lock, and then kept no entry of it.
bool is_refused(const FinishedOp& finished, const OpReport& report);

// "query test.c query: { a: 1 } planSummary: ... 12ms".
std::string report_line(const FinishedOp& finished, const OpReport& report);
// { op, ns, query | command, updateobj, ..., ts, client, allUsers, user }.
bson::Object report_document(const FinishedOp& finished, const OpReport& report);

// Returns the line that the old server wrote about a query that failed, besides its usual one.
std::string assertion_line(std::string_view ns, const OpReport& report);

// A request as shown in the log, in system.profile and by currentOp: the items of a write command
// are only counted, and what is still longer than `max_bytes` is replaced by a note.
bson::Object shown_request(bson::Doc request, int64_t max_bytes);

}  // namespace command

// command/cursor/query_cursors.h - cursors over the documents of a collection: opening one, keeping
// it between batches, going on with it. Shared by find, getMore, the old opcodes and others.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "command/context/locks.h"
#include "command/cursor/batch.h"
#include "command/cursor/cursors.h"
#include "query/plan/executor.h"

namespace command {

class Client;
class Profiler;

// Throws base::Error 2 unless a tailable cursor can have this sort: none, or natural order.
void check_tailable_sort(bson::Doc sort);

// Throws base::Error 2 unless a query for a replay of an oplog says from which `ts` on, at the top
// of its filter: $gt or $gte.
void check_oplog_replay(bson::Doc filter);

// Returns how to run a query of a client, as the server's parameters have it: what else it asks for
// is added to that.
query::ExecutorOptions execution_options();

// Plans a canonical query and makes a cursor of it (shared lock held).
std::unique_ptr<Cursor> open_cursor(CollectionLock& lock, query::FindQuery query);

// Adds what a query has done since `before` to the server's metrics and to the report of the
// running request. `first`: it has just been planned.
void report_query(OperationContext& context, const query::Executor& executor,
                  const query::ExecutionStats& before, bool first);
// Adds only what it has looked at.
void report_scan(OperationContext& context, const query::ExecutionStats& before,
                 const query::ExecutionStats& now);
// The same for one look into the _id index, which needs no plan.
void report_id_lookup(OperationContext& context, int64_t found);
// An operation by the old messages on `ns` is over, after `millis`: adds what it has looked at to
// the metrics where the log or system.profile tells of it, as the old server did.
void count_scans_if_told(OperationContext& context, const Profiler& profiler, std::string_view ns,
                         int64_t millis);

// Reports the query after its first batch and keeps the cursor for more; returns its id. Returns 0
// if there is no more to come, and the cursor stays with the caller. It may hold much, which takes
// long to free, so the caller ends it when it has given up the lock.
int64_t keep_cursor(CursorManager& cursors, CollectionLock& lock, std::unique_ptr<Cursor>& cursor,
                    bool exhausted, bool close);

// One further batch of a cursor.
struct GetMore {
    int64_t id = 0;
    std::string ns;
    BatchLimits limits;
    std::chrono::milliseconds await{0};  // how long awaitData waits
    bool await_is_given = false;         // by the client: for other cursors it would mean nothing
    int wrong_ns_code = base::kUnauthorized;
    bool need_collection = false;  // the collection of that name must exist (the old way)
    int64_t returned = 0;          // set by get_more: documents before this batch

    enum class Status { done, not_found, wait };
    struct Result {
        Status status = Status::not_found;
        int64_t next_id = 0;  // 0: exhausted
        int64_t starting_from = 0;
        bson::Object resume_token = {};  // see CursorSource
        bool shows_majority = false;     // see Cursor
        // Status::wait: by when it is to be served again at the latest.
        sched::Operation::Clock::time_point look_again = {};
    };
};
using BatchFiller = std::function<int64_t(Cursor&, const BatchLimits&, bool* exhausted)>;
// Throws base::Error 17356 (collection gone), 13 (another namespace), 50736 to 50738 (another
// session), 2 (a time to wait for a cursor that does not), 12051 (in use), and what the query
// throws; the cursor has ended then, except for the wrong namespace, session or time.
// REQUIRES: the client may go on with it (admit_get_more).
GetMore::Result get_more(CursorManager& cursors, Client& client, GetMore& work,
                         const BatchFiller& fill);

}  // namespace command

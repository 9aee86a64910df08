// command/find.h - opening a cursor over a collection and going on with it: shared by find,
// getMore, the old opcodes and explain.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "command/batch.h"
#include "command/cursors.h"
#include "command/locks.h"
#include "query/plan/executor.h"

namespace command {

// A find command, not yet canonicalised. Views point into the command.
struct FindRequest {
    query::FindQuery query;
    query::FindQuery::Parts parts;
    int64_t batch_size = -1;  // -1: default
    bool single_batch = false;
    bool await_data = false;
    bool no_timeout = false;
};
// Throws base::Error 9 (unknown field), 14, 2, 72.
FindRequest parse_find(bson::Doc command);

// Plans a canonical query and makes a cursor of it (shared lock held).
std::unique_ptr<Cursor> open_cursor(Service& service, CollectionLock& lock, query::FindQuery query);

// Adds what a query has done since `before` to the server's figures and to the report of the
// running request (null: there is none). `first`: it has just been planned.
void report_query(Service& service, CurrentRequest* current, const query::Executor& executor,
                  const query::ExecutionStats& before, bool first);
// The same for one look into the _id index, which needs no plan.
void report_id_lookup(Service& service, CurrentRequest* current, int64_t found);

// After the first batch: reports the query, keeps the cursor for more, or ends it. Returns its id,
// or 0.
int64_t keep_cursor(Service& service, CollectionLock& lock, std::unique_ptr<Cursor> cursor,
                    bool exhausted, bool close);

// One further batch of a cursor.
struct GetMore {
    int64_t id = 0;
    std::string ns;
    BatchLimits limits;
    std::chrono::milliseconds await{0};  // how long awaitData waits
    int wrong_ns_code = base::kUnauthorized;
    bool need_collection = false;  // the collection of that name must exist (the old way)
    int64_t returned = 0;          // set by get_more: documents before this batch

    enum class Status { done, not_found, wait };
    struct Result {
        Status status = Status::not_found;
        int64_t next_id = 0;  // 0: exhausted
        int64_t starting_from = 0;
    };
};
using BatchFiller = std::function<int64_t(Cursor&, const BatchLimits&, bool* exhausted)>;
// Throws base::Error 17356 (collection gone), 13 (another namespace), 12051 (in use), and what the
// query throws; the cursor has ended then, except for the wrong namespace.
GetMore::Result get_more(ClientSession& session, GetMore& work, const BatchFiller& fill);

}  // namespace command

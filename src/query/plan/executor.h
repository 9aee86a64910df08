// query/plan/executor.h - running a query plan: documents one at a time, with places to give the
// lock up.
//
// An Executor is made under the collection's database lock (shared is enough; exclusive for
// writers) and pulls from the collection's cursors. Between batches the owner calls save(), gives
// the lock up, takes it again and calls restore(). During long scans the executor does the same by
// itself at its sched::YieldPoint.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bson/builder.h"
#include "catalog/collection.h"
#include "query/plan/query.h"
#include "sched/yield_point.h"

namespace query {

// Names the work for sched::WorkLimit.
constexpr const char* kMatchWork = "the match of one document";

// Throws base::Error 17356, for a sched::YieldPoint that says that the collection, or the index in
// use, has gone. Cursors on that collection may only be destroyed afterwards.
[[noreturn]] void throw_dropped(const std::string& ns);

struct Row {
    bson::Doc doc;         // the stored document (valid until the next call, save or write), or the
                           // covered/key document
    storage::RecordId id;  // null for covered rows without a fetch
    MatchDetails details;
    bool projected = false;  // doc is already the projection's result (covered query, returnKey)
    // doc is a copy of what matched, valid until the next next(): in rows of a sort, and of filters
    // that run scripts.
    bool outlives_save = false;
};

// The counts of an execution that explain shows.
struct ExecutionStats {
    int64_t returned = 0;       // n
    int64_t keys_examined = 0;  // with documents of collection scans: nscanned
    int64_t docs_examined = 0;  // nscannedObjects
    int64_t yields = 0;
    bool scan_and_order = false;
    bool index_only = false;
    bool id_hack = false;
};

struct ExplainReport;  // query/plan/explain.h

// The record of a capped collection at which a scan stood was overwritten while the scan waited.
class PositionLost : public base::Error {
  public:
    PositionLost()
        : Error(17406, "collection scan died: its place in the capped collection was overwritten") {
    }
};

class Executor {
  public:
    virtual ~Executor() = default;
    // The next row, or false at the end. skip and limit are already applied; the projection is not
    // (see Row::projected), so that the caller can write the projected document straight into its
    // reply.
    virtual bool next(Row* row) = 0;
    virtual bool at_end() const = 0;  // known to be exhausted without looking further
    // Whether next() has another row, where that takes no search: the next key or document, if any,
    // is a row for sure. Else yes. After a first batch the old server knew the end in these cases,
    // and then gave no cursor.
    virtual bool more_to_come() = 0;
    // The row of the last next() comes again: as it is then, and not at all if it was removed.
    // REQUIRES: called right after that next().
    virtual void put_back() = 0;
    // Of the last row of a filter with $near, as the index measures. REQUIRES: such a filter.
    virtual double distance() const { return 0; }

    // Yields between two next() if other operations wait: saves, releases the lock, restores.
    virtual void maybe_yield() = 0;
    virtual void save() = 0;
    virtual void restore() = 0;  // throws base::Error when the place is lost
    // for_write: a record that the caller itself has just stored or moved; it is not returned
    // (again).
    virtual void skip_record(storage::RecordId id) = 0;
    // Sets the yield point; between batches the one of the next batch replaces the old one.
    virtual void set_yield_point(sched::YieldPoint* point) = 0;

    virtual const FindQuery& query() const = 0;
    virtual ExecutionStats stats() const = 0;
    // planSummary of logs: "COLLSCAN", "IXSCAN { a: 1 }", "IDHACK", "EOF".
    virtual std::string summary() const = 0;
    // Returns the plans, and what was done so far, for the functions of explain.h. It points into
    // this.
    virtual ExplainReport report() const = 0;
};

// Which side conditions the caller has.
struct ExecutorOptions {
    bool for_write =
        false;  // rows will be updated or removed while scanning: never scan an index that the
                // change could move rows ahead in without remembering what was seen
    bool count_only =
        false;  // rows' documents are not examined: count from keys where the filter allows it
    bool no_table_scan =
        false;  // parameter notablescan: throw Error 2 instead of scanning a collection
    bool avoid_sorting =
        false;  // the order of an index, or none: where no index gives it, the query has no sort
    std::string scratch_directory;  // for FindQuery::allow_disk_use; empty: the system's
};

// Plans and starts. `collection` may be null (missing collection: no rows). Takes the query over.
// Throws base::Error 2 (bad hint), 10366..., as the planner finds things.
std::unique_ptr<Executor> make_executor(catalog::Collection* collection, FindQuery query,
                                        const ExecutorOptions& options,
                                        sched::YieldPoint* yield_point);

// The fast path of {_id: value} with nothing else: the record or none. `filter` must satisfy
// is_id_query.
bool is_id_query(bson::Doc filter);
storage::RecordId find_by_id(const catalog::Collection& collection, const bson::Element& id);
// Whether there is an index on `_id` that finds by this collation; null: by bytes.
bool finds_by_id(const catalog::Collection& collection, const collation::Collator* collator);

// How many documents match, after skip and up to limit: by index alone where possible.
struct Count {
    int64_t n = 0;
    ExecutionStats stats;
    std::string plan;  // as Executor::summary()
};
Count count(catalog::Collection* collection, FindQuery query, const ExecutorOptions& options,
            sched::YieldPoint* yield_point);

}  // namespace query

// query/plan/explain.h - what explain says of an execution, in the forms of 2.6 and of today (wire
// spec 3.7).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "query/plan/plan_run.h"

namespace query {

struct ExplainReport {
    const FindQuery& query;
    ExecutionStats stats;
    const Plan* plan;  // null: look-up by _id, or no collection
    std::vector<PlanRun::BranchStats> branches;
    int64_t sort_bytes = 0;                      // of the documents sorted in memory
    std::vector<PlanRun::BranchStats> top = {};  // PlanRun::top_stats
    // Plans that were tried and lost, with what they did during the trial.
    std::vector<ExplainReport> rejected = {};
    int64_t dropped = 0;          // PlanRun::dropped
    bool ended_in_trial = false;  // it had the whole answer before it was chosen
    bool has_collection = true;
    bool has_lost = false;  // it is one of `rejected`
};

// The facts that a explain of 2.6 shows and the execution does not know.
struct ExplainV26 {
    int64_t millis = 0;
    std::string_view server;  // "host:port"; empty: not shown
    bool verbose = false;     // with allPlans, filterSet, stats
};

// The stage of a command that takes what its query finds: it stands above the others.
struct TopStage {
    std::string_view name;    // COUNT, UPDATE, DELETE; empty: there is none
    std::string_view counts;  // the field that says how many it took
    bool passes_on = false;   // returns them (findAndModify)
    struct Changes {
        int64_t modified = 0;  // of those it took
        int64_t upserted = 0;
    };
    std::optional<Changes> would = {};  // make, of an UPDATE that was executed
};

// The facts that the explain command shows and the execution does not know.
struct CommandExplain {
    std::string_view ns;  // as asked; there may be no such collection
    int64_t millis = 0;
    bool execution_stats = false;  // not only the plan
    bool all_plans = false;        // with executionStats.allPlansExecution: those that were tried
    TopStage top = {};
    // As today's servers show it (explain_of_today.cpp).
    bool of_today = false;
    bson::Doc projection = {};  // as asked
    bool counts_keys = false;   // a count that reads no documents where the keys tell
    bool skips_keys = false;    // a distinct that reads one key for each value
};

// cursor, isMultiKey, n, nscannedObjects, nscanned, ..., indexBounds, clauses.
void append_explain_v26(bson::Builder& out, const ExplainReport& report, const ExplainV26& how);

// Returns how much the old server examined for a sort in memory of which it knew how many rows were
// asked for: the top ones, and, if those were not enough (`wants_more`), all once more. Nothing for
// other plans.
std::optional<ExecutionStats> sort_with_limit(const ExplainReport& report, bool wants_more);

// The plan without counts, as the old aggregation reported it: cursor, isMultiKey, scanAndOrder,
// indexBounds (or clauses), and allPlans, which names it again.
void append_plan_v26(bson::Builder& out, const ExplainReport& report);

// `stats` of a explain of 2.6: what each stage would have counted in the old server, from the last
// to the first (type, works, advanced, ..., children).
void append_stage_counts(bson::Builder& out, const ExplainReport& report);

// queryPlanner and, if wanted, executionStats.
void append_explain(bson::Builder& out, const ExplainReport& report, const CommandExplain& how);

// The same in the shape of today's servers: bounds are texts, filters stand where they are applied.
void append_explain_of_today(bson::Builder& out, const ExplainReport& report,
                             const CommandExplain& how);

// Returns bounds as they are shown: the keys of an index with a collation are bytes, no texts.
// Made-up values go to `arena`.
IntervalList readable(IntervalList list, const catalog::Index& index, ValueArena& arena);

// Appends `indexBounds` of a scan, as they are shown.
void append_bounds(bson::Builder& out, const ScanPlan& scan);

}  // namespace query

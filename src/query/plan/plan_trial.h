// query/plan/plan_trial.h - which of several plans is the best: all run for a while, in turn, and
// what they have achieved is compared (wire spec 3.7).
#pragma once

#include <cstdint>
#include <vector>

#include "query/plan/plan_run.h"
#include "sched/yield_point.h"

namespace query {

// A plan that lost, and what it had done by then.
struct Rejected {
    Plan plan;
    std::vector<PlanRun::BranchStats> branches;
    int64_t returned = 0;
};

// What the winner had done by then.
struct Won {
    bool ended = false;  // it had the whole answer
    std::vector<PlanRun::BranchStats> branches;
};

// Lets the plans compete; they yield as a scan does (at `yield_point`, if any). Returns the winner;
// the others go to `rejected`. Throws base::Error when the last plan standing fails, and when the
// collection has gone.
Plan best_plan(catalog::Collection& collection, const FindQuery& query,
               const ExecutorOptions& options, std::vector<Plan> plans,
               std::vector<Rejected>& rejected, Won& won, sched::YieldPoint* yield_point);

}  // namespace query

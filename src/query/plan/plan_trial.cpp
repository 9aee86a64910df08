#include "query/plan/plan_trial.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/dcheck.h"
#include "sched/operation.h"

namespace query {

namespace {

// A competition ends when one plan has produced this many rows, is finished, or all have had this
// much work.
constexpr int64_t kTrialRows = 101;
constexpr int64_t kTrialWorks = 10000;
constexpr double kTrialFraction = 0.3;

// The cost of starting a plan (sched/tick.h).
constexpr int64_t kTicksPerPlan = 64;

// Scores a plan by its results per unit of work, with small bonuses that break ties: no document
// fetched, no sort.
double score(const PlanRun& run) {
    const auto works = static_cast<double>(std::max<int64_t>(run.works(), 1));
    const double epsilon = std::min(1.0 / (10 * works), 1e-4);
    double value = 1.0 + static_cast<double>(run.advanced()) / works + epsilon;
    if (run.plan().covered) value += epsilon;
    if (!run.plan().blocking_sort) value += epsilon;
    if (run.ended()) value += 1;  // it has the whole answer
    return value;
}

// The plans that compete. `ns`: the collection, which may be dropped while the lock is given up.
class Runs final : public std::vector<std::unique_ptr<PlanRun>>, public Detaching {
  public:
    Runs(std::string ns, sched::YieldPoint* yield_point) : ns_(std::move(ns)), loop_(yield_point) {}

    // Yields between two pieces of work.
    void yield_if_due() {
        if (!loop_.is_due()) return;
        if (!loop_.yield([this] { save(); }, [this] { restore(); })) throw_dropped(ns_);
    }
    bool detached(const std::function<void()>& work) override {
        const auto point = loop_.detached(
            kMatchWork, work, [this] { save(); }, [this] { restore(); });
        if (point == sched::LongLoop::Point::gone) throw_dropped(ns_);
        return point == sched::LongLoop::Point::given_up;
    }

  private:
    void save() {
        for (const auto& run : *this)
            run->save();
    }
    void restore() {
        for (const auto& run : *this)
            run->restore();
    }

    const std::string ns_;
    sched::LongLoop loop_;
};

}  // namespace

Plan best_plan(catalog::Collection& collection, const FindQuery& query,
               const ExecutorOptions& options, std::vector<Plan> plans,
               std::vector<Rejected>& rejected, Won& won, sched::YieldPoint* yield_point) {
    DCHECK(!plans.empty());
    Runs runs(collection.ns(), yield_point);
    for (const Plan& plan : sched::ticked(plans, kTicksPerPlan))
        runs.push_back(std::make_unique<PlanRun>(collection, query, options, plan, runs));
    const int64_t limit = std::max(
        kTrialWorks,
        static_cast<int64_t>(kTrialFraction * static_cast<double>(collection.records().count())));
    int64_t wanted = kTrialRows;
    if (query.sorted_rows() > 0) wanted = std::min(wanted, query.sorted_rows());
    DCHECK(wanted > 0 && limit >= kTrialWorks);
    bool decided = false;
    Row row;
    std::vector<bool> failed(runs.size());
    auto standing = static_cast<int64_t>(runs.size());
    for (int64_t round = 0; round < limit && !decided; ++round) {
        for (size_t i = 0; i < runs.size(); ++i) {
            if (failed[i]) continue;
            sched::tick();
            runs.yield_if_due();
            PlanRun& run = *runs[i];
            try {
                // A plan that looks at several keys at once waits for the others.
                if (run.works() <= round && !run.ended()) run.work(&row);
                const bool done = run.ended() || run.advanced() >= wanted;
                if (done && run.works() <= round + 1) decided = true;
            } catch (const SortError&) {
                // It outgrows the memory; another plan may get by.
                if (standing == 1) throw;
                failed[i] = true;
                --standing;
            }
        }
        if (standing == 1) decided = true;
    }
    DCHECK(standing > 0 && standing == std::ranges::count(failed, false));
    size_t best = 0;
    while (failed[best])
        ++best;
    for (size_t i = best + 1; i < runs.size(); ++i)
        if (!failed[i] && score(*runs[i]) > score(*runs[best])) best = i;
    const auto branches = [](const PlanRun& run) {
        std::vector<PlanRun::BranchStats> all;
        for (size_t branch = 0; branch < std::max<size_t>(run.plan().scans.size(), 1); ++branch)
            all.push_back(run.branch_stats(branch));
        return all;
    };
    won = {runs[best]->ended(), branches(*runs[best])};
    for (size_t i = 0; i < runs.size(); ++i) {
        if (i != best)
            rejected.push_back({std::move(plans[i]), branches(*runs[i]), runs[i]->advanced()});
    }
    return std::move(plans[best]);
}

}  // namespace query

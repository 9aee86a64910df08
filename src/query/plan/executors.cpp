// The two ways to run a query: by a plan, and past all planning by _id.

#include "query/plan/executor.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/thread_scratch.h"
#include "bson/order_of_today.h"
#include "catalog/names.h"
#include "query/plan/explain.h"
#include "query/plan/interval.h"
#include "query/plan/plan_run.h"
#include "query/plan/plan_trial.h"
#include "sched/operation.h"
#include "storage/lock.h"

namespace query {

namespace {

constexpr size_t kKeptKeyBytes = 64 << 10;

ExecutionStats sum(const Plan& plan, const std::vector<PlanRun::BranchStats>& branches) {
    ExecutionStats stats;
    for (const PlanRun::BranchStats& branch : branches) {
        stats.keys_examined += branch.keys_examined;
        stats.docs_examined += branch.docs_examined;
    }
    stats.scan_and_order = plan.blocking_sort;
    stats.index_only = plan.covered;
    return stats;
}

class PlannedExecutor final : public Executor, public Detaching {
  public:
    PlannedExecutor(catalog::Collection* collection, FindQuery query,
                    const ExecutorOptions& options, sched::YieldPoint* yield_point)
        : query_(std::move(query)),
          options_(options),
          yield_point_(yield_point),
          loop_(yield_point) {
        if (collection == nullptr) return;
        ns_ = collection->ns();
        Plan chosen = choose_plan(*collection);
        if (options_.avoid_sorting && chosen.blocking_sort) {
            query_.drop_sort();
            chosen = choose_plan(*collection);
        }
        for (const ScanPlan& scan : chosen.scans)
            scan.index->count_use();
        run_ = std::make_unique<PlanRun>(*collection, query_, options_, std::move(chosen), *this);
    }

    bool next(Row* row) override {
        if (run_ == nullptr) return false;
        if (query_.limit > 0 && returned_ >= query_.limit) return false;
        if (at_end_ && !query_.tailable) return false;
        if (holds_row_) {
            *row = held_;
            holds_row_ = false;
        } else if (!find_row(row)) {
            return false;
        }
        ++returned_;
        DCHECK(query_.limit <= 0 || returned_ <= query_.limit);
        return true;
    }

    bool at_end() const override {
        return run_ == nullptr || at_end_ || (query_.limit > 0 && returned_ >= query_.limit);
    }

    bool more_to_come() override {
        if (at_end()) return false;
        if (!holds_row_ && next_is_near()) holds_row_ = find_row(&held_);
        return holds_row_ || !next_is_near();
    }

    void put_back() override {
        DCHECK(returned_ > 0 && !holds_row_);
        --returned_;
        run_->put_back();
    }

    void save() override {
        if (run_ == nullptr) return;
        if (summary_.empty()) summary_ = summarise(run_->plan());
        // The row that was found ahead is looked up again: it may change while the lock is given
        // up.
        if (holds_row_) run_->put_back();
        holds_row_ = false;
        run_->step_ahead();
        run_->save();
    }
    void restore() override {
        if (run_ != nullptr) run_->restore();
    }
    void maybe_yield() override {
        if (run_ == nullptr) return sched::Operation::check();
        const auto save_position = [this] {
            if (holds_row_) run_->put_back();
            holds_row_ = false;
            run_->save();
        };
        if (loop_.yield(save_position, [this] { run_->restore(); })) return;
        run_.reset();
        throw_dropped(ns_);
    }

    double distance() const override { return run_ == nullptr ? 0 : run_->distance(); }
    void skip_record(storage::RecordId id) override {
        if (run_ != nullptr) run_->skip_record(id);
    }
    void set_yield_point(sched::YieldPoint* point) override { loop_.set_point(point); }

    const FindQuery& query() const override { return query_; }

    ExecutionStats stats() const override {
        ExecutionStats stats;
        if (run_ != nullptr) {
            std::vector<PlanRun::BranchStats> branches;
            for (size_t i = 0; i < branch_count(); ++i)
                branches.push_back(run_->branch_stats(i));
            stats = sum(run_->plan(), branches);
            // A write stops by itself where it has enough, not so the trial; a limit is in both.
            if (options_.for_write && !won_.branches.empty()) {
                const ExecutionStats trial = sum(run_->plan(), won_.branches);
                stats.keys_examined = std::max(stats.keys_examined, trial.keys_examined);
                stats.docs_examined = std::max(stats.docs_examined, trial.docs_examined);
            }
        }
        stats.returned = returned_;
        stats.yields = loop_.yields();
        return stats;
    }

    std::string summary() const override {
        if (run_ == nullptr) return "EOF";
        return summary_.empty() ? summarise(run_->plan()) : summary_;
    }

    ExplainReport report() const override {
        ExplainReport report{query_, {}, run_ == nullptr ? nullptr : &run_->plan(), {}};
        if (run_ != nullptr) {
            // A scan that is stopped by the limit counts no key ahead.
            const int64_t limit = query_.limit != 0 ? query_.limit : query_.top;
            const bool stopped = limit != 0 && returned_ >= limit;
            for (size_t i = 0; i < branch_count(); ++i)
                report.branches.push_back(stopped ? run_->branch_stats(i)
                                                  : run_->final_branch_stats(i));
            report.sort_bytes = run_->sort_bytes();
            report.top = run_->top_stats();
            report.dropped = run_->dropped();
        }
        report.has_collection = run_ != nullptr;
        report.ended_in_trial = won_.ended;
        report.stats = stats();
        for (const Rejected& other : rejected_) {
            ExplainReport lost{query_, sum(other.plan, other.branches), &other.plan,
                               other.branches};
            lost.stats.returned = other.returned;
            lost.has_lost = true;
            report.rejected.push_back(std::move(lost));
        }
        return report;
    }

  private:
    Plan choose_plan(catalog::Collection& collection) {
        std::vector<Plan> plans = make_plans(collection, query_, options_, yield_point_);
        if (plans.size() == 1) return std::move(plans[0]);
        return best_plan(collection, query_, options_, std::move(plans), rejected_, won_,
                         yield_point_);
    }

    // The next row behind those that the query skips.
    bool find_row(Row* row) {
        for (;;) {
            if (loop_.is_due()) maybe_yield();
            const PlanRun::Work work = work_on(row);
            if (work == PlanRun::Work::end) {
                at_end_ = true;
                return false;
            }
            if (work != PlanRun::Work::advanced) continue;
            if (skipped_ < query_.skip) {
                ++skipped_;
                continue;
            }
            return true;
        }
    }

    PlanRun::Work work_on(Row* row) {
        try {
            return run_->work(row);
        } catch (...) {
            if (has_gone_) run_.reset();
            throw;
        }
    }

    bool detached(const std::function<void()>& work) override {
        DCHECK(!holds_row_);
        const auto point = loop_.detached(
            kMatchWork, work, [this] { run_->save(); }, [this] { run_->restore(); });
        has_gone_ = point == sched::LongLoop::Point::gone;
        if (has_gone_) throw_dropped(ns_);
        return point == sched::LongLoop::Point::given_up;
    }

    bool next_is_near() const {
        if (run_->gives_top_rows() || run_->plan().near != nullptr) return false;
        if (query_.matcher->filter().empty()) return true;
        const Plan& plan = run_->plan();
        return plan.blocking_sort || (plan.scans.size() == 1 && !plan.check_document);
    }

    size_t branch_count() const { return std::max<size_t>(run_->plan().scans.size(), 1); }

    FindQuery query_;
    ExecutorOptions options_;
    sched::YieldPoint* const yield_point_;  // while plans compete
    sched::LongLoop loop_;
    std::string ns_;
    std::vector<Rejected> rejected_;
    Won won_;
    std::unique_ptr<PlanRun> run_;
    int64_t returned_ = 0;
    int64_t skipped_ = 0;
    bool at_end_ = false;
    bool has_gone_ = false;   // the collection, in the middle of work()
    bool holds_row_ = false;  // held_ is the next row; not while saved
    std::string summary_;     // once saved: its indexes may go
    Row held_;
};

// {_id: value} and nothing else: one look into the _id index.
class IdExecutor : public Executor {
  public:
    IdExecutor(catalog::Collection& collection, FindQuery query, sched::YieldPoint* yield_point)
        : collection_(collection), query_(std::move(query)), loop_(yield_point) {
        DCHECK(is_id_query(query_.matcher->filter()));
    }

    bool next(Row* row) override {
        if (done_) return false;
        done_ = true;
        const storage::RecordId id = find_by_id(collection_, query_.matcher->filter().first());
        if (!id) return false;
        row->id = id;
        row->doc = collection_.records().get(id);
        row->details = MatchDetails{};
        row->projected = false;
        ++found_;
        return true;
    }
    bool at_end() const override { return done_; }
    bool more_to_come() override {
        return !done_ && find_by_id(collection_, query_.matcher->filter().first());
    }
    void put_back() override {
        DCHECK(done_ && found_ > 0);
        done_ = false;
        --found_;
    }
    void save() override {}
    void restore() override {}
    void maybe_yield() override {
        if (!loop_.yield([] {}, [] {})) done_ = true;  // the collection has gone
    }
    void skip_record(storage::RecordId) override {}
    void set_yield_point(sched::YieldPoint* point) override { loop_.set_point(point); }
    const FindQuery& query() const override { return query_; }
    ExecutionStats stats() const override {
        ExecutionStats stats;
        stats.returned = stats.keys_examined = found_;
        stats.docs_examined = index_only() ? 0 : found_;
        stats.index_only = index_only();
        stats.id_hack = true;
        return stats;
    }
    std::string summary() const override { return "IDHACK"; }
    ExplainReport report() const override { return {query_, stats(), nullptr, {}}; }

  private:
    bool index_only() const {
        return query_.projection != nullptr && query_.projection->covered_by({"_id"});
    }

    catalog::Collection& collection_;
    FindQuery query_;
    sched::LongLoop loop_;
    bool done_ = false;
    int64_t found_ = 0;
};

[[maybe_unused]] bool may_use(const catalog::Collection& collection, bool for_write) {
    const std::string_view db = catalog::split(collection.ns()).db;
    return for_write ? storage::LockManager::may_write(db) : storage::LockManager::may_read(db);
}

bool plain(const FindQuery& query) {
    return !query.natural_by_hint && query.hint.empty() && query.hint_name.empty() &&
           query.min.empty() && query.max.empty() && query.skip == 0 && !query.return_key &&
           !query.snapshot && !query.tailable && !query.want_details &&
           (query.projection == nullptr || !query.projection->needs_details());
}

}  // namespace

void throw_dropped(const std::string& ns) {
    base::fail(17356, "collection dropped between getMore calls or during the operation: {}", ns);
}

std::unique_ptr<Executor> make_executor(catalog::Collection* collection, FindQuery query,
                                        const ExecutorOptions& options,
                                        sched::YieldPoint* yield_point) {
    DCHECK(collection == nullptr || may_use(*collection, options.for_write));
    const collation::Collator* const collator = query.collator.get();
    if (collection != nullptr && query.inherits_collation &&
        !collation::is_same(collator, collection->collator().get()))
        throw_dropped(collection->ns());  // and made again, with another one
    if (collection != nullptr && plain(query) && is_id_query(query.matcher->filter()) &&
        finds_by_id(*collection, collator))
        return std::make_unique<IdExecutor>(*collection, std::move(query), yield_point);
    return std::make_unique<PlannedExecutor>(collection, std::move(query), options, yield_point);
}

bool is_id_query(bson::Doc filter) {
    auto it = filter.begin();
    if (it == filter.end() || it->name() != "_id") return false;
    const bson::Element id = *it;
    if (++it != filter.end()) return false;
    switch (id.type()) {
        case bson::Type::array:
        case bson::Type::regex:
        case bson::Type::null:
        case bson::Type::undefined:
        case bson::Type::date:  // an index takes it and a timestamp for one class
        case bson::Type::timestamp:
        case bson::Type::code_with_scope:  // perhaps with one in it
            return false;
        case bson::Type::object: {
            const std::string_view name = id.as_doc().first().name();
            return !name.starts_with('$') && !bson::has_time(id);
        }
        case bson::Type::int64:
        case bson::Type::decimal128:
            return !is_beyond_doubles(id);  // several keys may equal it
        default:
            return true;
    }
}

bool finds_by_id(const catalog::Collection& collection, const collation::Collator* collator) {
    const catalog::Index* const index = collection.id_index();
    return index != nullptr && collation::is_same(index->generator->collator(), collator);
}

storage::RecordId find_by_id(const catalog::Collection& collection, const bson::Element& id) {
    struct Key {
        bson::Buffer bytes{256};
    };
    bson::Buffer& key = base::thread_scratch<Key>().bytes;
    const struct AtEnd {  // of an error as well
        ~AtEnd() { key.trim(kKeptKeyBytes); }
        bson::Buffer& key;
    } at_end{key};
    const catalog::Index& index = *collection.id_index();
    bson::Builder b(key);
    if (const collation::Collator* const collator = index.generator->collator())
        collator->append_key("", id, b);
    else
        b.append_as("", id);
    index.count_use();
    return index.store->find_one(b.doc());
}

namespace {

// "COUNT { a: 1 }" where only keys of one range were counted, and no document was read.
std::string plan_of_count(const Executor& executor) {
    constexpr std::string_view kScan = "IXSCAN";
    std::string plan = executor.summary();
    if (!plan.starts_with(kScan) || executor.stats().docs_examined > 0) return plan;
    const ExplainReport done = executor.report();
    if (done.plan == nullptr || done.plan->scans.size() != 1) return plan;
    const bool one_range =
        std::ranges::all_of(done.plan->scans.front().bounds,
                            [](const IntervalList& field) { return field.size() == 1; });
    return one_range ? "COUNT" + plan.substr(kScan.size()) : plan;
}

}  // namespace

Count count(catalog::Collection* collection, FindQuery query, const ExecutorOptions& given,
            sched::YieldPoint* yield_point) {
    if (collection == nullptr) return {};
    if (query.matcher->root().children.empty() && query.hint.empty() && query.hint_name.empty()) {
        int64_t n = std::max<int64_t>(collection->records().count() - query.skip, 0);
        if (query.limit > 0) n = std::min(n, query.limit);
        return {n, {}, "COUNT"};
    }
    ExecutorOptions options = given;
    options.count_only = true;
    const auto executor = make_executor(collection, std::move(query), options, yield_point);
    Row row;
    int64_t n = 0;
    while (executor->next(&row))
        ++n;
    return {n, executor->stats(), plan_of_count(*executor)};
}

}  // namespace query

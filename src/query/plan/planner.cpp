#include <algorithm>
#include <iterator>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/order_of_today.h"
#include "catalog/mixed_times.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "query/match/implication.h"
#include "query/match/times.h"
#include "query/plan/conjunction.h"
#include "query/plan/index_bounds.h"
#include "query/plan/place_bounds.h"
#include "query/plan/plan.h"
#include "query/plan/text_plan.h"
#include "sched/operation.h"
#include "sched/work_limit.h"

namespace query {

namespace {

using bson::Element;

std::string_view first_part(std::string_view path) {
    return path.substr(0, path.find('.'));
}

ScanPlan to_scan(const ConjunctionBounds& bounds, bool backward) {
    DCHECK(bounds.fields.size() == bounds.index->generator->fields().size());
    ScanPlan scan;
    scan.index = bounds.index;
    scan.backward = backward;
    scan.bounds = bounds.fields;
    scan.key_filter = bounds.key_filter;
    scan.place = bounds.place;
    const uint32_t descending = bounds.index->generator->descending_bits();
    for (size_t i = 0; i < scan.bounds.size(); ++i)
        orient(scan.bounds[i], (((descending >> i) & 1) != 0) != backward);
    return scan;
}

// Whether all keys inside are one value. From 2^53 on a double equals several longs.
bool is_one_value(const Interval& interval) {
    return interval.is_point() && !bson::is_large_number(interval.low);
}

bool is_point_list(const IntervalList& list) {
    return list.size() == 1 && is_one_value(list[0]);
}

// Does the index order, after dropping `skip` leading fields, begin with the sort of the query (in
// either direction), but for its times (Planner::orders_times)?
bool fields_match(const catalog::Index& index, size_t skip, const FindQuery& query,
                  bool* backward) {
    DCHECK(!query.sort.empty());
    if (index.generator->hashed() || index.is_special ||
        !collation::is_same(index.generator->collator(), query.collator.get()))
        return false;
    auto key = index.key_pattern.begin();
    for (size_t i = 0; i < skip && key != index.key_pattern.end(); ++i)
        ++key;
    int direction = 0;
    for (const Element& want : query.sort) {
        if (key == index.key_pattern.end() || key->name() != want.name()) return false;
        const bool key_down = key->is_number() && key->to_double() < 0;
        const int this_direction = key_down == (want.to_int64() < 0) ? 1 : -1;
        if (direction != 0 && direction != this_direction) return false;
        direction = this_direction;
        ++key;
    }
    *backward = direction < 0;
    return true;
}

class Planner {
  public:
    Planner(const catalog::Collection& collection, const FindQuery& query,
            const ExecutorOptions& options)
        : collection_(collection),
          query_(query),
          options_(options),
          conjunction_(flatten(query.matcher->root())) {}

    std::vector<Plan> make() {
        if (query_.matcher->text() != nullptr) return {text_plan(collection_, query_)};
        if (!query_.min.empty() || !query_.max.empty()) return {range_plan()};
        if (query_.natural != 0 || query_.tailable) {
            check_may_scan();
            return {collection_scan()};
        }
        if (const MatchNode* near = query_.matcher->near()) return {near_plan(*near)};
        if (const catalog::Index* hinted = find_hint()) return {hinted_plan(*hinted)};
        if (query_.snapshot) {
            if (const catalog::Index* id = collection_.id_index(); id != nullptr)
                return {whole_index_plan(*id, false)};
        }
        std::vector<Plan> plans = filter_plans();
        const bool sorted = std::any_of(plans.begin(), plans.end(), keeps_order);
        if (!query_.sort.empty() && (plans.empty() || !sorted)) add_sort_plans(plans);
        if (options_.avoid_sorting && !query_.sort.empty()) {
            if (std::any_of(plans.begin(), plans.end(), keeps_order))
                std::erase_if(plans, [](const Plan& p) { return !keeps_order(p); });
            else if (plans.size() > 1)
                plans.erase(plans.begin() + 1, plans.end());  // planned again, without the sort
        }
        if (plans.empty()) {
            check_may_scan();
            plans.push_back(collection_scan());
        }
        return plans;
    }

    // An index that could give the order of the sort, or the range that is asked for, if it has the
    // order that the client means, which is not known yet. The plans that were made are without it.
    const catalog::Index* unknown() const { return unknown_; }

  private:
    // Whether it has the order that the client means (catalog/mixed_times.h).
    bool orders_times(const catalog::Index& index) const {
        if (!dialect_of(*query_.matcher).has(dialect::kTimesAreTwoClasses)) return true;
        const catalog::OrderOfTimes order = catalog::order_of_times(index);
        if (order == catalog::OrderOfTimes::unknown) unknown_ = &index;
        return order == catalog::OrderOfTimes::of_today;
    }
    bool order_matches(const catalog::Index& index, size_t skip, bool* backward) const {
        return fields_match(index, skip, query_, backward) && orders_times(index);
    }
    bool provides_sort(const ConjunctionBounds& bounds, bool* backward) const {
        if (order_matches(*bounds.index, 0, backward)) return true;
        size_t points = 0;
        while (points < bounds.fields.size() && is_point_list(bounds.fields[points]))
            ++points;
        return points > 0 && order_matches(*bounds.index, points, backward);
    }

    bool is_only_disjunction() const {
        return conjunction_.predicates.empty() && conjunction_.disjunctions.size() == 1 &&
               !conjunction_.others;
    }
    static bool keeps_order(const Plan& plan) { return !plan.blocking_sort; }
    // An empty query is meant as a scan; the server's own collections have no indexes.
    bool may_always_scan() const {
        const std::string& ns = collection_.ns();
        return query_.matcher->root().children.empty() || ns.starts_with("local.") ||
               ns.find(".system.") != std::string::npos;
    }

    void check_may_scan() const {
        if (options_.no_table_scan && !may_always_scan())
            base::fail(base::kBadValue, "table scans not allowed:{}", collection_.ns());
    }

    Plan collection_scan() const {
        Plan plan;
        plan.backward = query_.natural < 0;
        plan.blocking_sort = !query_.sort.empty();
        plan.check_document = !query_.matcher->root().children.empty();
        return plan;
    }

    const catalog::Index* find_hint() const {
        if (query_.hint.empty() && query_.hint_name.empty()) return nullptr;
        const catalog::Index* index = query_.hint_name.empty()
                                          ? collection_.find_index_by_key(query_.hint)
                                          : collection_.find_index(query_.hint_name);
        if (index == nullptr || !is_usable(*index) || index->hidden)
            base::fail(base::kBadValue, "bad hint");
        return index;
    }

    // Whether the planner may choose it, which a hint need not ask: a hidden index it may not, and
    // a partial one only where all that the query can match is in it.
    bool may_choose(const catalog::Index& index) const {
        return is_usable(index) && !index.hidden && holds_all(index);
    }
    bool holds_all(const catalog::Index& index) const {
        const Matcher* filter = index.generator->filter();
        return filter == nullptr || implies(query_.matcher->root(), filter->root());
    }

    // Whether scans give the documents in the order of a sort in memory, where they run in that of
    // its fields at all. A scan of a multikey index meets a document first by the least of its
    // elements in the bounds: those must be the ones by which the sort takes it, and no other field
    // may leave some of them out.
    bool sorts_alike(std::span<const ConjunctionBounds> scans) const {
        DCHECK(query_.sort_pattern != nullptr);
        const auto multikey = [](const ConjunctionBounds& one) { return one.index->multikey; };
        if (std::ranges::none_of(scans, multikey)) return true;
        const std::span<const IndexBounds> wanted = query_.sort_pattern->bounds();
        if (wanted.empty())
            return std::ranges::all_of(scans, [&](const ConjunctionBounds& one) {
                return !one.index->multikey || has_sort_bounds(one, IndexBounds());
            });
        return std::ranges::equal(scans, wanted,
                                  [&](const ConjunctionBounds& one, const IndexBounds& bounds) {
                                      return has_sort_bounds(one, bounds);
                                  });
    }

    // `wanted`: of each field of the sort; none: everything.
    bool has_sort_bounds(const ConjunctionBounds& scan, const IndexBounds& wanted) const {
        static const IntervalList kAll{all_values()};
        const auto& fields = scan.index->generator->fields();
        for (size_t i = 0; i < fields.size(); ++i) {
            const bool is_bounded = scan.fields[i] != kAll;
            bool is_sorted = false;
            bool is_beside = false;  // may go through the same array as a field of the sort
            size_t place = 0;
            for (const Element& e : query_.sort) {
                if (e.name() == fields[i]) {
                    is_sorted = true;
                    if (scan.fields[i] != (wanted.empty() ? kAll : wanted[place])) return false;
                }
                is_beside = is_beside || first_part(e.name()) == first_part(fields[i]);
                ++place;
            }
            if (is_bounded && is_beside && !is_sorted) return false;
        }
        return true;
    }

    // Completes a plan of one scan: direction, sort, covering.
    Plan finish(const ConjunctionBounds& bounds, std::shared_ptr<ValueArena> arena) const {
        Plan plan;
        plan.arena = std::move(arena);
        plan.check_document = bounds.check_document;
        bool backward = false;
        const bool alike = query_.sort.empty() || sorts_alike({&bounds, 1});
        if (!alike || (!query_.sort.empty() && !provides_sort(bounds, &backward))) {
            if (alike && explode(bounds, plan.scans)) {
                plan.merge = true;
                return plan;
            }
            plan.blocking_sort = true;
            backward = false;
        }
        plan.scans.push_back(to_scan(bounds, backward));
        plan.covered = covers(*bounds.index, plan);
        return plan;
    }

    bool covers(const catalog::Index& index, const Plan& plan) const {
        const bool has_values = !index.generator->hashed() && !index.is_special &&
                                index.generator->collator() == nullptr;
        return !index.multikey && has_values && !plan.check_document && !plan.blocking_sort &&
               !query_.show_record_id && !options_.for_write &&
               (query_.return_key || (query_.projection != nullptr &&
                                      query_.projection->covered_by(index.generator->fields())));
    }

    // $in lists on the leading fields and a sort on the following ones: one scan per combination,
    // merged.
    bool explode(const ConjunctionBounds& bounds, sched::Vector<ScanPlan>& out) const {
        size_t prefix = 0;
        size_t scans = 1;
        for (const IntervalList& list : bounds.fields) {
            if (list.empty() || !std::all_of(list.begin(), list.end(), is_one_value)) break;
            scans *= list.size();
            if (scans > kScansToExplodeMax) return false;
            ++prefix;
        }
        bool backward = false;
        if (prefix == 0 || scans < 2 || prefix == bounds.fields.size() ||
            !order_matches(*bounds.index, prefix, &backward))
            return false;
        for (size_t n = 0; n < scans; ++n) {
            ConjunctionBounds one = bounds;
            size_t rest = n;
            for (size_t i = prefix; i-- > 0;) {
                one.fields[i] = {bounds.fields[i][rest % bounds.fields[i].size()]};
                rest /= bounds.fields[i].size();
            }
            DCHECK(rest == 0);
            out.push_back(to_scan(one, backward));
        }
        return true;
    }

    // Scans of one index that each give the order of the sort; false, and perhaps some scans added,
    // where there are none.
    bool sorted_scans(const ConjunctionBounds& bounds, sched::Vector<ScanPlan>& out) const {
        bool backward = false;
        if (!provides_sort(bounds, &backward)) return explode(bounds, out);
        out.push_back(to_scan(bounds, backward));
        return true;
    }

    std::vector<Plan> filter_plans() const {
        std::vector<Plan> plans;
        for (const auto& index : collection_.indexes()) {
            if (!may_choose(*index)) continue;
            auto arena = std::make_shared<ValueArena>();
            ConjunctionBounds bounds;
            if (bound_conjunction(*index, conjunction_, *arena, bounds))
                plans.push_back(finish(bounds, std::move(arena)));
        }
        for (const MatchNode* node : conjunction_.disjunctions) {
            Plan plan;
            if (or_plan(*node, plan)) plans.push_back(std::move(plan));
        }
        return plans;
    }

    // The only plan of a filter with $near: an index on its path gives the order.
    Plan near_plan(const MatchNode& near) const {
        const catalog::Index* const hinted = find_hint();
        for (const auto& index : collection_.indexes()) {
            Plan plan;
            const bool may_use = hinted != nullptr ? index.get() == hinted : may_choose(*index);
            if (!may_use || !can_find_near(near, *index, &plan.near_field)) continue;
            check_centre(near, *index);
            plan.near = &near;
            plan.blocking_sort = !query_.sort.empty();
            ScanPlan scan;
            scan.index = index.get();
            scan.bounds = bounds_beside(*index, plan.near_field, conjunction_, *plan.arena);
            const uint32_t descending = index->generator->descending_bits();
            for (size_t i = 0; i < scan.bounds.size(); ++i)
                orient(scan.bounds[i], ((descending >> i) & 1) != 0);
            plan.scans.push_back(std::move(scan));
            return plan;
        }
        base::fail(base::kBadValue, "unable to find index for $geoNear query on {}", near.path);
    }

    // An $or all of whose branches have an index (`only`: that one; null: any).
    bool or_plan(const MatchNode& node, Plan& plan, const catalog::Index* only = nullptr) const {
        std::vector<BranchIndex> indexes;
        if (only != nullptr) {
            indexes.push_back({only, nullptr});
        } else {
            for (const auto& index : collection_.indexes())
                if (is_usable(*index) && !index->hidden)
                    indexes.push_back(
                        {index.get(), holds_all(*index) ? nullptr : index->generator->filter()});
        }
        std::vector<ConjunctionBounds> branches;
        bool exact = is_only_disjunction();
        if (!bound_branches(node, indexes, *plan.arena, branches, exact)) return false;
        join_branches(branches);
        plan.check_document = !exact;
        if (branches.size() == 1) {
            branches[0].check_document = branches[0].check_document || !exact;
            Plan one = finish(branches[0], plan.arena);
            plan = std::move(one);
            return true;
        }
        plan.merge = !query_.sort.empty() && sorts_alike(branches) &&
                     std::ranges::all_of(branches,
                                         [&](const ConjunctionBounds& branch) {
                                             return sorted_scans(branch, plan.scans);
                                         }) &&
                     plan.scans.size() <= kScansToExplodeMax;
        if (plan.merge) return true;
        plan.scans.clear();
        for (const ConjunctionBounds& branch : branches)
            plan.scans.push_back(to_scan(branch, false));
        plan.blocking_sort = !query_.sort.empty();
        plan.covered = std::ranges::all_of(
            branches, [&](const ConjunctionBounds& branch) { return covers(*branch.index, plan); });
        return true;
    }

    // Whether a scan of all of it gives the order of the sort.
    bool whole_index_sorts(const catalog::Index& index, bool* backward) const {
        if (!order_matches(index, 0, backward)) return false;
        ConjunctionBounds all;
        all.index = &index;
        all.fields.assign(index.generator->fields().size(), {all_values()});
        return sorts_alike({&all, 1});
    }

    Plan whole_index_plan(const catalog::Index& index, bool backward) const {
        Plan plan;
        plan.scans.push_back(whole_index(index, backward));
        plan.check_document = !query_.matcher->root().children.empty();
        plan.covered = covers(index, plan);
        return plan;
    }

    void add_sort_plans(std::vector<Plan>& plans) const {
        for (const auto& index : collection_.indexes()) {
            bool backward = false;
            if (!may_choose(*index) || index->sparse || index->is_special ||
                !whole_index_sorts(*index, &backward))
                continue;
            plans.push_back(whole_index_plan(*index, backward));
        }
    }

    Plan hinted_plan(const catalog::Index& index) const {
        auto arena = std::make_shared<ValueArena>();
        ConjunctionBounds bounds;
        if (bound_conjunction(index, conjunction_, *arena, bounds))
            return finish(bounds, std::move(arena));
        for (const MatchNode* node : conjunction_.disjunctions) {
            Plan plan;
            if (or_plan(*node, plan, &index)) return plan;
        }
        bool backward = false;
        const bool sorted = query_.sort.empty() || whole_index_sorts(index, &backward);
        Plan plan = whole_index_plan(index, sorted && backward);
        plan.blocking_sort = !sorted;
        plan.covered = covers(index, plan);
        return plan;
    }

    // Refuses bounds in the order of an index, which is not the one that the client means.
    void refuse_mixed_times(const catalog::Index& index) const {
        const auto any = [](const bson::Object& key) {
            for (const Element& e : key)
                if (bson::has_time(e)) return true;
            return false;
        };
        if ((any(query_.min) || any(query_.max)) && !orders_times(index) && unknown_ == nullptr)
            base::fail(
                base::kBadValue,
                "min and max of Dates and Timestamps cannot be used with the index {}, which "
                "has keys of both in the order of old servers; use $gte and $lt",
                index.name);
    }

    const catalog::Index& range_index() const {
        const dialect::Dialect dialect = dialect_of(*query_.matcher);
        if (const catalog::Index* hinted = find_hint()) {
            if (!names_range(*hinted, query_))
                base::fail(dialect.code(base::kBadValue, 51174),
                           "min and max must name the fields of the hinted index");
            if (!orders_range(*hinted, query_))
                base::fail(dialect.code(base::kBadValue, 51175), "min must be less than max");
            return *hinted;
        }
        for (const auto& index : collection_.indexes())
            if (names_range(*index, query_) && may_choose(*index) && orders_range(*index, query_))
                return *index;
        base::fail(base::kBadValue, "unable to find relevant index for max/min query");
    }

    Plan range_plan() const {
        const catalog::Index* found = &range_index();
        refuse_mixed_times(*found);
        Plan plan;
        ScanPlan scan;
        scan.index = found;
        scan.by_range = true;
        if (!query_.min.empty()) scan.range_min = key_of_range(query_.min, *found);
        if (!query_.max.empty()) scan.range_max = key_of_range(query_.max, *found);
        bool backward = false;
        if (!query_.sort.empty()) plan.blocking_sort = !order_matches(*found, 0, &backward);
        plan.check_document = !query_.matcher->root().children.empty();
        scan.backward = backward;
        plan.scans.push_back(std::move(scan));
        return plan;
    }

    const catalog::Collection& collection_;
    const FindQuery& query_;
    const ExecutorOptions& options_;
    Conjunction conjunction_;
    mutable const catalog::Index* unknown_ = nullptr;
};

}  // namespace

std::vector<Plan> make_plans(const catalog::Collection& collection, const FindQuery& query,
                             const ExecutorOptions& options, sched::YieldPoint* yield_point) {
    for (;;) {
        const catalog::Index* unknown = nullptr;
        {
            const sched::WorkLimit limit("the planning of one query");
            Planner planner(collection, query, options);
            std::vector<Plan> plans = planner.make();
            DCHECK(!plans.empty());
            DCHECK(
                std::ranges::all_of(plans, [&](const Plan& p) { return is_consistent(p, query); }));
            unknown = planner.unknown();
            if (unknown == nullptr) return plans;
        }
        const std::string ns(std::string_view(collection.ns()));  // which may go
        if (!catalog::learn_order_of_times(*unknown, yield_point)) throw_dropped(ns);
    }
}

}  // namespace query

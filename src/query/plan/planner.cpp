#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/operation.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "query/plan/bounds.h"
#include "query/plan/conjunction.h"
#include "query/plan/plan.h"

namespace query {

namespace {

using bson::Element;

constexpr size_t kMaxScansToExplode = 50;

// Bounds of one index for a conjunction, in ascending order of each field; nothing if the first
// field has none.
struct IndexBounds {
    const catalog::Index* index = nullptr;
    std::vector<IntervalList> fields;
    std::vector<KeyPredicate> key_filter;
    size_t bounded = 0;  // fields with bounds
    bool check_document = false;
    size_t predicates_used = 0;
};

class BoundsMaker {
  public:
    BoundsMaker(const catalog::Index& index, const Conjunction& conjunction, ValueArena& arena)
        : index_(index), conjunction_(conjunction), arena_(arena) {}

    bool make(IndexBounds& out) {
        out.index = &index_;
        const auto& fields = index_.generator->fields();
        for (size_t i = 0; i < fields.size(); ++i) {
            IntervalList list{all_values()};
            if (add_field(i, fields[i], list, out)) {
                ++out.bounded;
            } else if (i == 0) {
                return false;
            }
            out.fields.push_back(std::move(list));
        }
        if (conjunction_.others || !conjunction_.disjunctions.empty() ||
            out.predicates_used < conjunction_.predicates.size())
            out.check_document = true;
        return true;
    }

  private:
    bool add_field(size_t number, const std::string& field, IntervalList& list, IndexBounds& out) {
        bool any = false;
        for (const Predicate& p : conjunction_.predicates) {
            base::Operation::tick();
            if (p.path != field || !can_use(*p.node, index_)) continue;
            if (index_.multikey && (any || !may_combine(p))) continue;
            const PredicateBounds bounds = bounds_of(*p.node, index_, arena_);
            list = any ? intersect(list, bounds.intervals, arena_) : bounds.intervals;
            any = true;
            ++out.predicates_used;
            used_.push_back(&p);
            if (bounds.tightness == Tightness::check_document || !p.bindings.empty() ||
                has_long_end(bounds.intervals))
                out.check_document = true;
            if (bounds.tightness == Tightness::check_key) {
                if (index_.multikey) {
                    out.check_document = true;
                } else {
                    out.key_filter.push_back({number, p.node});
                }
            }
        }
        return any;
    }

    // A multikey index may hold the keys of different array elements: two paths only go together
    // when one $elemMatch binds all that they have in common to the same elements. Below it they
    // may meet another array.
    bool may_combine(const Predicate& p) const {
        return std::all_of(used_.begin(), used_.end(),
                           [&](const Predicate* other) { return bound_together(*other, p); });
    }

    const catalog::Index& index_;
    const Conjunction& conjunction_;
    ValueArena& arena_;
    std::vector<const Predicate*> used_;
};

bool usable(const catalog::Index& index) {
    return index.ready && index.store != nullptr && index.generator != nullptr;
}

ScanPlan to_scan(const IndexBounds& bounds, bool backward) {
    ScanPlan scan;
    scan.index = bounds.index;
    scan.backward = backward;
    scan.bounds = bounds.fields;
    scan.key_filter = bounds.key_filter;
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

// Does the index order, after dropping `skip` leading fields, begin with the sort (in either
// direction)?
bool order_matches(const catalog::Index& index, size_t skip, const bson::Object& sort,
                   bool* backward) {
    if (index.generator->hashed()) return false;
    auto key = index.key_pattern.begin();
    for (size_t i = 0; i < skip && key != index.key_pattern.end(); ++i)
        ++key;
    int direction = 0;
    for (const Element& want : sort) {
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

// A single hash stands for values that are all equal, which are in any order. Hashes are longs, so
// one of any size is one value.
bool is_hashed_point(const IndexBounds& bounds, const bson::Object& sort, bool* backward) {
    if (!bounds.index->generator->hashed() || bounds.fields[0].size() != 1 ||
        !bounds.fields[0][0].is_point() || sort.doc().field_count() != 1 ||
        sort.doc().first().name() != bounds.index->generator->fields()[0])
        return false;
    *backward = sort.doc().first().to_int64() < 0;
    return true;
}

bool provides_sort(const IndexBounds& bounds, const bson::Object& sort, bool* backward) {
    if (is_hashed_point(bounds, sort, backward)) return true;
    if (order_matches(*bounds.index, 0, sort, backward)) return true;
    size_t points = 0;
    while (points < bounds.fields.size() && is_point_list(bounds.fields[points]))
        ++points;
    return points > 0 && order_matches(*bounds.index, points, sort, backward);
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
        if (!query_.min.empty() || !query_.max.empty()) return {range_plan()};
        if (query_.natural != 0 || query_.tailable) {
            check_may_scan();
            return {collection_scan()};
        }
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

  private:
    static bool keeps_order(const Plan& plan) { return !plan.blocking_sort; }
    // Who asks for everything knows what he does; the server's own collections have no indexes.
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
        if (index == nullptr || !usable(*index)) base::fail(base::kBadValue, "bad hint");
        return index;
    }

    // Completes a plan of one scan: direction, sort, covering.
    Plan finish(const IndexBounds& bounds, std::shared_ptr<ValueArena> arena) const {
        Plan plan;
        plan.arena = std::move(arena);
        plan.check_document = bounds.check_document;
        bool backward = false;
        if (!query_.sort.empty() && !provides_sort(bounds, query_.sort, &backward)) {
            if (explode(bounds, plan.scans)) {
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
        return !index.multikey && !index.generator->hashed() && !plan.check_document &&
               !plan.blocking_sort && !query_.show_record_id && !options_.for_write &&
               (query_.return_key || (query_.projection != nullptr &&
                                      query_.projection->covered_by(index.generator->fields())));
    }

    // $in lists on the leading fields and a sort on the following ones: one scan per combination,
    // merged.
    bool explode(const IndexBounds& bounds, std::vector<ScanPlan>& out) const {
        size_t prefix = 0;
        size_t scans = 1;
        for (const IntervalList& list : bounds.fields) {
            if (list.empty() || !std::all_of(list.begin(), list.end(), is_one_value)) break;
            scans *= list.size();
            if (scans > kMaxScansToExplode) return false;
            ++prefix;
        }
        bool backward = false;
        if (prefix == 0 || scans < 2 || prefix == bounds.fields.size() ||
            !order_matches(*bounds.index, prefix, query_.sort, &backward))
            return false;
        for (size_t n = 0; n < scans; ++n) {
            IndexBounds one = bounds;
            size_t rest = n;
            for (size_t i = prefix; i-- > 0;) {
                one.fields[i] = {bounds.fields[i][rest % bounds.fields[i].size()]};
                rest /= bounds.fields[i].size();
            }
            out.push_back(to_scan(one, backward));
        }
        return true;
    }

    // Scans of one index that each give the order of the sort; false, and perhaps some scans added,
    // where there are none.
    bool sorted_scans(const IndexBounds& bounds, std::vector<ScanPlan>& out) const {
        bool backward = false;
        if (!provides_sort(bounds, query_.sort, &backward)) return explode(bounds, out);
        out.push_back(to_scan(bounds, backward));
        return true;
    }

    std::vector<Plan> filter_plans() const {
        std::vector<Plan> plans;
        for (const auto& index : collection_.indexes()) {
            if (!usable(*index)) continue;
            auto arena = std::make_shared<ValueArena>();
            IndexBounds bounds;
            if (BoundsMaker(*index, conjunction_, *arena).make(bounds))
                plans.push_back(finish(bounds, std::move(arena)));
        }
        for (const MatchNode* node : conjunction_.disjunctions) {
            Plan plan;
            if (or_plan(*node, plan)) plans.push_back(std::move(plan));
        }
        return plans;
    }

    // An $or all of whose branches have an index (`only`: that one; null: any).
    bool or_plan(const MatchNode& node, Plan& plan, const catalog::Index* only = nullptr) const {
        std::vector<IndexBounds> branches;
        std::vector<bool> single;
        bool exact = conjunction_.predicates.empty() && conjunction_.disjunctions.size() == 1 &&
                     !conjunction_.others;
        if (!collect_branches(node, only, plan, branches, single, exact)) return false;
        std::vector<size_t> order(branches.size());
        for (size_t i = 0; i < order.size(); ++i)
            order[i] = i;
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            return branches[a].index->slot < branches[b].index->slot;
        });
        // Neighbours that are one predicate each on the same index become one scan.
        std::vector<IndexBounds> merged;
        std::vector<bool> joined;  // of several
        bool last_single = false;
        for (const size_t i : order) {
            base::Operation::tick();
            if (!merged.empty() && last_single && single[i] &&
                merged.back().index == branches[i].index && branches[i].key_filter.empty() &&
                merged.back().key_filter.empty()) {
                std::ranges::move(branches[i].fields[0],
                                  std::back_inserter(merged.back().fields[0]));
                joined.back() = true;
                continue;
            }
            merged.push_back(std::move(branches[i]));
            joined.push_back(false);
            last_single = single[i];
        }
        for (size_t i = 0; i < merged.size(); ++i)
            if (joined[i]) normalise(merged[i].fields[0]);
        plan.check_document = !exact;
        if (merged.size() == 1) {
            merged[0].check_document = merged[0].check_document || !exact;
            Plan one = finish(merged[0], plan.arena);
            plan = std::move(one);
            return true;
        }
        plan.merge = !query_.sort.empty() &&
                     std::ranges::all_of(merged,
                                         [&](const IndexBounds& branch) {
                                             return sorted_scans(branch, plan.scans);
                                         }) &&
                     plan.scans.size() <= kMaxScansToExplode;
        if (plan.merge) return true;
        plan.scans.clear();
        for (const IndexBounds& branch : merged)
            plan.scans.push_back(to_scan(branch, false));
        plan.blocking_sort = !query_.sort.empty();
        return true;
    }

    bool collect_branches(const MatchNode& node, const catalog::Index* only, Plan& plan,
                          std::vector<IndexBounds>& branches, std::vector<bool>& single,
                          bool& exact) const {
        for (const auto& child : node.children) {
            base::Operation::tick();
            const Conjunction inner = flatten(*child);
            if (inner.predicates.empty() && inner.disjunctions.size() == 1) {
                exact = exact && !inner.others;
                if (!collect_branches(*inner.disjunctions[0], only, plan, branches, single, exact))
                    return false;
                continue;
            }
            IndexBounds best;
            bool found = false;
            for (const auto& index : collection_.indexes()) {
                if (only != nullptr && index.get() != only) continue;
                IndexBounds bounds;
                if (!usable(*index) || !BoundsMaker(*index, inner, *plan.arena).make(bounds))
                    continue;
                if (found && bounds.bounded <= best.bounded) continue;
                best = std::move(bounds);
                found = true;
            }
            if (!found) return false;
            exact = exact && !best.check_document;
            branches.push_back(std::move(best));
            single.push_back(inner.predicates.size() == 1 && inner.disjunctions.empty() &&
                             !inner.others);
        }
        return true;
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
            if (!usable(*index) || index->sparse ||
                !order_matches(*index, 0, query_.sort, &backward))
                continue;
            plans.push_back(whole_index_plan(*index, backward));
        }
    }

    Plan hinted_plan(const catalog::Index& index) const {
        auto arena = std::make_shared<ValueArena>();
        IndexBounds bounds;
        if (BoundsMaker(index, conjunction_, *arena).make(bounds))
            return finish(bounds, std::move(arena));
        for (const MatchNode* node : conjunction_.disjunctions) {
            Plan plan;
            if (or_plan(*node, plan, &index)) return plan;
        }
        bool backward = false;
        const bool sorted = query_.sort.empty() || order_matches(index, 0, query_.sort, &backward);
        Plan plan = whole_index_plan(index, sorted && backward);
        plan.blocking_sort = !sorted;
        plan.covered = covers(index, plan);
        return plan;
    }

    static bool same_fields(const catalog::Index& index, const bson::Object& key) {
        auto it = key.begin();
        for (const Element& field : index.key_pattern) {
            if (it == key.end() || it->name() != field.name()) return false;
            ++it;
        }
        return it == key.end();
    }

    // Where a range without a lower end starts: at MinKey in every field, as the old server did.
    // In a descending index that is the far end, so a range with $max alone finds nothing there.
    static bson::Object all_min_key(const bson::Object& shape) {
        bson::Builder b;
        for (int i = shape.doc().field_count(); i > 0; --i)
            b.append_min_key("");
        return b.object();
    }

    static bson::Object unnamed(const bson::Object& key) {
        bson::Builder b;
        for (const Element& e : key)
            b.append_as("", e);
        return b.object();
    }

    Plan range_plan() const {
        const bson::Object& shape = query_.min.empty() ? query_.max : query_.min;
        const catalog::Index* found = find_hint();
        if (found == nullptr) {
            for (const auto& index : collection_.indexes()) {
                if (usable(*index) && same_fields(*index, shape)) {
                    found = index.get();
                    break;
                }
            }
        }
        if (found == nullptr || !same_fields(*found, shape) ||
            (!query_.min.empty() && !query_.max.empty() && !same_fields(*found, query_.max)))
            base::fail(base::kBadValue, "unable to find relevant index for max/min query");
        Plan plan;
        ScanPlan scan;
        scan.index = found;
        scan.by_range = true;
        scan.range_min = query_.min.empty() ? all_min_key(query_.max) : unnamed(query_.min);
        if (!query_.max.empty()) scan.range_max = unnamed(query_.max);
        bool backward = false;
        if (!query_.sort.empty()) {
            plan.blocking_sort = !order_matches(*found, 0, query_.sort, &backward) || backward;
        }
        plan.scans.push_back(std::move(scan));
        return plan;
    }

    const catalog::Collection& collection_;
    const FindQuery& query_;
    const ExecutorOptions& options_;
    Conjunction conjunction_;
};

// Gives the lock up for a moment, in the midst of planning.
class PlanningBreak final : public base::Operation::Pause {
  public:
    struct Changed {};  // the indexes: what was found out may not hold any more
    PlanningBreak(const catalog::Collection& collection, Yielder& yielder)
        : collection_(collection),
          yielder_(yielder),
          ns_(collection.ns()),
          version_(collection.version()) {}
    void pause() override {
        if (!yielder_.should_yield()) return;
        if (!yielder_.yield()) throw_dropped(ns_);
        if (collection_.version() != version_) throw Changed();
    }

  private:
    const catalog::Collection& collection_;
    Yielder& yielder_;
    const std::string ns_;
    const uint64_t version_;
};

}  // namespace

ScanPlan whole_index(const catalog::Index& index, bool backward) {
    ScanPlan scan;
    scan.index = &index;
    scan.backward = backward;
    const uint32_t descending = index.generator->descending_bits();
    for (size_t i = 0; i < index.generator->fields().size(); ++i) {
        IntervalList list{all_values()};
        orient(list, (((descending >> i) & 1) != 0) != backward);
        scan.bounds.push_back(std::move(list));
    }
    return scan;
}

std::vector<Plan> make_plans(const catalog::Collection& collection, const FindQuery& query,
                             const ExecutorOptions& options, Yielder* yielder) {
    if (yielder == nullptr) return Planner(collection, query, options).make();
    for (;;) {
        try {
            PlanningBreak others(collection, *yielder);
            const base::Operation::PauseScope scope(&others);
            return Planner(collection, query, options).make();
        } catch (const PlanningBreak::Changed&) {
        }
    }
}

std::string summarise(const Plan& plan) {
    if (plan.scans.empty()) return "COLLSCAN";
    constexpr size_t kEnough = 4096;
    std::string text;
    for (const ScanPlan& scan : plan.scans) {
        if (!text.empty()) text += ", ";
        if (text.size() > kEnough) return text + "...";
        text += "IXSCAN " + bson::to_text(scan.index->key_pattern);
    }
    return text;
}

}  // namespace query

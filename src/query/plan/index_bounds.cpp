#include "query/plan/index_bounds.h"

#include <algorithm>
#include <iterator>

#include "base/dcheck.h"
#include "query/match/implication.h"
#include "query/plan/bounds.h"
#include "sched/tick.h"

namespace query {

namespace {

// {"a.b": 1} as {a: {b: 1}}: a document whose only content is one key, for predicates that the key
// decides.
void append_path(bson::Builder& out, std::string_view path, const bson::Element& value) {
    const size_t dot = path.find('.');
    if (dot == std::string_view::npos) {
        out.append_as(path, value);
        return;
    }
    bson::Builder sub = out.sub_object(path.substr(0, dot));
    append_path(sub, path.substr(dot + 1), value);
}

[[maybe_unused]] bool is_unbounded(const IntervalList& list) {
    return list.size() == 1 && list[0].is_all();
}

class BoundsMaker {
  public:
    BoundsMaker(const catalog::Index& index, const Conjunction& conjunction, ValueArena& arena)
        : index_(index), conjunction_(conjunction), arena_(arena) {}

    bool make(ConjunctionBounds& out) {
        DCHECK(out.fields.empty() && out.bounded == 0);
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
        // Documents without a place are in no such index.
        if (index_.is_special && out.place == nullptr) return false;
        const bool only_predicates = !conjunction_.others && conjunction_.disjunctions.empty();
        if (!only_predicates || out.predicates_used < conjunction_.predicates.size())
            out.check_document = true;
        DCHECK(out.bounded >= 1 && out.fields.size() == fields.size());
        out.of_one_predicate = only_predicates && conjunction_.predicates.size() == 1;
        return true;
    }

    IndexBounds beside(size_t place_field) {
        ConjunctionBounds out;
        const auto& fields = index_.generator->fields();
        for (size_t i = 0; i < fields.size(); ++i) {
            IntervalList list{all_values()};
            if (i != place_field) add_field(i, fields[i], list, out);
            out.fields.push_back(std::move(list));
        }
        return std::move(out.fields);
    }

  private:
    bool add_field(size_t number, const std::string& path, IntervalList& list,
                   ConjunctionBounds& out) {
        const IndexField field(index_, number);
        bool any = false;
        std::vector<IntervalList> lists;  // of each predicate
        for (const Predicate& p : sched::ticked(conjunction_.predicates)) {
            if (std::string_view(p.path) != path || !can_use(*p.node, field)) continue;
            if (index_.multikey && (any || !may_combine(p))) continue;
            PredicateBounds bounds = bounds_of(*p.node, field, arena_);
            DCHECK(are_in_order(bounds.intervals, 1));
            any = true;
            if (p.node->kind == MatchKind::geo) out.place = p.node;
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
            lists.push_back(std::move(bounds.intervals));
        }
        if (any) list = intersect_all(std::move(lists));
        return any;
    }

    // In pairs: of many short ones laid over a long one each would go through all of it.
    IntervalList intersect_all(std::vector<IntervalList> lists) {
        DCHECK(!lists.empty());
        for (size_t apart = 1; apart < lists.size(); apart *= 2)
            for (size_t i = 0; i + apart < lists.size(); i += 2 * apart)
                lists[i] = intersect(std::move(lists[i]), std::move(lists[i + apart]), arena_);
        return std::move(lists[0]);
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

}  // namespace

bool bound_conjunction(const catalog::Index& index, const Conjunction& conjunction,
                       ValueArena& arena, ConjunctionBounds& out) {
    return BoundsMaker(index, conjunction, arena).make(out);
}

IndexBounds bounds_beside(const catalog::Index& index, size_t place_field,
                          const Conjunction& conjunction, ValueArena& arena) {
    return BoundsMaker(index, conjunction, arena).beside(place_field);
}

bool key_matches(const MatchNode& node, const bson::Element& value, bson::Buffer& scratch) {
    DCHECK(!node.path.empty());
    scratch.clear();
    bson::Builder b(scratch);
    // Inside of $elemMatch the path of a predicate begins at the element.
    append_path(b, node.path, value);
    return Matcher::matches(node, b.doc());
}

bool bound_branches(const MatchNode& disjunction, std::span<const BranchIndex> indexes,
                    ValueArena& arena, std::vector<ConjunctionBounds>& out, bool& exact) {
    DCHECK(disjunction.kind == MatchKind::disjunction && !disjunction.children.empty());
    for (const auto& child : sched::ticked(disjunction.children)) {
        const Conjunction inner = flatten(*child);
        if (inner.predicates.empty() && inner.disjunctions.size() == 1) {
            exact = exact && !inner.others;
            if (!bound_branches(*inner.disjunctions[0], indexes, arena, out, exact)) return false;
            continue;
        }
        ConjunctionBounds best;
        for (const auto& [index, filter] : indexes) {
            ConjunctionBounds bounds;
            if (filter != nullptr && !implies(*child, filter->root())) continue;
            if (!bound_conjunction(*index, inner, arena, bounds)) continue;
            if (best.index == nullptr || bounds.bounded > best.bounded) best = std::move(bounds);
        }
        if (best.index == nullptr) return false;
        exact = exact && !best.check_document;
        out.push_back(std::move(best));
    }
    return true;
}

void join_branches(std::vector<ConjunctionBounds>& branches) {
    std::stable_sort(
        branches.begin(), branches.end(),
        sched::ticking([](const auto& a, const auto& b) { return a.index->slot < b.index->slot; }));
    std::vector<ConjunctionBounds> joined;
    std::vector<bool> of_several;
    for (ConjunctionBounds& next : sched::ticked(branches)) {
        const auto joins = [&next](const ConjunctionBounds& last) {
            return last.of_one_predicate && next.of_one_predicate && last.bounded == 1 &&
                   next.bounded == 1 && last.index == next.index && last.key_filter.empty() &&
                   next.key_filter.empty();
        };
        if (!joined.empty() && joins(joined.back())) {
            DCHECK(std::all_of(next.fields.begin() + 1, next.fields.end(), is_unbounded));
            std::ranges::move(next.fields[0], std::back_inserter(joined.back().fields[0]));
            of_several.back() = true;
        } else {
            joined.push_back(std::move(next));
            of_several.push_back(false);
        }
    }
    for (size_t i = 0; i < joined.size(); ++i)
        if (of_several[i]) normalise(joined[i].fields[0]);
    branches = std::move(joined);
}

}  // namespace query

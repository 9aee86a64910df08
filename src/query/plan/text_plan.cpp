#include "query/plan/text_plan.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "query/match/implication.h"
#include "query/match/text_clause.h"
#include "query/match/times.h"
#include "query/plan/bounds.h"
#include "query/plan/index_bounds.h"
#include "sched/tick.h"

namespace query {

namespace {

class TextPlanner {
  public:
    TextPlanner(const catalog::Collection& collection, const FindQuery& query)
        : collection_(collection), query_(query), clause_(*query.matcher->text()) {}

    Plan make() {
        plan_.text = true;
        plan_.check_document = true;
        plan_.blocking_sort = !query_.sort.empty();
        const catalog::Index* const index = find_index();
        if (index == nullptr) fail_without_index("text index required for $text query");
        search_ = std::make_shared<text::Search>(index->generator->text(), clause_.request());
        clause_.bind(search_);
        add(query_.matcher->root(), *index);
        return std::move(plan_);
    }

  private:
    [[noreturn]] void fail_without_index(const char* why) const {
        base::fail(dialect_of(*query_.matcher).code(base::kBadValue, base::kIndexNotFound), "{}",
                   why);
    }

    const catalog::Index* find_index() const {
        for (const auto& index : collection_.indexes()) {
            if (!index->ready || index->generator == nullptr || index->hidden ||
                index->generator->text() == nullptr)
                continue;
            const Matcher* const filter = index->generator->filter();
            if (filter == nullptr || implies(query_.matcher->root(), filter->root()))
                return index.get();
        }
        return nullptr;
    }

    // Adds the scans of a conjunction that has the clause in it.
    void add(const MatchNode& node, const catalog::Index& index) {
        DCHECK(node.has_text);
        if (node.kind == MatchKind::text) return add_terms(node, node, index);
        for (const auto& child : node.children) {
            if (!child->has_text) continue;
            if (child->kind == MatchKind::text) return add_terms(node, *child, index);
            if (child->kind == MatchKind::conjunction) return add(*child, index);
            DCHECK(child->kind == MatchKind::disjunction);
            for (const auto& branch : child->children) {
                if (branch->has_text)
                    add(*branch, index);
                else
                    add_branch(*branch);
            }
        }
    }

    void add_branch(const MatchNode& branch) {
        const Conjunction conjunction = flatten(branch);
        for (const auto& index : collection_.indexes()) {
            if (!index->ready || index->generator == nullptr || index->hidden ||
                index->is_special || index->generator->filter() != nullptr)
                continue;
            ConjunctionBounds bounds;
            if (!bound_conjunction(*index, conjunction, *plan_.arena, bounds)) continue;
            ScanPlan scan = whole_index(*index, false);
            scan.bounds = std::move(bounds.fields);
            orient_all(scan);
            plan_.scans.push_back(std::move(scan));
            return;
        }
        base::fail(dialect_of(*query_.matcher).code(17144, base::kBadValue),
                   "each clause of an $or with $text needs an index that serves it");
    }

    static void orient_all(ScanPlan& scan) {
        const uint32_t descending = scan.index->generator->descending_bits();
        for (size_t i = 0; i < scan.bounds.size(); ++i)
            orient(scan.bounds[i], (descending >> i & 1) != 0);
    }

    // Returns what asks for one value at a path; null: nothing does.
    static const MatchNode* equality_at(const Conjunction& conjunction, const std::string& path) {
        for (const Predicate& p : sched::ticked(conjunction.predicates))
            if (std::string_view(p.path) == path && p.bindings.empty() &&
                p.node->kind == MatchKind::eq && p.node->collator == nullptr)
                return p.node;
        return nullptr;
    }

    void add_terms(const MatchNode& around, const MatchNode& node, const catalog::Index& index) {
        const text::Spec& spec = search_->spec();
        const Conjunction conjunction = flatten(around);
        ScanPlan scan = whole_index(index, false);
        for (size_t i = 0; i < spec.prefix.size(); ++i) {
            const MatchNode* const equality = equality_at(conjunction, spec.prefix[i]);
            if (equality == nullptr)
                fail_without_index(
                    "a $text query through an index with fields before the text needs one value "
                    "for each of them");
            // Null is more than one key.
            const IndexField prefix(index, i);
            scan.bounds[i] = can_use(*equality, prefix)
                                 ? bounds_of(*equality, prefix, *plan_.arena).intervals
                                 : IntervalList{point(equality->operand)};
            orient(scan.bounds[i], (index.generator->descending_bits() >> i & 1) != 0);
        }
        const size_t field = spec.prefix.size();
        scan.key_filter.push_back({field, &node});
        for (const std::string& term : sched::ticked(search_->terms())) {
            scan.bounds[field] = {point(plan_.arena->keep(bson::make("", term)))};
            plan_.scans.push_back(scan);
        }
        if (!search_->terms().empty()) return;
        scan.bounds[field] = {};  // nothing is found
        plan_.scans.push_back(std::move(scan));
    }

    const catalog::Collection& collection_;
    const FindQuery& query_;
    const TextClause& clause_;
    std::shared_ptr<text::Search> search_;
    Plan plan_;
};

}  // namespace

Plan text_plan(const catalog::Collection& collection, const FindQuery& query) {
    DCHECK(query.matcher->text() != nullptr);
    return TextPlanner(collection, query).make();
}

}  // namespace query

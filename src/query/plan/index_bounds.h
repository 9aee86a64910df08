// query/plan/index_bounds.h - the bounds that a filter puts on all fields of an index.
//
// They hold one predicate after the other to the rule of query/plan/bounds.h: a document that
// matches has a key inside, in all fields at once.
#pragma once

#include <span>
#include <vector>

#include "query/plan/conjunction.h"
#include "query/plan/interval.h"
#include "query/plan/plan.h"

namespace query {

// The bounds of one index for a conjunction, in ascending order of each field.
struct ConjunctionBounds {
    const catalog::Index* index = nullptr;
    IndexBounds fields;
    std::vector<KeyPredicate> key_filter;
    size_t bounded = 0;  // fields with bounds
    size_t predicates_used = 0;
    bool check_document = false;
    const MatchNode* place = nullptr;  // the predicate of places among them
    bool of_one_predicate = false;     // which is all that the conjunction asks for
};

// False if the first field has none.
bool bound_conjunction(const catalog::Index& index, const Conjunction& conjunction,
                       ValueArena& arena, ConjunctionBounds& out);

// The bounds of the fields beside the one in which $near looks for places; that one has all.
IndexBounds bounds_beside(const catalog::Index& index, size_t place_field,
                          const Conjunction& conjunction, ValueArena& arena);

// An index for the branches of an $or. `filter` is the filter that a branch has to imply if the
// index is partial and lacks documents that the whole query may match.
struct BranchIndex {
    const catalog::Index* index;
    const Matcher* filter;
};

// Bounds each branch of an $or, and of an $or that is a branch, by the one of `indexes` that bounds
// most fields. False if one has none. `exact` becomes false where a branch needs the document.
bool bound_branches(const MatchNode& disjunction, std::span<const BranchIndex> indexes,
                    ValueArena& arena, std::vector<ConjunctionBounds>& out, bool& exact);

// Sorts the branches by the place of their index; neighbours that are one predicate each on the
// same index become one, unless keys have to be examined one by one.
void join_branches(std::vector<ConjunctionBounds>& branches);

// Whether the value of a key satisfies a predicate on its path that keys decide (check_key).
bool key_matches(const MatchNode& node, const bson::Element& value, bson::Buffer& scratch);

}  // namespace query

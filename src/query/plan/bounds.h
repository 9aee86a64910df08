// query/plan/bounds.h - which keys of an index field a predicate can match.
#pragma once

#include "catalog/collection.h"
#include "query/match/match_tree.h"
#include "query/plan/interval.h"

namespace query {

// How much the bounds alone decide.
enum class Tightness {
    exact,          // every key inside is a match
    check_key,      // the predicate must still be evaluated, but the key is enough for it
    check_document  // only the document tells
};

struct PredicateBounds {
    IntervalList intervals;
    Tightness tightness = Tightness::exact;
};

// Whether `index` can be used for a predicate of this kind on the field at `position` (sparse,
// hashed and multikey indexes cannot answer all). `negated`: the node stands under $not.
bool can_use(const MatchNode& node, const catalog::Index& index, bool negated = false);

// The keys. can_use() must have agreed. Made-up values go to `arena`.
PredicateBounds bounds_of(const MatchNode& node, const catalog::Index& index, ValueArena& arena);

}  // namespace query

// query/plan/conjunction.h - a filter as the planner sees it: the predicates that all have to hold,
// each on its whole path.
#pragma once

#include <string>
#include <vector>

#include "query/match/match_tree.h"
#include "sched/counted.h"

namespace query {

// An $elemMatch around a predicate: it binds the paths below its own to one element.
struct Binding {
    const MatchNode* node;
    size_t parts;  // of its full path
};

// One predicate on one path, as it stands in the conjunction at the root (or inside $elemMatch).
struct Predicate {
    const MatchNode* node;
    sched::String path;
    sched::Vector<Binding> bindings;  // the $elemMatch it stands in, from the outermost one
};

struct Conjunction {
    sched::Vector<Predicate> predicates;
    std::vector<const MatchNode*> disjunctions;
    bool others = false;  // predicates no index can help with
};

// Flattens the tree under `node`, in the order in which a multikey index takes the predicates: if
// it can use only one predicate of a field, it is the first, as with the old planner. Points into
// the tree.
Conjunction flatten(const MatchNode& node);

// Whether two predicates are sure to mean the same array elements in all that their paths have in
// common, as one $elemMatch around both makes them.
bool bound_together(const Predicate& a, const Predicate& b);

}  // namespace query

// query/match/clause_order.h - in which order the clauses of a filter are looked at.
#pragma once

#include "query/match/match_tree.h"

namespace query {

// Puts the children of each conjunction in the tree in the old server's order: by kind, then by
// path. It shows in which clause chooses the positional index, and in the fields of an upsert.
void put_clauses_in_order(MatchNode& node);

}  // namespace query

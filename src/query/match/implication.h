// query/match/implication.h - whether one filter lets through only what another one does, so that
// a partial index can stand for its collection (query/plan/planner.cpp).
#pragma once

#include "query/match/match_tree.h"

namespace query {

// Whether every document that `narrow` matches is one that `wide` matches. False also where that is
// not known. It knows $and, $or and $in, that a comparison follows from a stricter one of the same
// path, that what finds a value at a path says that there is one ($exists), and what is the same on
// both sides.
//
// All but the last rest on the walk of a path (query/match/path.h): two predicates of one path are
// asked about the same values, and each of them is satisfied by one of those. So what holds of one
// value holds of the document.
bool implies(const MatchNode& narrow, const MatchNode& wide);

}  // namespace query

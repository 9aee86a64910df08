// query/match/implication.h - whether one filter lets through only what another one does, so that
// a partial index can stand for its collection (query/plan/planner.cpp).
#pragma once

#include "query/match/match_tree.h"

namespace query {

// Returns whether every document that `narrow` matches is one that `wide` matches; false also if
// that is not known. It knows $and, $or and $in, that a comparison follows from a stricter one of
// the same path, that a predicate which finds a value at a path implies that there is one
// ($exists), and predicates that are the same on both sides.
//
// Each of these but the last rests on the walk of a path (query/match/path.h): two predicates of
// one path are asked about the same values, and each of them is satisfied by one of those. An
// implication for one value therefore holds for the document.
bool implies(const MatchNode& narrow, const MatchNode& wide);

}  // namespace query

// query/plan/place_bounds.h - which keys of an index of places a predicate, or a ring around a
// place, can have.
//
// They keep the promise of query/plan/bounds.h and are never exact: a key is a square or a cell,
// and the document tells.
#pragma once

#include <functional>

#include "catalog/collection.h"
#include "geo/near.h"
#include "query/match/match_tree.h"
#include "query/plan/interval.h"

namespace query {

// Of one field of an index.
geo::IndexKind place_kind(const catalog::Index& index, size_t field);

bool can_use_places(const MatchNode& node, const catalog::Index& index, size_t field);
// Throws base::Error 16433 for a place out of the bounds of a 2d index.
IntervalList place_bounds(const MatchNode& node, const catalog::Index& index, ValueArena& arena);

// Whether the index can find what is near.
bool can_find_near(const MatchNode& near, const catalog::Index& index, size_t* field);
// Throws base::Error 16433.
void check_centre(const MatchNode& near, const catalog::Index& index);

// Whether the index has keys in one of these intervals.
using HasKeys = std::function<bool(const IntervalList&)>;

// The keys of what lies between two distances, as the index measures them. With `has_keys` parts
// of the ring that have none are left out, so that the others can be cut smaller.
IntervalList ring_bounds(const geo::Near& near, const catalog::Index& index, double inner,
                         double outer, const HasKeys& has_keys, ValueArena& arena);
// The largest distance that there can be.
double farthest(const geo::Near& near, const catalog::Index& index);
// How far the nearest ones of so many may be that are spread evenly.
double likely_reach(const geo::Near& near, const catalog::Index& index, int64_t wanted,
                    int64_t documents);

}  // namespace query

// query/match/times.h - which nodes of a filter take Dates and Timestamps for two classes.
#pragma once

#include "bson/order_of_today.h"
#include "query/match/match_tree.h"

namespace query {

// A comparison, or $in, by a client of today, with what has a Date or a Timestamp in it. All others
// come out the same in both orders.
inline bool parts_times(const MatchNode& node) {
    return node.nan_apart && node.kind != MatchKind::mod && !node.operand.is_number();
}

// Whether its client is of today, so that Dates and Timestamps are two classes in all of a query.
inline bool is_of_today(const Matcher& matcher) {
    return matcher.root().nan_apart;
}

// Of the filters of partial indexes. Both dialects keep these up, and what is in one must not
// change with the client that writes: so they take Dates and Timestamps for one class.
inline const RefusedExpressions kNoExpressionsInIndexes(base::kQueryFeatureNotAllowed,
                                                        "$expr is not allowed in this context");

}  // namespace query

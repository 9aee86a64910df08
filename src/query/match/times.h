// query/match/times.h - which nodes of a filter take Dates and Timestamps for two classes.
#pragma once

#include "bson/order_of_today.h"
#include "dialect/dialect.h"
#include "query/match/match_tree.h"

namespace query {

// Whether the node is a comparison, or $in, by a client of today, with a value that has a Date or a
// Timestamp in it. Other comparisons come out the same in both orders.
inline bool parts_times(const MatchNode& node) {
    return node.nan_apart && node.kind != MatchKind::mod && !node.operand.is_number();
}

// Returns the dialect of the client whose filter it is. To clients of today Dates and Timestamps
// are two classes in all of a query.
inline dialect::Dialect dialect_of(const Matcher& matcher) {
    return matcher.root().nan_apart ? dialect::kToday : dialect::kV26;
}

// The expressions of the filters of partial indexes. Both dialects keep these indexes up, and their
// contents must not change with the client that writes: so the filters take Dates and Timestamps
// for one class.
inline const RefusedExpressions kNoExpressionsInIndexes(base::kQueryFeatureNotAllowed,
                                                        "$expr is not allowed in this context");

}  // namespace query

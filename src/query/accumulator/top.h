// query/accumulator/top.h - $firstN, $lastN, $minN, $maxN, and $top, $topN, $bottom, $bottomN: the
// values at one end of an order.
#pragma once

#include "query/accumulator/accumulator.h"

namespace query {

// Which values stay, and how the result shows them.
struct Extremes {
    size_t count = 1;
    bool last = false;    // those at the end of the order stay
    bool single = false;  // the result is a value, no array
};

// A null counts as no value if the order is ascending or descending.
enum class ValueOrder { as_they_come, ascending, descending };

AccumulatorMaker values_maker(ValueOrder order, std::shared_ptr<const collation::Collator> collator,
                              const Extremes& extremes);

// Makes an accumulator of arrays of two: a sort key, whose fields descend where a bit of
// `descending` says so, and the value that the result shows.
AccumulatorMaker keyed_values_maker(uint32_t descending, const Extremes& extremes);

}  // namespace query

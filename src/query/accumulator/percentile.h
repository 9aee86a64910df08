// query/accumulator/percentile.h - $percentile and $median: of all numbers, sorted, the one at a
// place.
#pragma once

#include "query/accumulator/accumulator.h"

namespace query {

// Percentiles of numbers: each of `ps` from 0 to 1, null for each of no numbers.
AccumulatorMaker percentile_maker(sched::Vector<double> ps, bool is_median);

}  // namespace query

// query/expression/accumulator_spec.h - what a request asks of accumulators: which ones, and by
// which expression each of them gets its values.
#pragma once

#include <string>
#include <string_view>

#include "query/accumulator/accumulator.h"
#include "query/expression/expression.h"

namespace query {

// A specification's accumulators, and the expression whose value each of them gets of a document.
struct AccumulatorSpec {
    AccumulatorMaker maker;
    ExpressionPtr input;
};

// {$sum: ...}. Throws base::Error 15952 for one that is unknown in the dialect of `names`, 15953
// for several operands, 168 for one that is refused, and those of each.
AccumulatorSpec parse_accumulator(const Value& op, Names& names);

// A field of $group, {name: {$sum: ...}}. Throws base::Error 15950 to 15954, 16414.
struct GroupField {
    std::string name;
    AccumulatorSpec accumulator;
};
GroupField parse_group_field(const Value& e, Names& names);

// Finds the parser of an accumulator with operands beside its values ($topN, $percentile); null for
// other names.
using AccumulatorParser = AccumulatorSpec (*)(const Value& op, Names& names);
AccumulatorParser find_top_accumulator(std::string_view name);
AccumulatorParser find_percentile_accumulator(std::string_view name);
// $accumulator, whose functions are JavaScript. Throws base::Error 115 where no scripts are run.
AccumulatorSpec parse_script_accumulator(const Value& op, Names& names);

}  // namespace query

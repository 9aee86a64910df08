// query/aggregation/accumulator.h - what $group computes over the documents of one group, and
// $setWindowFields over those of a window.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "bson/builder.h"
#include "query/aggregation/expression.h"
#include "query/aggregation/value.h"
#include "sched/counted.h"

namespace query {

class Accumulator : public sched::Counted {
  public:
    virtual ~Accumulator() = default;
    virtual void add(const Value& v) = 0;
    // Appends `name: result` to an open document. Of $push it is the last call.
    virtual void write(std::string_view name, bson::Buffer& out) = 0;
    // Bytes held besides the object itself, for the memory limit.
    virtual int64_t bytes() const { return 0; }
    // All that it knows, to go on in another one of the same kind: restore(), right after it was
    // made, takes what save() appended.
    virtual void save(bson::Buffer& out) const = 0;
    virtual void restore(std::span<const uint8_t> saved) = 0;
};

using AccumulatorMaker = std::function<std::unique_ptr<Accumulator>()>;

// What a specification asks for: accumulators, and what each of them gets of a document.
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

// One that needs nothing but values ("$sum"); empty for other names.
// `collator`: under which it compares texts, and which must outlive what it makes; null: by bytes.
AccumulatorMaker find_accumulator(std::string_view name, bool later,
                                  const collation::Collator* collator);
// Those that have operands beside their values ($topN, $percentile); empty for other names.
using AccumulatorParser = AccumulatorSpec (*)(const Value& op, Names& names);
AccumulatorParser find_top_accumulator(std::string_view name);
AccumulatorParser find_percentile_accumulator(std::string_view name);

// What an accumulator makes of some values.
Value accumulated(Arena& arena, Accumulator& accumulator, std::span<const Value> values);

// Percentiles of numbers: each of `ps` from 0 to 1, null for each of no numbers.
AccumulatorMaker percentile_maker(sched::Vector<double> ps, bool is_median);
// p and method of a specification, {p: [..], method: ..}. Throws base::Error 7750301 to 7750303.
sched::Vector<double> percentiles_of(const Value& spec, std::string_view op, bool is_median);

}  // namespace query

// query/accumulator/accumulator.h - what $group computes over the values of one group, and
// $setWindowFields over those of a window. An accumulator gets values and knows no expression:
// query/expression/accumulator_spec.h reads what a request asks for.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "bson/builder.h"
#include "dialect/dialect.h"
#include "query/value/value.h"
#include "sched/counted.h"

namespace query {

class Accumulator : public sched::Counted {
  public:
    virtual ~Accumulator() = default;
    virtual void add(const Value& v) = 0;
    // Appends `name: result` to an open document. For $push it must be the last call.
    virtual void write(std::string_view name, bson::Buffer& out) = 0;
    // Bytes held besides the object itself, for the memory limit.
    virtual int64_t bytes() const { return 0; }
    // Appends all that the accumulator knows, so that another one of the same kind can go on: its
    // restore() takes these bytes, right after it was made.
    virtual void save(bson::Buffer& out) const = 0;
    virtual void restore(std::span<const uint8_t> saved) = 0;
};

using AccumulatorMaker = std::function<std::unique_ptr<Accumulator>()>;

// One that needs nothing but values ("$sum"); empty for other names.
// `collator`: under which it compares texts, and which must outlive what it makes; null: by bytes.
AccumulatorMaker find_accumulator(std::string_view name, dialect::Dialect dialect,
                                  const collation::Collator* collator);
// $count, which needs no values. Not found by its name, since it has no operand either.
AccumulatorMaker count_maker();

// Returns the result of an accumulator for some values.
Value accumulated(Arena& arena, Accumulator& accumulator, std::span<const Value> values);

}  // namespace query

// query/aggregation/accumulator.h - what $group computes over the documents of one group.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "bson/builder.h"
#include "query/aggregation/value.h"
#include "sched/counted.h"

namespace query {

class Accumulator : public sched::Counted {
  public:
    virtual ~Accumulator() = default;
    virtual void add(const Value& v) = 0;
    // Appends `name: result` to an open document. The last call.
    virtual void write(std::string_view name, bson::Buffer& out) = 0;
    // Bytes held besides the object itself, for the memory limit.
    virtual int64_t bytes() const { return 0; }
    // All that it knows, to go on in another one of the same kind: restore(), right after it was
    // made, takes what save() appended.
    virtual void save(bson::Buffer& out) const = 0;
    virtual void restore(std::span<const uint8_t> saved) = 0;
};

using AccumulatorMaker = std::unique_ptr<Accumulator> (*)();
// Null for an unknown name ("$sum"). `over_msg`: for a client that expects of no numbers no
// average.
AccumulatorMaker find_accumulator(std::string_view name, bool over_msg);

}  // namespace query

// query/stage/window_function.h - what $setWindowFields computes: for each document of a
// partition a value, from those around it.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "query/expression/accumulator_spec.h"
#include "query/expression/expression.h"
#include "query/value/value.h"

namespace query {

// The documents of one partition, in order.
struct Partition {
    const sched::Vector<bson::Object>& documents;
    // First and one behind the last of them.
    size_t begin = 0;
    size_t end = 0;
    // Tells of each of all documents whether it is sorted as the one before it is.
    const sched::Vector<bool>& same_as_previous;
    // The values of the sort field; empty if there are several such fields, or none.
    const sched::Vector<Value>& sort_values;

    size_t size() const { return end - begin; }
};

class WindowFunction {
  public:
    virtual ~WindowFunction() = default;
    // Appends a value for each document of the partition; they live in `arena`.
    virtual void compute(const Partition& partition, Scope& scope, Arena& arena,
                         sched::Vector<Value>& values) = 0;
    virtual void add_needs(Needs& needs) const = 0;
    virtual void simplify_expressions() {}
};

// The facts about its stage that a window function may know.
struct WindowContext {
    bson::Doc sort_by;  // empty: not sorted
};

// {$sum: ..., window: {...}}. Throws base::Error 9, 168 for functions that there are not here, and
// those of accumulators.
std::unique_ptr<WindowFunction> parse_window_function(const Value& spec,
                                                      const WindowContext& context, Names& names);

}  // namespace query

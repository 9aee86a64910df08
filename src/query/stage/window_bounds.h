// query/stage/window_bounds.h - the window of each document: from one to another, counted from it,
// by values of the sort field around its own, or to an end of the partition.
#pragma once

#include <optional>
#include <utility>

#include "query/expression/date_operands.h"
#include "query/stage/window_function.h"

namespace query {

class WindowBounds {
  public:
    // {documents: [lower, upper]} or {range: [lower, upper], unit: "day"}; missing: the partition.
    // Throws base::Error 9, 5339900 to 5339902.
    WindowBounds(const Value& window, const WindowContext& context);

    bool is_whole() const { return !lower_ && !upper_; }
    bool begins_with_partition() const { return !lower_; }
    // The window of the document at a position, as positions in the partition: the first, and the
    // one behind the last. Throws base::Error 5429413, 5429414 for values that have no range.
    std::pair<size_t, size_t> window_of(const Partition& partition, size_t at) const {
        return by_range_ ? range_of(partition, at) : places_of(partition.size(), at);
    }

  private:
    void read(const Value& list, const WindowContext& context);
    std::optional<Value> bound_of(const Value& v);
    std::pair<size_t, size_t> places_of(size_t size, size_t at) const;
    std::pair<size_t, size_t> range_of(const Partition& partition, size_t at) const;
    const Value& value_at(const Partition& partition, size_t at) const;
    Value limit(Arena& arena, const Value& current, const Value& bound) const;

    bool by_range_ = false;
    std::optional<TimeUnit> unit_;
    Arena arena_;
    // Numbers; none: all that come before, or behind.
    std::optional<Value> lower_;
    std::optional<Value> upper_;
};

// Appends the values of an expression for each document of a partition; they live in `arena`.
void collect_inputs(const Partition& partition, Scope& scope, const Expression& input, Arena& arena,
                    sched::Vector<Value>& inputs);

}  // namespace query

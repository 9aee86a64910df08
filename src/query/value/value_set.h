// query/value/value_set.h - values in the order in which they came, each equal one once
// (compare_pipeline_values, under the set's collation).
//
// It refers to the bytes of its values, which must outlive it. It lies in a few blocks of memory:
// letting a set go cannot be interrupted, and so must not take long, however large it is. Every
// operation that takes long counts ticks (sched/tick.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "query/value/value_order.h"

namespace query {

class ValueSet {
  public:
    // `collator` must outlive it; null: texts are compared by their bytes.
    explicit ValueSet(const collation::Collator* collator, Times times = Times::two_classes)
        : collator_(collator), times_(times) {}
    // Makes a set of an array's elements.
    ValueSet(const Value& array, const collation::Collator* collator) : collator_(collator) {
        insert_all(array);
    }

    void insert(const Value& v);
    void insert_all(const Value& array);
    bool contains(const Value& v) const { return position(v) != kNone; }
    // The position of a value that is not in values().
    static constexpr size_t kNone = std::numeric_limits<size_t>::max();
    size_t position(const Value& v) const;
    bool contains_all(const ValueSet& other) const;
    const sched::Vector<Value>& values() const { return values_; }

  private:
    static constexpr uint32_t kFree = 0;

    size_t find(const Value& v, size_t hash) const;
    void grow();

    const collation::Collator* collator_;
    Times times_ = Times::two_classes;
    sched::Vector<Value> values_;
    sched::Vector<size_t> hashes_;  // of values_
    sched::Vector<uint32_t>
        slots_;  // the number of a value, counted from 1; as many as a power of 2
};

}  // namespace query

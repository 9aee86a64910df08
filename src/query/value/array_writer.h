// query/value/array_writer.h - an array that an expression makes, and the elements of one
// that it takes.
#pragma once

#include "base/dcheck.h"
#include "bson/element_writer.h"
#include "query/value/value.h"
#include "sched/tick.h"

namespace query {

// REQUIRES: it is an array. They stand in its bytes.
inline sched::Vector<Value> elements_of(const Value& array) {
    DCHECK(array.is_array());
    sched::Vector<Value> elements;
    for (const Value& e : sched::ticked(array.as_doc()))
        elements.push_back(e);
    return elements;
}

class ArrayWriter {
  public:
    ArrayWriter() : start_(open_doc(out_)) {}
    // Appends a value; a missing one becomes null, as in every array that is made.
    void push(const Value& v) {
        sched::tick();
        write_value(out_, bson::IndexName(size_++).view(), v.missing() ? null_value() : v);
    }
    void push_all(const Value& array) {
        DCHECK(array.is_array());
        for (const Value& v : array.as_doc())
            push(v);
    }
    uint32_t size() const { return size_; }
    // The last call.
    Value value(Arena& arena) {
        close_doc(out_, start_);
        return make_doc(arena, bson::Type::array, bson::Doc(out_.data()));
    }

  private:
    bson::Buffer out_;
    size_t start_;
    uint32_t size_ = 0;
};

}  // namespace query

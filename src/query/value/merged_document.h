// query/value/merged_document.h - a document put together field by field: a field that comes
// again takes the value that it has then, and keeps its place.
#pragma once

#include <string_view>

#include "query/match/field_index.h"
#include "query/value/value.h"

namespace query {

class MergedDocument {
  public:
    // The value must live as long as this does; the name only for the call.
    void set(std::string_view name, const Value& value);
    // Appends its fields to an open document.
    void write_fields(bson::Buffer& out) const;
    Value value(Arena& arena) const;

  private:
    struct Field {
        sched::String name;
        Value value;
    };
    sched::Vector<Field> fields_;
    FieldIndex index_;
};

}  // namespace query

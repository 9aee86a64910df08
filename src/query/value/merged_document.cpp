#include "query/value/merged_document.h"

#include "bson/element_writer.h"
#include "sched/tick.h"

namespace query {

void MergedDocument::set(std::string_view name, const Value& value) {
    sched::tick();
    const size_t at = index_.find(
        name, fields_.size(), [this](size_t i) -> const auto& { return fields_[i].name; });
    if (at != FieldIndex::kNone) {
        fields_[at].value = value;
        return;
    }
    index_.added(fields_.size(), name);
    fields_.push_back({sched::String(name), value});
}

void MergedDocument::write_fields(bson::Buffer& out) const {
    for (const Field& field : sched::ticked(fields_))
        write_value(out, field.name, field.value);
}

Value MergedDocument::value(Arena& arena) const {
    bson::Buffer out;
    const size_t start = open_doc(out);
    write_fields(out);
    close_doc(out, start);
    return make_doc(arena, bson::Type::object, bson::Doc(out.data()));
}

}  // namespace query

#include "query/update/elements.h"

#include "base/error.h"
#include "bson/element_writer.h"
#include "bson/json.h"
#include "sched/tick.h"

namespace query {

using bson::Element;
using bson::Type;

Elements elements_of(bson::Doc array) {
    Elements out;
    for (const Element& e : sched::ticked(array))
        out.push_back(e);
    return out;
}

void require_array(const Element& old, const char* op, int code) {
    if (old && !old.is_array()) {
        base::fail(code, "The field '{}' must be an array but is {}: {} needs an array", old.name(),
                   bson::to_text(old), op);
    }
}

void write_array(bson::Buffer& out, std::string_view name, const Elements& elements) {
    write_header(out, Type::array, name);
    const size_t start = open_doc(out);
    uint32_t index = 0;
    for (const Element& e : sched::ticked(elements))
        write_value(out, bson::IndexName(index++).view(), e);
    close_doc(out, start);
}

}  // namespace query

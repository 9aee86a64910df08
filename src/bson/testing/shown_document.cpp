#include "bson/testing/shown_document.h"

#include <cmath>

namespace bson {

namespace {

void append_as_shown(Builder& out, std::string_view name, const Element& e) {
    switch (e.type()) {
        case Type::undefined:
            out.append_null(name);
            break;
        case Type::symbol:
            out.append(name, e.as_string());
            break;
        case Type::number_double:
            out.append(name, std::isnan(e.as_double()) ? std::nan("") : e.as_double());
            break;
        case Type::db_pointer: {
            auto ref = out.sub_object(name);
            ref.append("$ref", e.as_string());
            ref.append("$id", load<ObjectId>(e.value() + e.value_size() - 12));
            break;
        }
        case Type::object:
            out.append(name, as_shown(e.as_doc()));
            break;
        case Type::array:
            out.append_array(name, as_shown(e.as_doc()));
            break;
        default:
            out.append_as(name, e);
    }
}

}  // namespace

Object as_shown(Doc doc) {
    Builder b;
    for (const Element& e : doc)
        append_as_shown(b, e.name(), e);
    return b.object();
}

}  // namespace bson

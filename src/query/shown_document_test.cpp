#include "query/shown_document.h"

#include <gtest/gtest.h>

#include <cmath>

#include "query/test_json.h"

namespace query {

using bson::Element;

namespace {

void append_as_shown(bson::Builder& out, std::string_view name, const Element& e) {
    switch (e.type()) {
        case bson::Type::undefined:
            out.append_null(name);
            break;
        case bson::Type::symbol:
            out.append(name, e.as_string());
            break;
        case bson::Type::number_double:
            out.append(name, std::isnan(e.as_double()) ? std::nan("") : e.as_double());
            break;
        case bson::Type::db_pointer: {
            auto ref = out.sub_object(name);
            ref.append("$ref", e.as_string());
            ref.append("$id", bson::load<bson::ObjectId>(e.value() + e.value_size() - 12));
            break;
        }
        case bson::Type::object:
            out.append(name, as_shown(e.as_doc()));
            break;
        case bson::Type::array:
            out.append_array(name, as_shown(e.as_doc()));
            break;
        default:
            out.append_as(name, e);
    }
}

}  // namespace

bson::Object as_shown(bson::Doc doc) {
    bson::Builder b;
    for (const Element& e : doc)
        append_as_shown(b, e.name(), e);
    return b.object();
}

TEST(ShownDocument, UndefinedIsNull) {
    const bson::Object shown = as_shown(parse_test_json(R"({"a": [{"$undefined": true}]})"));
    EXPECT_EQ(shown["a"].as_doc()["0"].type(), bson::Type::null);
}

}  // namespace query

#include "bson/testing/shown_document.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"

namespace bson {

TEST(ShownDocument, UndefinedIsNull) {
    const Object shown = as_shown(parse_test_json(R"({"a": [{"$undefined": true}]})"));
    EXPECT_EQ(shown["a"].as_doc()["0"].type(), Type::null);
}

}  // namespace bson

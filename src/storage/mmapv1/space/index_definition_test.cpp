#include "storage/mmapv1/space/index_definition.h"

#include <gtest/gtest.h>

#include "bson/json.h"

namespace mmapv1 {
namespace {

const bson::Object kFilter = bson::make("a", bson::make("$gt", 5));

TEST(IndexDefinition, APartialOneGoesThereAndBack) {
    const bson::Object spec =
        bson::make("v", 1, "unique", true, "key", bson::make("a", 1, "b", -1), "name", "x",
                   "partialFilterExpression", kFilter, "ns", "t.c");
    const bson::Object stored = stored_definition(spec);
    EXPECT_EQ(bson::to_text(stored["key"].as_doc()), "{ _partial: \"partial\", a: 1, b: -1 }");
    EXPECT_EQ(bson::to_text(shown_definition(stored)), bson::to_text(spec));
}

TEST(IndexDefinition, OneWithACollationToo) {
    const bson::Object german = bson::make("locale", "de", "strength", 2);
    const bson::Object spec = bson::make("v", 1, "key", bson::make("a", 1), "name", "x", "ns",
                                         "t.c", "collation", german);
    const bson::Object stored = stored_definition(spec);
    EXPECT_TRUE(is_newer_kind(spec));
    EXPECT_EQ(bson::to_text(stored["key"].as_doc()), "{ _collation: \"collation\", a: 1 }");
    EXPECT_EQ(bson::to_text(shown_definition(stored)), bson::to_text(spec));
    const bson::Object both = bson::make("v", 1, "key", bson::make("a", 1), "name", "x",
                                         "collation", german, "partialFilterExpression", kFilter);
    EXPECT_EQ(bson::to_text(stored_definition(both)["key"].as_doc()),
              "{ _partial: \"partial\", _collation: \"collation\", a: 1 }");
    EXPECT_EQ(bson::to_text(shown_definition(stored_definition(both))), bson::to_text(both));
    // A 2.6 has stored this one.
    EXPECT_FALSE(shown_definition(spec).doc().has("collation"));
}

TEST(IndexDefinition, AnotherOneStaysAsItIs) {
    const bson::Object spec = bson::make("v", 1, "key", bson::make("a", "hashed"), "name", "x");
    EXPECT_EQ(bson::to_text(stored_definition(spec)), bson::to_text(spec));
    EXPECT_EQ(bson::to_text(shown_definition(spec)), bson::to_text(spec));
}

// A 2.6 has stored the option, and keeps all documents in the index.
TEST(IndexDefinition, TheOptionAloneMakesNoneOnDisk) {
    const bson::Object stored = bson::make("v", 1, "key", bson::make("a", 1), "name", "x",
                                           "partialFilterExpression", kFilter);
    EXPECT_EQ(bson::to_text(shown_definition(stored)),
              bson::to_text(bson::make("v", 1, "key", bson::make("a", 1), "name", "x")));
}

}  // namespace
}  // namespace mmapv1

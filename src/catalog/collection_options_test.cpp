#include "catalog/collection_options.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"

namespace catalog {
namespace {

storage::CollectionOptions parsed(const char* options) {
    return parse_collection_options(bson::from_json(options));
}

std::string stored(const char* options) {
    return bson::to_text(parsed(options).options.doc());
}

int code_of(const char* options) {
    try {
        parsed(options);
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

TEST(CollectionOptions, DefaultsStoreNothing) {
    EXPECT_EQ(stored("{}"), "{}");
    EXPECT_EQ(stored(R"({"size": 100000, "max": 5})"), "{}");
    EXPECT_EQ(parsed("{}").user_flags, 1);
    EXPECT_TRUE(parsed("{}").id_index);
}

TEST(CollectionOptions, CappedSizesAreRounded) {
    EXPECT_EQ(stored(R"({"capped": true, "size": 1})"), "{ capped: true, size: 4096 }");
    EXPECT_EQ(stored(R"({"capped": true, "size": 4097})"), "{ capped: true, size: 4352 }");
    EXPECT_EQ(parsed(R"({"capped": true, "size": 8192, "max": 7})").capped_max_documents, 7);
    EXPECT_EQ(parsed(R"({"capped": true, "size": 8192, "max": 0})").capped_max_documents, 0);
    EXPECT_EQ(parsed(R"({"capped": true, "size": 8192})").user_flags, 0);
}

TEST(CollectionOptions, Refusals) {
    EXPECT_EQ(code_of(R"({"capped": true})"), 14832);
    EXPECT_EQ(code_of(R"({"size": -1})"), base::kBadValue);
    EXPECT_EQ(code_of(R"({"capped": true, "size": 4096, "max": 2147483648.0})"), base::kBadValue);
    EXPECT_EQ(code_of(R"({"timeseries": {"timeField": "t"}})"), base::kInvalidOptions);
    EXPECT_EQ(code_of(R"({"collation": {"locale": "de"}})"), 0);
    EXPECT_EQ(code_of(R"({"collation": {"locale": "nosuch"}})"), base::kBadValue);
    EXPECT_EQ(code_of(R"({"collation": {"locale": "simple"}})"), 0);
}

TEST(CollectionOptions, ValidationIsStoredAsItIs) {
    EXPECT_EQ(stored(R"({"validationAction": "warn", "validator": {"a": 1}, "flags": 1})"),
              "{ flags: 1, validationAction: \"warn\", validator: { a: 1 } }");
}

TEST(CollectionOptions, ExtentsAndFlags) {
    EXPECT_EQ(stored(R"({"$nExtents": [4096, 10000]})"), "{ $nExtents: [ 4096, 10000 ] }");
    EXPECT_EQ(parsed(R"({"$nExtents": 3, "size": 20000})").extent_bytes,
              (std::vector<int64_t>{20000, 20000, 20000}));
    EXPECT_EQ(parsed(R"({"flags": 2})").user_flags, 2);
    EXPECT_FALSE(parsed(R"({"autoIndexId": false})").id_index);
}

}  // namespace
}  // namespace catalog

#include "bson/view.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/testing/failed_check.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "bson/testing/values.h"
#include "bson/validate.h"

namespace bson {
namespace {

TEST(Builder, ANameHasNoNul) {
    EXPECT_TRUE(base::is_refused([] { Builder().append(std::string_view("a\0b", 3), 1); }));
}

TEST(View, AnEmptyDocumentHasNoFields) {
    const Doc doc;
    EXPECT_TRUE(doc.empty());
    EXPECT_EQ(doc.size(), 5);
    EXPECT_TRUE(doc.begin() == doc.end());
    EXPECT_TRUE(doc.first().missing());
    EXPECT_EQ(doc.field_count(), 0);
}

TEST(View, AMissingElementMayBeAskedAnything) {
    const Element none = Doc()["x"];
    EXPECT_FALSE(none);
    EXPECT_EQ(none.type(), Type::eoo);
    EXPECT_EQ(none.name(), "");
    EXPECT_FALSE(none.truthy());
    EXPECT_EQ(none.to_double(), 0);
    EXPECT_EQ(none.to_int64(), 0);
    EXPECT_FALSE(none.is_number());
}

TEST(View, ReadsEveryType) {
    const ObjectId id{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
    const std::vector<uint8_t> bytes = {1, 0, 255};
    Builder b;
    b.append("double", 1.5).append("string", std::string("a\0b", 3)).append("doc", make("x", 1));
    b.append_array("array", make("0", "zero"));
    b.append_binary("binary", 0x80, bytes).append("id", id).append("bool", true);
    b.append_date("date", -5)
        .append_timestamp("ts", 7ULL << 32 | 9)
        .append_regex("re", "a.b", "im");
    b.append("int", -3).append("long", int64_t{1} << 40).append_symbol("sym", "s");
    b.append_code("code", "f()");
    const Doc doc = b.doc();
    EXPECT_EQ(doc["double"].as_double(), 1.5);
    EXPECT_EQ(doc["string"].as_string(), std::string("a\0b", 3));
    EXPECT_EQ(doc["doc"].as_doc()["x"].as_int32(), 1);
    EXPECT_EQ(doc["array"].as_doc()["0"].as_string(), "zero");
    EXPECT_EQ(doc["binary"].binary_subtype(), 0x80);
    EXPECT_EQ(std::vector<uint8_t>(doc["binary"].binary_data().begin(),
                                   doc["binary"].binary_data().end()),
              bytes);
    EXPECT_EQ(doc["id"].as_object_id(), id);
    EXPECT_TRUE(doc["bool"].as_bool());
    EXPECT_EQ(doc["date"].as_date(), -5);
    EXPECT_EQ(doc["ts"].as_timestamp(), 7ULL << 32 | 9);
    EXPECT_EQ(doc["re"].regex_pattern(), "a.b");
    EXPECT_EQ(doc["re"].regex_flags(), "im");
    EXPECT_EQ(doc["int"].as_int32(), -3);
    EXPECT_EQ(doc["long"].as_int64(), int64_t{1} << 40);
    EXPECT_EQ(doc["sym"].as_string(), "s");
    EXPECT_EQ(doc["code"].as_string(), "f()");
    EXPECT_EQ(doc.field_count(), 14);
    const Object scoped = from_json(R"j({"c": {"$code": "g()", "$scope": {"a": 1}}})j");
    EXPECT_EQ(scoped["c"].code_text(), "g()");
    EXPECT_EQ(scoped["c"].code_scope()["a"].as_int32(), 1);
}

TEST(View, ConvertsNumbersWithClampingAndTruncation) {
    const auto number = [](auto v) { return make("v", v); };
    EXPECT_EQ(number(-1.9)["v"].to_int64(), -1);
    EXPECT_EQ(number(1e30)["v"].to_int64(), std::numeric_limits<int64_t>::max());
    EXPECT_EQ(number(-1e30)["v"].to_int64(), std::numeric_limits<int64_t>::min());
    EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN())["v"].to_int64(), 0);
    EXPECT_EQ(number(int64_t{1} << 40)["v"].to_int32(), std::numeric_limits<int32_t>::max());
    EXPECT_EQ(number(-(int64_t{1} << 40))["v"].to_int32(), std::numeric_limits<int32_t>::min());
    EXPECT_EQ(number("7")["v"].to_int64(), 0);
}

TEST(View, TellsTruthAsConditionsDo) {
    const Object doc = from_json(R"({"yes": [1, 0.5, "", {}, [], true, {"$numberLong": "1"}],
                                     "no": [0, 0.0, false, null, {"$undefined": true}]})");
    for (const Element& e : doc["yes"].as_doc())
        EXPECT_TRUE(e.truthy()) << e.name();
    for (const Element& e : doc["no"].as_doc())
        EXPECT_FALSE(e.truthy()) << e.name();
}

TEST(View, FollowsDottedPaths) {
    const Object doc = from_json(R"({"a": {"b": [10, {"c": 5}]}, "x": 1, "a.b": 2})");
    EXPECT_EQ(doc.doc().at_path("a.b.1.c").as_int32(), 5);
    EXPECT_EQ(doc.doc().at_path("a.b.0").as_int32(), 10);
    EXPECT_EQ(doc.doc().at_path("x").as_int32(), 1);
    EXPECT_TRUE(doc.doc().at_path("x.y").missing());
    EXPECT_TRUE(doc.doc().at_path("a.b.c").missing());
    EXPECT_TRUE(doc.doc().at_path("a.q.c").missing());
}

TEST(Builder, WritesNestedDocumentsIntoOneBuffer) {
    Buffer buffer;
    Builder outer(buffer);
    {
        Builder array = outer.sub_array("list");
        array.push(1).push("two");
        Builder inner = array.sub_object(array.next().view());
        inner.append("x", 1.5);
    }
    outer.append("after", true);
    EXPECT_EQ(to_text(outer.doc()), "{ list: [ 1, \"two\", { x: 1.5 } ], after: true }");
    EXPECT_EQ(outer.doc().size(), static_cast<int32_t>(buffer.size()));
    EXPECT_EQ(validate(buffer.data(), buffer.size()), "");
}

TEST(Builder, AppendsBehindWhatTheBufferHolds) {
    Buffer buffer;
    buffer.append_value<int32_t>(7);
    {
        Builder first(buffer);
        first.append("a", 1);
    }
    const size_t second_at = buffer.size();
    Builder(buffer).append("b", 2);
    EXPECT_EQ(load<int32_t>(buffer.data()), 7);
    EXPECT_EQ(to_text(Doc(buffer.data() + 4)), "{ a: 1 }");
    EXPECT_EQ(to_text(Doc(buffer.data() + second_at)), "{ b: 2 }");
}

TEST(Builder, CopiesElementsUnderTheirOwnAndOtherNames) {
    const Object from = make("a", 1, "b", "x");
    Builder b;
    b.append(from["b"]).append(from["none"]).append_as("c", from["a"]).append_as("d", from["none"]);
    b.append_all(from);
    EXPECT_EQ(to_text(b.doc()), "{ b: \"x\", c: 1, a: 1, b: \"x\" }");
}

TEST(Builder, TypesCountsAsTheOldServer) {
    Builder b;
    const int64_t two30 = int64_t{1} << 30;
    const int64_t two40 = int64_t{1} << 40;
    b.append_number("a", two30 - 1).append_number("b", two30).append_number("c", two40 - 1);
    b.append_number("d", two40).append_number("e", -two30);
    const Doc doc = b.doc();
    EXPECT_EQ(doc["a"].type(), Type::int32);
    EXPECT_EQ(doc["b"].type(), Type::number_double);
    EXPECT_EQ(doc["c"].type(), Type::number_double);
    EXPECT_EQ(doc["d"].type(), Type::int64);
    EXPECT_EQ(doc["e"].type(), Type::number_double);
}

TEST(Builder, FieldsReadBackAsTheyWereWritten) {
    TestValues values(11);
    for (int round = 0; round < 3000; ++round) {
        Builder b;
        for (int i = 0; i < 5; ++i)
            values.append(b, IndexName(static_cast<uint32_t>(i)).view());
        const Object doc = b.object();
        ASSERT_EQ(validate(doc.bytes().data(), doc.bytes().size()), "");
        ASSERT_EQ(doc.doc().field_count(), 5);
        Builder copy;
        for (const Element& e : doc)
            copy.append_as(e.name(), e);
        ASSERT_EQ(copy.object().bytes(), doc.bytes());
    }
}

TEST(ObjectIds, AreUniqueAndAscendWithTime) {
    const ObjectId a = new_object_id();
    const ObjectId b = new_object_id();
    EXPECT_FALSE(a == b);
    EXPECT_EQ(std::memcmp(a.bytes + 4, b.bytes + 4, 5), 0);
    EXPECT_LE(std::memcmp(a.bytes, b.bytes, 4), 0);
}

}  // namespace
}  // namespace bson

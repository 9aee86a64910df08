#include "query/match/json_schema.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/testing/json.h"
#include "query/match/match_tree.h"
#include "query/match/unordered.h"

namespace query {
namespace {

using bson::Object;

// Errors as their codes.
int takes(const std::string& schema, const std::string& doc) {
    const Object parsed = bson::from_json(schema);
    try {
        const JsonSchema compiled{parsed.doc()};
        return compiled.accepts(bson::from_json(doc).doc()) ? 1 : 0;
    } catch (const base::Error& error) {
        return error.code();
    }
}

struct Case {
    const char* schema;
    std::vector<const char*> taken, refused;
};

void expect_all(const std::vector<Case>& cases) {
    for (const Case& c : cases) {
        for (const char* doc : c.taken)
            EXPECT_EQ(takes(c.schema, doc), 1) << c.schema << " " << doc;
        for (const char* doc : c.refused)
            EXPECT_EQ(takes(c.schema, doc), 0) << c.schema << " " << doc;
    }
}

TEST(JsonSchema, Types) {
    expect_all({
        {"{}", {"{}", R"({"a": 1})"}, {}},
        {R"({"bsonType": "object"})", {"{}"}, {}},
        {R"({"type": "array"})", {}, {"{}"}},
        {R"({"properties": {"a": {"bsonType": "int"}}})",
         {"{}", R"({"a": 1})"},
         {R"({"a": 1.5})", R"({"a": "1"})", R"({"a": null})", R"({"a": [1]})"}},
        {R"({"properties": {"a": {"bsonType": ["long", "string"]}}})",
         {R"({"a": "x"})", R"({"a": {"$numberLong": "1"}})"},
         {R"({"a": 1})"}},
        {R"({"properties": {"a": {"type": "number"}}})",
         {R"({"a": 1})", R"({"a": 1.5})", R"({"a": {"$numberDecimal": "1"}})"},
         {R"({"a": true})"}},
        {R"({"properties": {"a": {"type": "boolean"}}})", {R"({"a": true})"}, {R"({"a": 0})"}},
        {R"({"properties": {"a": {"type": ["null", "object"]}}})",
         {R"({"a": null})", R"({"a": {}})"},
         {R"({"a": []})"}},
    });
}

TEST(JsonSchema, Numbers) {
    expect_all({
        {R"({"properties": {"a": {"minimum": 3}}})",
         {R"({"a": 3})", R"({"a": 3.5})", R"({"a": "x"})", "{}"},
         {R"({"a": 2.9})"}},
        {R"({"properties": {"a": {"minimum": 3, "exclusiveMinimum": true}}})",
         {R"({"a": 4})"},
         {R"({"a": 3})"}},
        {R"({"properties": {"a": {"maximum": 3, "exclusiveMaximum": false}}})",
         {R"({"a": 3})"},
         {R"({"a": 4})"}},
        {R"({"properties": {"a": {"maximum": 3, "exclusiveMaximum": true}}})",
         {R"({"a": 2})"},
         {R"({"a": 3})", R"({"a": 3.0})"}},
        {R"({"properties": {"a": {"multipleOf": 3}}})",
         {R"({"a": 9})", R"({"a": 0})", R"({"a": -3})", R"({"a": 6.0})"},
         {R"({"a": 10})", R"({"a": 1.5})"}},
        {R"({"properties": {"a": {"multipleOf": 0.5}}})",
         {R"({"a": 2})", R"({"a": 1.5})"},
         {R"({"a": 1.25})"}},
    });
}

TEST(JsonSchema, Strings) {
    expect_all({
        {R"({"properties": {"a": {"minLength": 2, "maxLength": 3}}})",
         {R"({"a": "xy"})", R"({"a": "äöü"})", R"({"a": 1})"},
         {R"({"a": "x"})", R"({"a": "wxyz"})", R"({"a": "äöüß"})"}},
        {R"({"properties": {"a": {"pattern": "b.$"}}})",
         {R"({"a": "abc"})", R"({"a": 5})"},
         {R"({"a": "bcd"})"}},
    });
}

TEST(JsonSchema, Objects) {
    expect_all({
        {R"({"required": ["a", "b"]})", {R"({"a": 1, "b": null})"}, {R"({"a": 1})", "{}"}},
        {R"({"minProperties": 1, "maxProperties": 2})",
         {R"({"a": 1})", R"({"a": 1, "b": 2})"},
         {"{}", R"({"a": 1, "b": 2, "c": 3})"}},
        {R"({"properties": {"a": {}}, "additionalProperties": false})",
         {"{}", R"({"a": 1})"},
         {R"({"b": 1})", R"({"a": 1, "b": 1})"}},
        {R"({"properties": {"a": {}}, "additionalProperties": {"type": "string"}})",
         {R"({"a": 1, "b": "x"})"},
         {R"({"b": 1})"}},
        {R"({"patternProperties": {"^n": {"type": "number"}}, "additionalProperties": false})",
         {R"({"n1": 1, "n2": 2})"},
         {R"({"n1": "x"})", R"({"m": 1})"}},
        {R"({"dependencies": {"a": ["b", "c"]}})",
         {"{}", R"({"b": 1})", R"({"a": 1, "b": 1, "c": 1})"},
         {R"({"a": 1, "b": 1})"}},
        {R"({"dependencies": {"a": {"required": ["b"], "maxProperties": 2}}})",
         {"{}", R"({"c": 1, "d": 1, "e": 1})", R"({"a": 1, "b": 1})"},
         {R"({"a": 1})", R"({"a": 1, "b": 1, "c": 1})"}},
        {R"({"properties": {"a": {"properties": {"b": {"type": "null"}}, "required": ["b"]}}})",
         {"{}", R"({"a": {"b": null}})", R"({"a": 1})"},
         {R"({"a": {}})", R"({"a": {"b": 1}})"}},
    });
}

TEST(JsonSchema, Arrays) {
    expect_all({
        {R"({"properties": {"a": {"items": {"type": "number"}}}})",
         {R"({"a": [1, 2]})", R"({"a": []})", R"({"a": "x"})"},
         {R"({"a": [1, "x"]})"}},
        {R"({"properties": {"a": {"items": [{"type": "number"}, {}], "additionalItems": false}}})",
         {R"({"a": [1, "x"]})", R"({"a": [1]})", R"({"a": []})"},
         {R"({"a": ["x"]})", R"({"a": [1, 2, 3]})"}},
        {R"({"properties": {"a": {"items": [{}], "additionalItems": {"type": "string"}}}})",
         {R"({"a": [1, "x"]})"},
         {R"({"a": [1, 2]})"}},
        {R"({"properties": {"a": {"additionalItems": false}}})", {R"({"a": [1, 2]})"}, {}},
        {R"({"properties": {"a": {"items": {}, "additionalItems": false}}})",
         {R"({"a": [1, 2]})"},
         {}},
        {R"({"properties": {"a": {"minItems": 1, "maxItems": 2}}})",
         {R"({"a": [1]})", R"({"a": [1, 2]})"},
         {R"({"a": []})", R"({"a": [1, 2, 3]})"}},
        {R"({"properties": {"a": {"uniqueItems": true}}})",
         {R"({"a": [1, "1", [1]]})", R"({"a": []})", R"({"a": [{"x": 1}, {"x": 2}]})"},
         {R"({"a": [1, 2, 1.0]})", R"({"a": [{"x": 1, "y": 2}, {"y": 2, "x": 1}]})"}},
        {R"({"properties": {"a": {"uniqueItems": false}}})", {R"({"a": [1, 1]})"}, {}},
    });
}

TEST(JsonSchema, Combined) {
    expect_all({
        {R"({"allOf": [{"required": ["a"]}, {"required": ["b"]}]})",
         {R"({"a": 1, "b": 1})"},
         {R"({"a": 1})"}},
        {R"({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]})",
         {R"({"a": 1, "b": 1})", R"({"b": 1})"},
         {R"({"c": 1})"}},
        {R"({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]})",
         {R"({"b": 1})"},
         {R"({"a": 1, "b": 1})", "{}"}},
        {R"({"not": {"required": ["a"]}})", {"{}"}, {R"({"a": 1})"}},
        {R"({"properties": {"a": {"enum": [1, "x", {"p": 1, "q": 2}, null]}}})",
         {"{}", R"({"a": 1.0})", R"({"a": "x"})", R"({"a": {"q": 2, "p": 1}})", R"({"a": null})"},
         {R"({"a": 2})", R"({"a": [1]})", R"({"a": {"p": 1}})"}},
        {R"({"enum": [{"a": 1, "b": 2}, 3]})", {R"({"b": 2, "a": 1})"}, {"{}", R"({"a": 1})"}},
        {R"({"title": "t", "description": "d"})", {"{}"}, {}},
    });
}

TEST(JsonSchema, WhatIsNoSchema) {
    const std::pair<const char*, int> cases[] = {
        {R"({"properties": 1})", base::kTypeMismatch},
        {R"({"properties": {"a": 1}})", base::kTypeMismatch},
        {R"({"unknown": 1})", base::kFailedToParse},
        {R"({"$ref": "x"})", base::kFailedToParse},
        {R"({"default": 1})", base::kFailedToParse},
        {R"({"type": "integer"})", base::kFailedToParse},
        {R"({"type": "int"})", base::kBadValue},
        {R"({"bsonType": "nothing"})", base::kBadValue},
        {R"({"type": 1})", base::kTypeMismatch},
        {R"({"type": []})", base::kFailedToParse},
        {R"({"type": ["null", "null"]})", base::kFailedToParse},
        {R"({"type": "null", "bsonType": "null"})", base::kFailedToParse},
        {R"({"required": []})", base::kFailedToParse},
        {R"({"required": ["a", "a"]})", base::kFailedToParse},
        {R"({"required": "a"})", base::kTypeMismatch},
        {R"({"required": [1]})", base::kTypeMismatch},
        {R"({"enum": []})", base::kFailedToParse},
        {R"({"enum": [1, 1.0]})", base::kFailedToParse},
        {R"({"allOf": []})", base::kFailedToParse},
        {R"({"allOf": {}})", base::kTypeMismatch},
        {R"({"not": []})", base::kTypeMismatch},
        {R"({"multipleOf": 0})", base::kFailedToParse},
        {R"({"multipleOf": -1})", base::kFailedToParse},
        {R"({"multipleOf": "x"})", base::kTypeMismatch},
        {R"({"minLength": -1})", base::kFailedToParse},
        {R"({"minLength": 1.5})", base::kFailedToParse},
        {R"({"minimum": "x"})", base::kTypeMismatch},
        {R"({"exclusiveMinimum": true})", base::kFailedToParse},
        {R"({"minimum": 1, "exclusiveMinimum": 1})", base::kTypeMismatch},
        {R"({"pattern": 1})", base::kTypeMismatch},
        {R"({"pattern": "("})", Regex::kInvalid},
        {R"({"patternProperties": {"(": {}}})", base::kFailedToParse},
        {R"({"items": 1})", base::kTypeMismatch},
        {R"({"additionalItems": 1})", base::kTypeMismatch},
        {R"({"uniqueItems": 1})", base::kTypeMismatch},
        {R"({"dependencies": {"a": 1}})", base::kTypeMismatch},
        {R"({"title": 1})", base::kTypeMismatch},
    };
    for (const auto& [schema, code] : cases)
        EXPECT_EQ(takes(schema, "{}"), code) << schema;
    Object deep;
    for (int i = 0; i < 150; ++i)
        deep = bson::make("not", deep);
    EXPECT_THROW(JsonSchema{deep.doc()}, base::Error);
}

TEST(JsonSchema, IsAnOperatorOfAFilter) {
    const auto matches = [](const std::string& filter, const std::string& doc) {
        return Matcher::parse(bson::from_json(filter).doc())->matches(bson::from_json(doc).doc());
    };
    const std::string schema = R"({"$jsonSchema": {"required": ["a"]}})";
    EXPECT_TRUE(matches(schema, R"({"a": 1})"));
    EXPECT_FALSE(matches(schema, "{}"));
    EXPECT_TRUE(matches(R"({"b": 2, "$nor": [)" + schema + "]}", R"({"b": 2})"));
    EXPECT_FALSE(matches(R"({"b": 2, "$nor": [)" + schema + "]}", R"({"a": 1, "b": 2})"));
    EXPECT_TRUE(matches(R"({"$or": [)" + schema + R"(, {"b": 2}]})", R"({"b": 2})"));
    EXPECT_TRUE(matches(R"({"x": {"$elemMatch": )" + schema + "}}", R"({"x": [{"a": 1}]})"));
    EXPECT_THROW(matches(R"({"$jsonSchema": 1})", "{}"), base::Error);
    EXPECT_THROW(matches(R"({"x": {"$jsonSchema": {}}})", "{}"), base::Error);
}

TEST(CompareUnordered, FieldsHaveNoOrder) {
    const auto compared = [](const std::string& a, const std::string& b) {
        return compare_unordered(bson::from_json(a).doc(), bson::from_json(b).doc());
    };
    EXPECT_EQ(compared(R"({"a": {"b": 1, "c": 2}})", R"({"a": {"c": 2, "b": 1}})"), 0);
    EXPECT_EQ(compared(R"({"a": [{"b": 1, "c": 2}]})", R"({"a": [{"c": 2.0, "b": 1}]})"), 0);
    EXPECT_NE(compared(R"({"a": [1, 2]})", R"({"a": [2, 1]})"), 0);
    EXPECT_LT(compared(R"({"a": 1})", R"({"a": 1, "b": 1})"), 0);
    EXPECT_GT(compared(R"({"b": 1})", R"({"a": 5})"), 0);
}

}  // namespace
}  // namespace query

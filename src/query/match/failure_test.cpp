#include "query/match/failure.h"

#include <gtest/gtest.h>

#include "bson/json.h"
#include "bson/testing/json.h"
#include "query/match/match_tree.h"

namespace query {
namespace {

std::string explain(const std::string& filter, const std::string& doc) {
    const bson::Object parsed = bson::from_json(filter);
    const bson::Object held = bson::from_json(doc);
    EXPECT_FALSE(Matcher::parse(parsed, &kNoExpressionsHere)->matches(held))
        << filter << " " << doc;
    return bson::to_text(explain_failure(parsed, &kNoExpressionsHere, held));
}

// Returns the rules of a schema that the document does not keep.
std::string rules(const std::string& schema, const std::string& doc) {
    const bson::Object parsed = bson::from_json(schema);
    const bson::Object held = bson::from_json(doc);
    EXPECT_FALSE(JsonSchema(parsed).accepts(held)) << schema << " " << doc;
    bson::Builder out;
    bson::Builder list = out.sub_array("rules");
    explain_schema(parsed, held, list);
    list.finish();
    return bson::to_text(out.doc()["rules"]);
}
// The same for the property "a".
std::string property(const std::string& schema, const std::string& value) {
    const bson::Object doc = bson::from_json(R"({"a": )" + value + "}");
    const bson::Object whole = bson::from_json(R"({"properties": {"a": )" + schema + "}}");
    EXPECT_FALSE(JsonSchema(whole).accepts(doc)) << schema << " " << value;
    bson::Builder out;
    bson::Builder list = out.sub_array("rules");
    explain_schema(whole, doc, list);
    list.finish();
    return bson::to_text(out.doc().at_path("rules.0.propertiesNotSatisfied.0.details"));
}

TEST(ExplainFailure, OneClauseSpeaksForItself) {
    EXPECT_EQ(explain(R"({"a": {"$gt": 5}})", R"({"a": 3})"),
              "{ operatorName: \"$gt\", specifiedAs: { a: { $gt: 5 } }, "
              "reason: \"comparison failed\", consideredValue: 3 }");
    EXPECT_EQ(explain(R"({"a": 5})", R"({"b": 3})"),
              "{ operatorName: \"$eq\", specifiedAs: { a: 5 }, reason: \"field was missing\" }");
    EXPECT_EQ(explain(R"({"a.b": {"$gt": 5}})", R"({"a": [{"b": 1}, {"b": 2}]})"),
              "{ operatorName: \"$gt\", specifiedAs: { a.b: { $gt: 5 } }, "
              "reason: \"comparison failed\", consideredValues: [ 1, 2 ] }");
    EXPECT_EQ(explain(R"({"a": {"$type": "string"}})", R"({"a": 3})"),
              "{ operatorName: \"$type\", specifiedAs: { a: { $type: \"string\" } }, "
              "reason: \"type did not match\", consideredValue: 3, consideredType: \"int\" }");
    EXPECT_EQ(explain(R"({"a": {"$bitsAllSet": 4}})", R"({"a": 3})"),
              "{ operatorName: \"$bitsAllSet\", specifiedAs: { a: { $bitsAllSet: 4 } }, "
              "reason: \"bitwise operator failed to match\", consideredValue: 3 }");
    EXPECT_EQ(explain(R"({"a": {"$exists": true}})", "{}"),
              "{ operatorName: \"$exists\", specifiedAs: { a: { $exists: true } }, "
              "reason: \"path does not exist\" }");
    EXPECT_EQ(explain(R"({"a": {"$exists": false}})", R"({"a": 1})"),
              "{ operatorName: \"$exists\", specifiedAs: { a: { $exists: false } }, "
              "reason: \"path does exist\", consideredValue: 1 }");
    EXPECT_EQ(explain(R"({"a": {"$ne": 1}})", R"({"a": 1})"),
              "{ operatorName: \"$ne\", specifiedAs: { a: { $ne: 1 } }, "
              "reason: \"comparison succeeded\", consideredValue: 1 }");
    EXPECT_EQ(explain(R"({"a": {"$regex": "^X", "$options": "i"}})", R"({"a": "y"})"),
              "{ operatorName: \"$regex\", specifiedAs: { a: /^X/i }, "
              "reason: \"regular expression did not match\", consideredValue: \"y\" }");
}

TEST(ExplainFailure, SeveralClausesAreListedByTheirPlace) {
    EXPECT_EQ(explain(R"({"a": {"$gt": 1, "$lt": 5}, "b": 1})", R"({"a": 7, "b": 1})"),
              "{ operatorName: \"$and\", clausesNotSatisfied: [ { index: 1, details: { "
              "operatorName: \"$lt\", specifiedAs: { a: { $lt: 5 } }, "
              "reason: \"comparison failed\", consideredValue: 7 } } ] }");
    EXPECT_EQ(explain(R"({"$or": [{"a": 1}, {"b": 1}]})", R"({"a": 2})"),
              "{ operatorName: \"$or\", clausesNotSatisfied: [ { index: 0, details: { "
              "operatorName: \"$eq\", specifiedAs: { a: 1 }, reason: \"comparison failed\", "
              "consideredValue: 2 } }, { index: 1, details: { operatorName: \"$eq\", "
              "specifiedAs: { b: 1 }, reason: \"field was missing\" } } ] }");
    EXPECT_EQ(explain(R"({"$nor": [{"a": 1}, {"a": 2}]})", R"({"a": 2})"),
              "{ operatorName: \"$nor\", clausesSatisfied: [ { index: 1, details: { "
              "operatorName: \"$eq\", specifiedAs: { a: 2 }, reason: \"comparison succeeded\", "
              "consideredValue: 2 } } ] }");
    EXPECT_EQ(explain(R"({"a": {"$not": {"$gt": 1}}})", R"({"a": 2})"),
              "{ operatorName: \"$not\", details: { operatorName: \"$gt\", "
              "specifiedAs: { a: { $gt: 1 } }, reason: \"comparison succeeded\", "
              "consideredValue: 2 } }");
}

TEST(ExplainFailure, ASchemaNamesItselfAndItsRules) {
    EXPECT_EQ(explain(R"({"$jsonSchema": {"title": "T", "description": "D", "required": ["a"]}})",
                      R"({"b": 1})"),
              "{ operatorName: \"$jsonSchema\", title: \"T\", description: \"D\", "
              "schemaRulesNotSatisfied: [ { operatorName: \"required\", "
              "specifiedAs: { required: [ \"a\" ] }, missingProperties: [ \"a\" ] } ] }");
    EXPECT_EQ(
        explain(R"({"$nor": [{"$jsonSchema": {"required": ["a"]}}]})", R"({"a": 1})"),
        "{ operatorName: \"$nor\", clausesSatisfied: [ { index: 0, details: { "
        "operatorName: \"$jsonSchema\", specifiedAs: { $jsonSchema: { required: [ \"a\" ] } }, "
        "reason: \"schema matched\" } } ] }");
}

TEST(ExplainSchema, Objects) {
    EXPECT_EQ(rules(R"({"properties": {"a": {"description": "D", "minimum": 5}, "b": {}}})",
                    R"({"a": 1, "b": 1})"),
              "[ { operatorName: \"properties\", propertiesNotSatisfied: [ { propertyName: \"a\", "
              "description: \"D\", details: [ { operatorName: \"minimum\", "
              "specifiedAs: { minimum: 5 }, reason: \"comparison failed\", "
              "consideredValue: 1 } ] } ] } ]");
    EXPECT_EQ(rules(R"({"additionalProperties": false, "properties": {"a": {}},
                        "patternProperties": {"^x": {}}})",
                    R"({"a": 1, "x1": 1, "b": 2, "c": 3})"),
              "[ { operatorName: \"additionalProperties\", "
              "specifiedAs: { additionalProperties: false }, "
              "additionalProperties: [ \"b\", \"c\" ] } ]");
    EXPECT_EQ(rules(R"({"additionalProperties": {"type": "string"}})", R"({"a": "x", "b": 2})"),
              "[ { operatorName: \"additionalProperties\", "
              "reason: \"at least one additional property did not match the subschema\", "
              "failingProperty: \"b\", details: [ { operatorName: \"type\", "
              "specifiedAs: { type: \"string\" }, reason: \"type did not match\", "
              "consideredValue: 2, consideredType: \"int\" } ] } ]");
    EXPECT_EQ(rules(R"({"patternProperties": {"^x": {"bsonType": "string"}}})", R"({"x1": 1})"),
              "[ { operatorName: \"patternProperties\", details: [ { propertyName: \"x1\", "
              "regexMatched: \"^x\", details: [ { operatorName: \"bsonType\", "
              "specifiedAs: { bsonType: \"string\" }, reason: \"type did not match\", "
              "consideredValue: 1, consideredType: \"int\" } ] } ] } ]");
    EXPECT_EQ(rules(R"({"maxProperties": 1})", R"({"a": 1, "b": 2})"),
              "[ { operatorName: \"maxProperties\", specifiedAs: { maxProperties: 1 }, "
              "reason: \"specified number of properties was not satisfied\", "
              "numberOfProperties: 2 } ]");
    EXPECT_EQ(rules(R"({"dependencies": {"a": ["b", "c"], "d": {"required": ["e"]}}})",
                    R"({"a": 1, "b": 1, "d": 1})"),
              "[ { operatorName: \"dependencies\", failingDependencies: [ { "
              "conditionalProperty: \"a\", missingProperties: [ \"c\" ] }, { "
              "conditionalProperty: \"d\", details: [ { operatorName: \"required\", "
              "specifiedAs: { required: [ \"e\" ] }, missingProperties: [ \"e\" ] } ] } ] } ]");
}

TEST(ExplainSchema, Values) {
    EXPECT_EQ(property(R"({"minimum": 5, "exclusiveMinimum": true})", "5"),
              "[ { operatorName: \"minimum\", specifiedAs: { minimum: 5, exclusiveMinimum: true }, "
              "reason: \"comparison failed\", consideredValue: 5 } ]");
    EXPECT_EQ(property(R"({"multipleOf": 2, "maximum": 4})", "5"),
              "[ { operatorName: \"maximum\", specifiedAs: { maximum: 4 }, "
              "reason: \"comparison failed\", consideredValue: 5 }, { "
              "operatorName: \"multipleOf\", specifiedAs: { multipleOf: 2 }, "
              "reason: \"considered value is not a multiple of the specified value\", "
              "consideredValue: 5 } ]");
    EXPECT_EQ(property(R"({"minLength": 3, "pattern": "^x"})", R"("ab")"),
              "[ { operatorName: \"minLength\", specifiedAs: { minLength: 3 }, "
              "reason: \"specified string length was not satisfied\", consideredValue: \"ab\" }, { "
              "operatorName: \"pattern\", specifiedAs: { pattern: \"^x\" }, "
              "reason: \"regular expression did not match\", consideredValue: \"ab\" } ]");
    EXPECT_EQ(property(R"({"enum": [1, 2]})", "3"),
              "[ { operatorName: \"enum\", specifiedAs: { enum: [ 1, 2 ] }, "
              "reason: \"value was not found in enum\", consideredValue: 3 } ]");
    EXPECT_EQ(property(R"({"not": {"type": "number"}})", "3"),
              "[ { operatorName: \"not\", specifiedAs: { not: { type: \"number\" } }, "
              "reason: \"child expression matched\", consideredValue: 3 } ]");
    EXPECT_EQ(property(R"({"oneOf": [{"minimum": 1}, {"minimum": 2}, {"minimum": 9}]})", "3"),
              "[ { operatorName: \"oneOf\", reason: \"more than one subschema matched\", "
              "matchingSchemaIndexes: [ 0, 1 ] } ]");
    EXPECT_EQ(property(R"({"anyOf": [{"minimum": 5}]})", "3"),
              "[ { operatorName: \"anyOf\", schemasNotSatisfied: [ { index: 0, details: [ { "
              "operatorName: \"minimum\", specifiedAs: { minimum: 5 }, "
              "reason: \"comparison failed\", consideredValue: 3 } ] } ] } ]");
}

TEST(ExplainSchema, Arrays) {
    EXPECT_EQ(property(R"({"maxItems": 1, "uniqueItems": true})", "[1, 2, 1]"),
              "[ { operatorName: \"maxItems\", specifiedAs: { maxItems: 1 }, "
              "reason: \"array did not match specified length\", "
              "consideredValue: [ 1, 2, 1 ] }, { operatorName: \"uniqueItems\", "
              "specifiedAs: { uniqueItems: true }, reason: \"found a duplicate item\", "
              "consideredValue: [ 1, 2, 1 ], duplicatedValue: 1 } ]");
    EXPECT_EQ(property(R"({"items": {"minimum": 2}})", "[3, 1]"),
              "[ { operatorName: \"items\", "
              "reason: \"At least one item did not match the sub-schema\", itemIndex: 1, "
              "details: [ { operatorName: \"minimum\", specifiedAs: { minimum: 2 }, "
              "reason: \"comparison failed\", consideredValue: 1 } ] } ]");
    EXPECT_EQ(property(R"({"items": [{"minimum": 2}], "additionalItems": false})", "[3, 1]"),
              "[ { operatorName: \"additionalItems\", specifiedAs: { additionalItems: false }, "
              "reason: \"found additional items\" } ]");
}

// The explanation stays short, however much there would be to say.
TEST(ExplainFailure, IsBounded) {
    bson::Builder choices;
    for (int i = 0; i < 20000; ++i)
        choices.push(i);
    bson::Builder schema;
    {
        bson::Builder json = schema.sub_object("$jsonSchema");
        bson::Builder others = json.sub_object("additionalProperties");
        others.append_array("enum", choices.doc());
    }
    bson::Builder doc;
    for (int i = 0; i < 5000; ++i)
        doc.append("f" + std::to_string(i), std::string(1000, 'x'));
    const bson::Object filter = schema.object();
    const bson::Object held = doc.object();
    ASSERT_FALSE(Matcher::parse(filter)->matches(held));
    EXPECT_LT(static_cast<size_t>(explain_failure(filter, nullptr, held).size()),
              2 * kFailureBytesMax);
    bson::Builder properties;
    for (int i = 0; i < 5000; ++i)
        properties.append("f" + std::to_string(i), bson::make("type", "number"));
    const bson::Object named =
        bson::make("$jsonSchema", bson::make("properties", properties.doc()));
    EXPECT_LT(static_cast<size_t>(explain_failure(named, nullptr, held).size()),
              2 * kFailureBytesMax);
}

}  // namespace
}  // namespace query

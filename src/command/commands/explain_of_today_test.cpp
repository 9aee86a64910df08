// explain by OP_MSG in the shape of today's servers, and by the old messages as it was.
#include <fmt/core.h>

#include "command/commands/testing/service.h"

namespace command {
namespace {

class ExplainOfTodayTest : public EachEngineTest {
  protected:
    void SetUp() override {
        EachEngineTest::SetUp();
        ask(R"({"createIndexes": "c", "indexes": [
                {"key": {"a": 1}, "name": "a"},
                {"key": {"b": -1}, "name": "b", "sparse": true}]})");
        ask(R"({"insert": "c", "documents": [
                {"_id": 1, "a": 1, "b": 1}, {"_id": 2, "a": 2, "b": 2}, {"_id": 3, "a": 3}]})");
    }
    bson::Object ask(const std::string& command) { return run(bson::parse_test_json(command)); }
    bson::Object explain(const std::string& command) {
        return ask(R"({"explain": )" + command + "}");
    }
    // The names of the stages of the winning plan, from the top.
    std::string stages(const std::string& command) {
        const bson::Object reply = explain(command);
        std::string names;
        for (bson::Element stage = reply.doc().at_path("queryPlanner.winningPlan");
             stage.is_object(); stage = stage.as_doc()["inputStage"])
            names += std::string(stage.as_doc()["stage"].as_string()) + " ";
        return names;
    }
    // A part of the stage at the bottom.
    std::string access(const std::string& command, const char* part) {
        const bson::Object reply = explain(command);
        bson::Element stage = reply.doc().at_path("queryPlanner.winningPlan");
        while (stage.as_doc()["inputStage"].is_object())
            stage = stage.as_doc()["inputStage"];
        return bson::to_text(stage.as_doc()[part]);
    }
    std::string parsed(const std::string& filter) {
        const bson::Object reply = explain(R"({"find": "c", "filter": )" + filter + "}");
        return bson::to_text(reply.doc().at_path("queryPlanner.parsedQuery"));
    }
};

TEST_P(ExplainOfTodayTest, BoundsAreTexts) {
    const auto bounds = [this](const std::string& filter) {
        return access(R"({"find": "c", "filter": )" + filter + "}", "indexBounds");
    };
    EXPECT_EQ(bounds(R"({"a": 2})"), R"t({ a: [ "[2, 2]" ] })t");
    EXPECT_EQ(bounds(R"({"a": {"$gt": 2}})"), R"t({ a: [ "(2, inf.0]" ] })t");
    EXPECT_EQ(bounds(R"({"a": {"$lte": 2}})"), R"t({ a: [ "[-inf.0, 2]" ] })t");
    EXPECT_EQ(bounds(R"({"a": {"$in": [1, "x"]}})"), R"t({ a: [ "[1, 1]", "["x", "x"]" ] })t");
    EXPECT_EQ(bounds(R"({"a": {"$gte": "x"}})"), R"t({ a: [ "["x", {})" ] })t");
    EXPECT_EQ(bounds(R"({"b": {"$gt": 1, "$lt": 3}})"), R"t({ b: [ "(3, 1)" ] })t");
    EXPECT_EQ(bounds(R"({"a": null})"), R"t({ a: [ "[null, null]" ] })t");
    EXPECT_EQ(bounds(R"({"a": {"$exists": true}})"), R"t({ a: [ "[MinKey, MaxKey]" ] })t");
}

TEST_P(ExplainOfTodayTest, StagesHaveTheNamesOfToday) {
    EXPECT_EQ(stages(R"({"find": "c", "filter": {"a": 1}})"), "FETCH IXSCAN ");
    EXPECT_EQ(stages(R"({"find": "c", "filter": {"x": 1}})"), "COLLSCAN ");
    EXPECT_EQ(stages(R"({"find": "c", "filter": {"a": 1}, "projection": {"_id": 0, "a": 1}})"),
              "PROJECTION_COVERED IXSCAN ");
    EXPECT_EQ(stages(R"({"find": "c", "filter": {"a": 1}, "projection": {"b": 1}})"),
              "PROJECTION_SIMPLE FETCH IXSCAN ");
    EXPECT_EQ(stages(R"({"find": "c", "filter": {"a": 1}, "projection": {"b.x": 1}})"),
              "PROJECTION_DEFAULT FETCH IXSCAN ");
    EXPECT_EQ(stages(R"({"count": "c", "query": {"a": 1}})"), "COUNT COUNT_SCAN ");
    EXPECT_EQ(stages(R"({"count": "c", "query": {"a": {"$in": [1, 3]}}})"), "COUNT IXSCAN ");
    EXPECT_EQ(stages(R"({"count": "c", "query": {"a": 1, "x": 1}})"), "COUNT FETCH IXSCAN ");
    EXPECT_EQ(stages(R"({"find": "c", "filter": {"a": 1}, "sort": {"x": 1}, "skip": 1})"),
              "SKIP SORT FETCH IXSCAN ");
    EXPECT_EQ(stages(R"({"find": "c", "filter": {"$or": [{"a": 1}, {"b": 1}]}})"), "FETCH OR ");
    EXPECT_EQ(access(R"({"find": "c", "filter": {"b": 1}})", "isSparse"), "true");
    EXPECT_EQ(access(R"({"find": "c", "filter": {"b": 1}})", "indexVersion"), "2");
    EXPECT_EQ(access(R"({"count": "c", "query": {"a": {"$gt": 1, "$lte": 3}}})", "indexBounds"),
              "{ startKey: { a: 1 }, startKeyInclusive: false, endKey: { a: 3 }, "
              "endKeyInclusive: true }");
    EXPECT_EQ(
        access(R"({"find": "c", "filter": {"x": 1, "a": {"$gt": 0}}, "hint": {"$natural": 1}})",
               "filter"),
        "{ $and: [ { x: { $eq: 1 } }, { a: { $gt: 0 } } ] }");
}

TEST_P(ExplainOfTodayTest, CountsAsTheCountItselfDoes) {
    const bson::Object reply = explain(R"({"count": "c", "query": {"a": {"$gte": 2}}})");
    EXPECT_EQ(bson::to_text(reply.doc().at_path("executionStats.totalDocsExamined")), "0");
    EXPECT_EQ(bson::to_text(reply.doc().at_path("executionStats.totalKeysExamined")), "2");
    EXPECT_EQ(bson::to_text(reply.doc().at_path("executionStats.executionStages.nCounted")), "2");
}

// It says so where the distinct reads one key for each value, and only there.
TEST_P(ExplainOfTodayTest, ADistinctSkipsKeys) {
    for (int i = 10; i < 60; ++i)
        ask(fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}, "a": {}, "l": [1, 2]}}]}})",
                        i, i % 3 + 1));
    ask(R"({"createIndexes": "c", "indexes": [{"key": {"l": 1}, "name": "l"}]})");
    const auto examined = [this](const std::string& command, const char* field) {
        const bson::Object reply = explain(command);
        return reply.doc().at_path(std::string("executionStats.") + field).to_int64();
    };
    constexpr const char* kAll = R"({"distinct": "c", "key": "a"})";
    EXPECT_EQ(stages(kAll), "PROJECTION_COVERED DISTINCT_SCAN ");
    EXPECT_EQ(access(kAll, "indexBounds"), R"t({ a: [ "[MinKey, MaxKey]" ] })t");
    EXPECT_EQ(access(kAll, "indexName"), R"("a")");
    EXPECT_EQ(examined(kAll, "totalKeysExamined"), 3);
    EXPECT_EQ(examined(kAll, "totalDocsExamined"), 0);
    EXPECT_EQ(examined(kAll, "nReturned"), 3);
    EXPECT_EQ(examined(kAll, "executionStages.inputStage.keysExamined"), 3);
    constexpr const char* kSome = R"({"distinct": "c", "key": "a", "query": {"a": {"$gt": 1}}})";
    EXPECT_EQ(stages(kSome), "PROJECTION_COVERED DISTINCT_SCAN ");
    EXPECT_EQ(access(kSome, "indexBounds"), R"t({ a: [ "(1, inf.0]" ] })t");
    EXPECT_EQ(examined(kSome, "nReturned"), 2);
    EXPECT_LE(examined(kSome, "totalKeysExamined"), 3);
    // The elements of an array are those of its document.
    EXPECT_EQ(stages(R"({"distinct": "c", "key": "l"})"), "FETCH DISTINCT_SCAN ");
    EXPECT_GT(examined(R"({"distinct": "c", "key": "l"})", "totalDocsExamined"), 0);
    // Documents tell where another field is asked for, behind a hint, under a collation.
    const char* const by_documents[] = {
        R"({"distinct": "c", "key": "a", "query": {"a": {"$gt": 1}, "x": 1}})",
        R"({"distinct": "c", "key": "a", "hint": "a"})",
        R"({"distinct": "c", "key": "a", "collation": {"locale": "de"}})",
        R"({"distinct": "c", "key": "x"})", R"({"distinct": "none", "key": "a"})"};
    for (const char* command : by_documents)
        EXPECT_EQ(stages(command).find("DISTINCT_SCAN"), std::string::npos) << command;
    EXPECT_TRUE(explain(kAll).doc().at_path("executionStats.executionStages").is_object());
    const bson::Object planned =
        ask(R"({"explain": {"distinct": "c", "key": "a"}, "verbosity": "queryPlanner"})");
    EXPECT_FALSE(planned.doc().has("executionStats"));
    const bson::Object old = run_old(R"({"explain": {"distinct": "c", "key": "a"}})");
    EXPECT_EQ(bson::to_text(old.doc()).find("DISTINCT_SCAN"), std::string::npos);
}

TEST_P(ExplainOfTodayTest, EveryConditionIsSpeltOut) {
    EXPECT_EQ(parsed("{}"), "{}");
    EXPECT_EQ(parsed(R"({"a": 1})"), "{ a: { $eq: 1 } }");
    EXPECT_EQ(parsed(R"({"a": {"$gt": 1, "$lt": 5}, "b": {"x": 1}})"),
              "{ $and: [ { a: { $gt: 1 } }, { a: { $lt: 5 } }, { b: { $eq: { x: 1 } } } ] }");
    EXPECT_EQ(parsed(R"({"$or": [{"a": 1}, {"b": {"$in": [1, 2]}}]})"),
              "{ $or: [ { a: { $eq: 1 } }, { b: { $in: [ 1, 2 ] } } ] }");
    EXPECT_EQ(parsed(R"({"a": {"$regex": "^x", "$options": "i"}, "$comment": "y"})"),
              R"({ a: { $regex: "^x", $options: "i" } })");
    EXPECT_EQ(parsed(R"({"a": {"$ref": "c", "$id": 5}})"),
              R"({ a: { $eq: { $ref: "c", $id: 5 } } })");
    EXPECT_EQ(parsed(R"({"$expr": {"$eq": ["$a", 1]}})"), R"({ $expr: { $eq: [ "$a", 1 ] } })");
}

TEST_P(ExplainOfTodayTest, OldMessagesGetWhatTheyGot) {
    const bson::Object reply = run_old(R"({"explain": {"find": "c", "filter": {"a": 1}}})");
    EXPECT_EQ(bson::to_text(reply.doc().at_path("queryPlanner.plannerVersion")), "1");
    EXPECT_EQ(bson::to_text(reply.doc().at_path("queryPlanner.parsedQuery")), "{ a: 1 }");
    EXPECT_EQ(bson::to_text(reply.doc().at_path("queryPlanner.winningPlan.inputStage.indexBounds")),
              "{ a: [ [ 1, 1 ] ] }");
}

INSTANTIATE_TEST_SUITE_P(engines, ExplainOfTodayTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

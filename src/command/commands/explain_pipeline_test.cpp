// Explains of pipelines, as clients of today get them.
#include <fmt/core.h>

#include "command/commands/testing/service.h"

namespace command {
namespace {

class ExplainPipelineTest : public EachEngineTest {
  protected:
    void fill() {
        run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2},
                                             {"_id": 3, "a": 2}]})");
        run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
    }
    bson::Object explain(const std::string& pipeline, const std::string& verbosity) {
        return run(fmt::format(
            R"({{"explain": {{"aggregate": "c", "pipeline": {}, "cursor": {{}}}},
                "verbosity": "{}"}})",
            pipeline, verbosity));
    }
};

TEST_P(ExplainPipelineTest, OneThatIsAQueryIsExplainedAsOne) {
    fill();
    const bson::Object plan = explain(R"([{"$match": {"a": 2}}])", "queryPlanner");
    EXPECT_EQ(code(plan), 0) << bson::to_text(plan);
    EXPECT_NE(text(plan, "queryPlanner").find("a_1"), std::string::npos);
    EXPECT_FALSE(plan["stages"]);
    EXPECT_FALSE(plan["executionStats"]);
    EXPECT_TRUE(plan["serverInfo"].is_object());
    const bson::Object run_too = explain(R"([{"$match": {"a": 2}}])", "executionStats");
    EXPECT_EQ(run_too.doc().at_path("executionStats.nReturned").to_int32(), 2);
    EXPECT_FALSE(run_too.doc().at_path("executionStats.allPlansExecution"));
    const bson::Object all = explain(R"([{"$match": {"a": 2}}])", "allPlansExecution");
    EXPECT_TRUE(all.doc().at_path("executionStats.allPlansExecution").is_array());
}

TEST_P(ExplainPipelineTest, StagesComeBehindTheirQuery) {
    fill();
    const std::string group = R"([{"$match": {"a": 2}}, {"$group": {"_id": "$a"}}])";
    const bson::Object plan = explain(group, "queryPlanner");
    EXPECT_NE(bson::to_text(plan.doc().at_path("stages.0.$cursor.queryPlanner")).find("a_1"),
              std::string::npos)
        << bson::to_text(plan);
    EXPECT_TRUE(plan.doc().at_path("stages.1.$group").is_object());
    EXPECT_FALSE(plan["queryPlanner"]);
    const bson::Object run_too = explain(group, "executionStats");
    EXPECT_EQ(run_too.doc().at_path("stages.0.$cursor.executionStats.nReturned").to_int32(), 2);
    // The field of the command asks for the plan alone.
    const bson::Object field =
        run(R"({"aggregate": "c", "explain": true, "pipeline": [{"$group": {"_id": "$a"}}]})");
    EXPECT_TRUE(field.doc().at_path("stages.0.$cursor.queryPlanner").is_object());
    EXPECT_FALSE(field.doc().at_path("stages.0.$cursor.executionStats"));
    EXPECT_EQ(code(run(R"({"explain": {"aggregate": "none", "pipeline": [], "cursor": {}}})")), 0);
}

TEST_P(ExplainPipelineTest, TheCommandIsShown) {
    fill();
    const bson::Object plan = explain(R"([{"$match": {"a": 2}}])", "queryPlanner");
    EXPECT_EQ(text(plan, "command"),
              R"({ aggregate: "c", pipeline: [ { $match: { a: 2 } } ], cursor: {}, $db: "test" })");
    const bson::Object field = run(
        R"({"aggregate": "c", "pipeline": [], "explain": true, "comment": "x",
            "readConcern": {"level": "local"}, "$readPreference": {"mode": "primary"}})");
    EXPECT_EQ(text(field, "command"),
              R"({ aggregate: "c", pipeline: [], comment: "x", $db: "test" })");
    const bson::Object find = run(R"({"explain": {"find": "c", "filter": {"a": 1}, "limit": 1}})");
    EXPECT_EQ(text(find, "command"), R"({ find: "c", filter: { a: 1 }, limit: 1, $db: "test" })");
    EXPECT_FALSE(run_old(R"({"explain": {"find": "c"}})")["command"]);
}

TEST_P(ExplainPipelineTest, NothingIsWritten) {
    fill();
    EXPECT_EQ(code(explain(R"([{"$out": "d"}])", "executionStats")), 0);
    EXPECT_EQ(run(R"({"count": "d"})")["n"].to_int32(), 0);
    // The old messages have the old form.
    const bson::Object old =
        run_old(R"({"aggregate": "c", "explain": true, "pipeline": [{"$match": {"a": 2}}]})");
    EXPECT_TRUE(old.doc().at_path("stages.0.$cursor.plan").is_object()) << bson::to_text(old);
}

INSTANTIATE_TEST_SUITE_P(engines, ExplainPipelineTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

// Plans whose choice shows only in the work done: what explain and the counters say.
#include <fmt/core.h>

#include <algorithm>

#include "command/commands/testing/service.h"

namespace command {
namespace {

class PlanChoiceTest : public EachEngineTest {
  protected:
    void SetUp() override {
        run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"},
                {"key": {"b": 1, "s": 1}, "name": "b"}, {"key": {"d": 1}, "name": "d"}]})");
        std::string docs;
        for (int i = 0; i < 100; ++i)
            docs += fmt::format(
                R"({}{{"_id": {}, "a": {}, "b": {}, "s": {},
                         "d": {{"$date": {{"$numberLong": "{}"}}}}}})",
                i == 0 ? "" : ",", i, i, i % 5, (i * 7) % 100, i / 4 * 1000);
        EXPECT_EQ(text(run(R"({"insert": "c", "documents": [)" + docs + "]}"), "n"), "100");
    }
    bson::Object explain(const std::string& rest, int n = 0) {
        return query("test.c", R"({"$explain": true, )" + rest + "}", n).at(0);
    }
    static int64_t number(const bson::Object& doc, const char* path) {
        return doc.doc().at_path(path).to_int64();
    }
};

TEST_P(PlanChoiceTest, AHintedDisjunctionLooksAtItsPoints) {
    const bson::Object points =
        explain(R"("$query": {"$or": [{"a": 5}, {"a": 90}, {"a": 7}]}, "$hint": "a")");
    EXPECT_EQ(number(points, "n"), 3);
    EXPECT_LE(number(points, "nscanned"), 5);
    EXPECT_EQ(number(explain(R"("$query": {"$or": [{"a": 5, "s": 35}, {"a": 9, "s": 1}]},
                                "$hint": "a")"),
                     "nscannedObjects"),
              2);
    // A branch without this index needs all of it.
    EXPECT_EQ(number(explain(R"("$query": {"$or": [{"a": 5}, {"b": 1}]}, "$hint": "a")"),
                     "nscannedObjects"),
              100);
}

TEST_P(PlanChoiceTest, BranchesAreMergedInTheOrderOfTheSort) {
    for (const char* filter : {R"({"$or": [{"b": 1}, {"b": 3}]})",
                               R"({"$or": [{"b": {"$in": [1, 2]}}, {"b": 3, "a": {"$gte": 0}}]})",
                               R"({"$or": [{"b": {"$in": [1, 2]}, "a": {"$gte": 0}},
                                           {"b": {"$in": [0, 3]}, "d": {"$exists": true}}]})"}) {
        for (const char* order : {"1", "-1"}) {
            const std::string rest = fmt::format(
                R"("$query": {}, "$orderby": {{"s": {}}}, "$hint": "b")", filter, order);
            EXPECT_EQ(explain(rest)["scanAndOrder"].truthy(), false) << rest;
            int64_t last = order[0] == '1' ? -1 : 1000;
            int64_t count = 0;
            for (const bson::Object& doc : query("test.c", "{" + rest + "}", 1000)) {
                const int64_t now = doc["s"].to_int64();
                EXPECT_TRUE(order[0] == '1' ? now > last : now < last) << rest;
                last = now;
                ++count;
            }
            EXPECT_EQ(count,
                      run(fmt::format(R"({{"count": "c", "query": {}}})", filter))["n"].to_int64());
        }
    }
}

TEST_P(PlanChoiceTest, KeysComeFromTheIndexAlone) {
    const bson::Object keys = explain(R"("$query": {"a": {"$gt": 95}}, "$returnKey": true)");
    EXPECT_TRUE(keys["indexOnly"].truthy());
    EXPECT_EQ(number(keys, "nscannedObjects"), 0);
    EXPECT_EQ(
        bson::to_text(query("test.c", R"({"$query": {"a": 97}, "$returnKey": true})", 0).at(0)),
        "{ a: 97 }");
    const bson::Object fetched =
        explain(R"("$query": {"a": {"$gt": 95}, "s": {"$gte": 0}}, "$returnKey": true)");
    EXPECT_FALSE(fetched["indexOnly"].truthy());
    const bson::Object dates = run(R"({"find": "c", "filter": {"d": {"$gte": {"$date":
            {"$numberLong": "24000"}}}}, "projection": {"_id": 0, "d": 1}})");
    EXPECT_EQ(dates.doc().at_path("cursor.firstBatch").as_doc().field_count(), 4);
    bson::Object explained = run(R"({"explain": {"find": "c", "filter": {"d": {"$gte": {"$date":
            {"$numberLong": "24000"}}}}, "projection": {"_id": 0, "d": 1}}})");
    EXPECT_EQ(number(explained, "executionStats.totalDocsExamined"), 0);
}

TEST_P(PlanChoiceTest, DistinctReadsOneKeyForEachValueOfItsRange) {
    const bson::Object found =
        run(R"({"distinct": "c", "key": "d", "query": {"d": {"$gte": {"$date":
            {"$numberLong": "20000"}}}}})");
    EXPECT_EQ(found["values"].as_doc().field_count(), 5);
    EXPECT_LE(number(found, "stats.nscanned"), 6);
    EXPECT_EQ(number(found, "stats.nscannedObjects"), 0);
    const bson::Object some =
        run(R"({"distinct": "c", "key": "b", "query": {"b": {"$in": [1, 3, 9]}}})");
    EXPECT_EQ(bson::to_text(some["values"]), "[ 1, 3 ]");
    EXPECT_LE(number(some, "stats.nscanned"), 6);
    // Two fields of one index: not the first one's values alone.
    const bson::Object both =
        run(R"({"distinct": "c", "key": "b", "query": {"b": {"$gte": 1}, "s": {"$lt": 8}}})");
    EXPECT_EQ(bson::to_text(both["values"]),
              bson::to_text(run(R"({"distinct": "c", "key": "b", "query": {"b": {"$gte": 1},
                    "s": {"$lt": 8}, "a": {"$gte": 0}}})")["values"]));
}

TEST_P(PlanChoiceTest, AllPlansNamesAllThatWereTried) {
    const bson::Object plan =
        explain(R"("$query": {"a": {"$gte": 10}, "b": 1, "d": {"$exists": true}})");
    std::vector<std::string> cursors;
    for (const bson::Element& one : plan["allPlans"].as_doc())
        cursors.emplace_back(one.as_doc()["cursor"].as_string());
    ASSERT_EQ(cursors.size(), 3U);
    EXPECT_EQ(cursors[0], plan["cursor"].as_string());
    std::ranges::sort(cursors);
    EXPECT_EQ(cursors,
              (std::vector<std::string>{"BtreeCursor a", "BtreeCursor b", "BtreeCursor d"}));
    EXPECT_GT(number(plan, "nscannedAllPlans"), number(plan, "nscanned"));
    const bson::Object newer =
        run(R"({"explain": {"find": "c", "filter": {"a": {"$gte": 10}, "b": 1}}})");
    EXPECT_EQ(newer.doc().at_path("queryPlanner.rejectedPlans").as_doc().field_count(), 1);
}

// An index scan counts the key that it stands on behind the one that it gave.
TEST_P(PlanChoiceTest, ScansEndAtTheirLimit) {
    const auto count = [&](const std::string& rest) {
        return query("test.c", "{" + rest + "}", 0).size();
    };
    EXPECT_EQ(count(R"("$query": {}, "$maxScan": 10)"), 10U);
    EXPECT_EQ(count(R"("$query": {"a": {"$gte": 0}}, "$maxScan": 10)"), 9U);
    EXPECT_EQ(count(R"("$query": {"a": {"$gte": 0}}, "$maxScan": 1)"), 0U);
    EXPECT_EQ(count(R"("$query": {"a": {"$gte": 95}}, "$maxScan": 10)"), 5U);
    EXPECT_EQ(number(explain(R"("$query": {"a": {"$gte": 0}}, "$maxScan": 10)"), "nscanned"), 10);
}

INSTANTIATE_TEST_SUITE_P(engines, PlanChoiceTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

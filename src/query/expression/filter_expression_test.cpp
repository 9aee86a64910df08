// $expr in filters: what it finds, what the planner learns of it.
#include "query/expression/filter_expression.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "query/match/match_tree.h"

namespace query {
namespace {

class FilterExpressionTest : public testing::Test {
  protected:
    std::unique_ptr<Matcher> parse(const std::string& filter) {
        const FilterExpressions expressions(variables_);
        return Matcher::parse(bson::parse_test_json(filter), &expressions);
    }
    bool matches(const std::string& filter, const std::string& doc) {
        return parse(filter)->matches(bson::parse_test_json(doc));
    }
    int error_of(const std::string& filter) {
        try {
            parse(filter);
        } catch (const base::Error& e) {
            return e.code();
        }
        return 0;
    }
    std::string implied(const std::string& expression) {
        const auto matcher = parse(R"({"$expr": )" + expression + "}");
        return bson::to_text(matcher->root().children.at(0)->expression->implied());
    }
    std::string ranges(const std::string& expression) {
        const auto matcher = parse(R"({"$expr": )" + expression + "}");
        return bson::to_text(matcher->root().children.at(0)->expression->implied_ranges());
    }
    void let(const std::string& name, const std::string& value) {
        kept_.push_back(bson::parse_test_json(R"({"v": )" + value + "}"));
        variables_.emplace_back(name, kept_.back()["v"]);
    }

    OuterVariables variables_;

  private:
    std::vector<bson::Object> kept_;
};

TEST_F(FilterExpressionTest, MatchesByExpression) {
    EXPECT_TRUE(matches(R"({"$expr": {"$gt": ["$a", "$b"]}})", R"({"a": 2, "b": 1})"));
    EXPECT_FALSE(matches(R"({"$expr": {"$gt": ["$a", "$b"]}})", R"({"a": 1, "b": 1})"));
    // Whole values are compared, of any type; not the elements of arrays.
    EXPECT_TRUE(matches(R"({"$expr": {"$gt": ["$a", 5]}})", R"({"a": "x"})"));
    EXPECT_FALSE(matches(R"({"$expr": {"$eq": ["$a", 5]}})", R"({"a": [5]})"));
    EXPECT_TRUE(matches(R"({"$expr": {"$eq": ["$a", [5, "$b"]]}})", R"({"a": [5, 6], "b": 6})"));
    EXPECT_FALSE(matches(R"({"$expr": {"$eq": ["$a", null]}})", R"({})"));
    EXPECT_TRUE(matches(R"({"$expr": "$a"})", R"({"a": 1})"));
    EXPECT_FALSE(matches(R"({"$expr": "$a"})", R"({"a": 0})"));
    EXPECT_TRUE(matches(R"({"$expr": true})", "{}"));
}

TEST_F(FilterExpressionTest, StandsBesideOtherConditions) {
    EXPECT_FALSE(matches(R"({"c": 3, "$expr": {"$eq": ["$a", 1]}})", R"({"a": 1})"));
    EXPECT_TRUE(matches(R"({"$or": [{"c": 3}, {"$expr": {"$eq": ["$a", 1]}}]})", R"({"a": 1})"));
    EXPECT_TRUE(matches(R"({"$nor": [{"$expr": {"$eq": ["$a", 1]}}]})", R"({"a": 2})"));
    EXPECT_FALSE(matches(R"({"$nor": [{"$expr": {"$eq": ["$a", 1]}}]})", R"({"a": 1})"));
    EXPECT_FALSE(matches(R"({"$and": [{"$expr": "$a"}, {"$expr": "$b"}]})", R"({"a": 1})"));
}

TEST_F(FilterExpressionTest, IsAboutAWholeDocument) {
    EXPECT_EQ(error_of(R"({"a": {"$elemMatch": {"$expr": "$b"}}})"), base::kBadValue);
    EXPECT_EQ(error_of(R"({"a": {"$elemMatch": {"$or": [{"$expr": "$b"}]}}})"), base::kBadValue);
    EXPECT_EQ(error_of(R"({"a": {"$expr": "$b"}})"), base::kBadValue);
    EXPECT_THROW(Matcher::parse(bson::parse_test_json(R"({"$expr": "$b"})")), base::Error);
}

TEST_F(FilterExpressionTest, KnowsVariablesFromOutside) {
    let("x", R"({"y": 5})");
    EXPECT_TRUE(matches(R"({"$expr": {"$eq": ["$a", "$$x.y"]}})", R"({"a": 5})"));
    EXPECT_FALSE(matches(R"({"$expr": {"$eq": ["$a", "$$x.z"]}})", R"({"a": 5})"));
    EXPECT_EQ(error_of(R"({"$expr": "$$z"})"), 17276);
}

TEST_F(FilterExpressionTest, APlannerLearnsOfEqualities) {
    let("x", R"({"y": 5, "l": [1]})");
    EXPECT_EQ(implied(R"({"$eq": ["$a.b", 5]})"), "{ a.b: 5 }");
    EXPECT_EQ(implied(R"({"$eq": ["s", "$a"]})"), R"({ a: "s" })");
    EXPECT_EQ(implied(R"({"$eq": ["$a", "$$x.y"]})"), "{ a: 5 }");
    EXPECT_EQ(implied(R"({"$eq": ["$a", {"$add": [1, 2]}]})"), "{ a: 3 }");
    EXPECT_EQ(implied(R"({"$eq": ["$a", {"$literal": {"$b": 1}}]})"), "{ a: { $b: 1 } }");
    EXPECT_EQ(implied(R"({"$eq": ["$a", null]})"), "{ a: null }");
    EXPECT_EQ(implied(R"({"$and": [{"$eq": ["$a", 1]}, {"$gt": ["$b", 1]},
                                   {"$and": [{"$eq": ["$c", 2]}]}]})"),
              "{ a: 1, c: 2 }");
    for (const char* none :
         {R"({"$eq": ["$a", "$b"]})", R"({"$eq": ["$a", "$$x.none"]})",
          R"({"$eq": ["$a", "$$x.l"]})", R"({"$eq": ["$a", [1]]})", R"({"$eq": ["$$ROOT", 1]})",
          R"({"$eq": ["$$ROOT.a", 1]})", R"({"$eq": [1, 1]})", R"({"$or": [{"$eq": ["$a", 1]}]})",
          R"({"$ne": ["$a", 1]})", R"({"$gt": ["$a", 1]})", R"("$a")", "1"})
        EXPECT_EQ(implied(none), "{}") << none;
}

// Only of what can be no array: of one with one element an index has that element.
TEST_F(FilterExpressionTest, APlannerLearnsOfRanges) {
    let("x", R"({"y": 5})");
    EXPECT_EQ(ranges(R"({"$lt": ["$a.b", 5]})"), "{ a.b: { $lt: 5 } }");
    EXPECT_EQ(ranges(R"({"$gte": ["s", "$a"]})"), R"({ a: { $lte: "s" } })");
    EXPECT_EQ(ranges(R"({"$lte": ["$a", "$$x.y"]})"), "{ a: { $lte: 5 } }");
    EXPECT_EQ(ranges(R"({"$gt": ["$a", true]})"), "{ a: { $gt: true } }");
    EXPECT_EQ(ranges(R"({"$and": [{"$gte": ["$a", 1]}, {"$gt": ["$b", 1]}, {"$gt": [9, "$a"]},
                                  {"$lt": ["$c", {"$date": {"$numberLong": "5"}}]}]})"),
              "{ a: { $gte: 1, $lt: 9 } }");
    EXPECT_EQ(ranges(R"({"$and": [{"$gte": ["$c", {"$date": {"$numberLong": "3"}}]},
                                  {"$lt": ["$c", {"$date": {"$numberLong": "5"}}]},
                                  {"$eq": ["$d", 1]}, {"$gt": ["$d", 0]}]})"),
              "{ c: { $gte: new Date(3), $lt: new Date(5) }, d: { $gt: 0 } }");
    for (const char* none :
         {R"({"$gt": ["$a", 5]})", R"({"$lt": ["$a", {"$date": {"$numberLong": "5"}}]})",
          R"({"$lt": ["$a", "$b"]})", R"({"$lt": ["$a", null]})", R"({"$lt": ["$a", {"b": 1}]})",
          R"({"$lt": ["$a", [1]]})", R"({"$lt": ["$$ROOT.a", 1]})",
          R"({"$or": [{"$lt": ["$a", 1]}]})", R"({"$ne": ["$a", 1]})",
          R"({"$not": [{"$lt": ["$a", 1]}]})", R"({"$eq": [{"$lt": ["$a", 1]}, true]})",
          R"({"$lt": ["$a", "$$x.z"]})"})
        EXPECT_EQ(ranges(none), "{}") << none;
}

// The promise of MatchExpression::implied().
TEST_F(FilterExpressionTest, WhatIsImpliedHoldsForAllThatMatch) {
    const char* values[] = {"1", "null", R"({"b": 1})", R"({"b": null})", R"("s")", "[1]", "[]"};
    const char* docs[] = {R"({})",
                          R"({"a": 1})",
                          R"({"a": null})",
                          R"({"a": "s"})",
                          R"({"a": [1]})",
                          R"({"a": [[1]]})",
                          R"({"a": []})",
                          R"({"a": {"b": 1}})",
                          R"({"a": {"b": null}})",
                          R"({"a": {"b": [1]}})",
                          R"({"a": {"b": "s"}})",
                          R"({"a": [{"b": 1}, {"b": null}]})",
                          R"({"a": {"b": {"b": 1}}})",
                          R"({"a": {"$undefined": true}})"};
    int matched = 0;
    for (const char* path : {"$a", "$a.b"})
        for (const char* value : values) {
            const auto matcher =
                parse(std::string(R"({"$expr": {"$eq": [")") + path + R"(", )" + value + "]}}");
            const auto implied =
                Matcher::parse(matcher->root().children.at(0)->expression->implied());
            for (const char* doc : docs) {
                const bson::Object parsed = bson::parse_test_json(doc);
                if (!matcher->matches(parsed)) continue;
                ++matched;
                EXPECT_TRUE(implied->matches(parsed)) << path << " " << value << " " << doc;
            }
        }
    EXPECT_GE(matched, 8);
}

}  // namespace
}  // namespace query

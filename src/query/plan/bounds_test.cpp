#include "query/plan/bounds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bson/json.h"
#include "bson/testing/json.h"

namespace query {
namespace {

struct Answer {
    bool usable = false;
    std::string bounds;
    Tightness tightness = Tightness::exact;
};

// The filter {a: <predicate>} on an index of `fields`.
Answer ask(const char* predicate, const char* fields = R"({"a": 1})", bool sparse = false,
           const ExpressionParser* today = nullptr) {
    const bson::Object keys = bson::parse_test_json(fields);
    bson::Builder spec;
    spec.append("key", keys.doc()).append("sparse", sparse);
    const bson::Object definition = spec.object();
    catalog::Index index;
    index.spec = definition;
    index.key_pattern = definition["key"].as_doc();
    index.sparse = sparse;
    index.generator = catalog::KeyGenerator::make(definition);
    const auto matcher = Matcher::parse(
        bson::parse_test_json((std::string(R"({"a": )") + predicate + "}").c_str()), today);
    const MatchNode& node = *matcher->root().children[0];
    Answer answer;
    const IndexField field(index, 0);
    answer.usable = can_use(node, field);
    if (!answer.usable) return answer;
    ValueArena arena;
    const PredicateBounds bounds = bounds_of(node, field, arena);
    answer.tightness = bounds.tightness;
    bson::Builder shown;
    append_intervals(shown, "a", bounds.intervals);
    answer.bounds = bson::to_text(shown.object().doc().first());
    return answer;
}

std::string shown(const char* bounds) {
    return bson::to_text(
        bson::parse_test_json((std::string(R"({"a": )") + bounds + "}").c_str())["a"]);
}

TEST(Bounds, NullIsShownAsOnePointAndNeedsTheDocument) {
    const Answer answer = ask("null");
    EXPECT_EQ(answer.bounds, shown("[[null, null]]"));
    EXPECT_EQ(answer.tightness, Tightness::check_document);
}

TEST(Bounds, TheEndsOfTheOrderReachEveryKey) {
    for (const char* op : {"$gt", "$gte", "$lt", "$lte"}) {
        for (const char* end : {"$minKey", "$maxKey"}) {
            const Answer answer = ask(fmt::format(R"({{"{}": {{"{}": 1}}}})", op, end).c_str());
            EXPECT_EQ(answer.bounds, shown(R"([[{"$minElement": {"$numberInt": "1"}},
                                                {"$maxElement": {"$numberInt": "1"}}]])"));
            EXPECT_EQ(answer.tightness, Tightness::check_document);
        }
    }
}

TEST(Bounds, NumbersBelowAreShownFromMinusInfinityAndStartAtNaN) {
    const Answer answer = ask(R"({"$lt": {"$numberInt": "5"}})");
    EXPECT_EQ(answer.tightness, Tightness::exact);
    EXPECT_EQ(answer.bounds, shown(R"([[{"$numberDouble": "-Infinity"}, {"$numberInt": "5"}]])"));
    ValueArena arena;
    const Interval nan = point(key_constants().not_a_number);
    EXPECT_EQ(intersect({class_range(bson::Type::int32)}, {nan}, arena), IntervalList{nan});
}

TEST(Bounds, NumbersAreLookedForBesideNaNByClientsOfToday) {
    const auto today = [](const char* predicate) {
        const Answer answer = ask(predicate, R"({"a": 1})", false, &kNoExpressionsHere);
        EXPECT_TRUE(answer.usable && answer.tightness == Tightness::exact) << predicate;
        return answer.bounds;
    };
    EXPECT_EQ(today(R"({"$lt": 5})"), shown(R"([[{"$numberDouble": "-Infinity"}, 5]])"));
    EXPECT_EQ(today(R"({"$gte": {"$numberDouble": "NaN"}})"),
              shown(R"([[{"$numberDouble": "NaN"}, {"$numberDouble": "NaN"}]])"));
    EXPECT_EQ(today(R"({"$lt": {"$numberDouble": "NaN"}})"), "[]");
    EXPECT_EQ(today(R"({"$gt": {"$numberDouble": "NaN"}})"), "[]");
    ValueArena arena;
    const auto matcher =
        Matcher::parse(bson::parse_test_json(R"({"a": {"$lte": 5}})"), &kNoExpressionsHere);
    catalog::Index index;
    const bson::Object definition = bson::parse_test_json(R"({"key": {"a": 1}})");
    index.key_pattern = definition["key"].as_doc();
    index.generator = catalog::KeyGenerator::make(definition);
    const IntervalList below =
        bounds_of(*matcher->root().children[0], IndexField(index, 0), arena).intervals;
    EXPECT_TRUE(intersect(below, {point(key_constants().not_a_number)}, arena).empty());
}

TEST(Bounds, WhatAMissingFieldSatisfiesAvoidsSparseIndexes) {
    for (const char* predicate :
         {"null", R"({"$in": [null, 1]})", R"({"$gte": null})", R"({"$lte": null})",
          R"({"$gt": {"$minKey": 1}})", R"({"$lte": {"$maxKey": 1}})", R"({"$ne": 1})",
          R"({"$not": {"$gt": 1}})", R"({"$exists": false})"}) {
        EXPECT_FALSE(ask(predicate, R"({"a": 1})", true).usable) << predicate;
        EXPECT_TRUE(ask(predicate).usable) << predicate;
    }
}

TEST(Bounds, ExistenceIsInTheKeysOfSparseIndexesOfOneField) {
    const char* exists = R"({"$exists": true})";
    EXPECT_EQ(ask(exists, R"({"a": 1})", true).tightness, Tightness::exact);
    EXPECT_EQ(ask(exists, R"({"a": 1, "b": 1})", true).tightness, Tightness::check_document);
    EXPECT_EQ(ask(exists).tightness, Tightness::check_document);
}

}  // namespace
}  // namespace query

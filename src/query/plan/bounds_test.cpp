#include "query/plan/bounds.h"

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
Answer ask(const char* predicate, const char* fields = R"({"a": 1})", bool sparse = false) {
    const bson::Object keys = bson::parse_test_json(fields);
    bson::Builder spec;
    spec.append("key", keys.doc()).append("sparse", sparse);
    const bson::Object definition = spec.object();
    catalog::Index index;
    index.spec = definition;
    index.key_pattern = definition["key"].as_doc();
    index.sparse = sparse;
    index.generator = catalog::KeyGenerator::make(definition);
    const auto matcher =
        Matcher::parse(bson::parse_test_json((std::string(R"({"a": )") + predicate + "}").c_str()));
    const MatchNode& node = *matcher->root().children[0];
    Answer answer;
    answer.usable = can_use(node, index);
    if (!answer.usable) return answer;
    ValueArena arena;
    const PredicateBounds bounds = bounds_of(node, index, arena);
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

TEST(Bounds, NullIsOnePointAndNeedsTheDocument) {
    const Answer answer = ask("null");
    EXPECT_EQ(answer.bounds, shown("[[null, null]]"));
    EXPECT_EQ(answer.tightness, Tightness::check_document);
}

TEST(Bounds, TheEndsOfTheOrderReachEveryKey) {
    for (const char* predicate : {R"({"$gt": {"$minKey": 1}})", R"({"$gte": {"$minKey": 1}})",
                                  R"({"$lt": {"$maxKey": 1}})"}) {
        const Answer answer = ask(predicate);
        EXPECT_EQ(answer.bounds, shown(R"([[{"$minElement": {"$numberInt": "1"}},
                                            {"$maxElement": {"$numberInt": "1"}}]])"));
        EXPECT_EQ(answer.tightness, Tightness::exact);
    }
}

TEST(Bounds, NumbersBelowStartAtMinusInfinity) {
    const Interval numbers = class_range(bson::Type::int32);
    const bson::Element nan = key_constants().not_a_number;
    EXPECT_EQ(ask(R"({"$lt": {"$numberInt": "5"}})").tightness, Tightness::exact);
    ValueArena arena;
    EXPECT_EQ(intersect({numbers}, {point(nan)}, arena), IntervalList{});
}

TEST(Bounds, OnlyEqualityWithNullAvoidsSparseIndexes) {
    const char* key = R"({"a": 1})";
    EXPECT_FALSE(ask("null", key, true).usable);
    EXPECT_TRUE(ask(R"({"$in": [null, 1]})", key, true).usable);
    EXPECT_TRUE(ask(R"({"$gte": null})", key, true).usable);
    EXPECT_TRUE(ask(R"({"$gt": {"$minKey": 1}})", key, true).usable);
    EXPECT_FALSE(ask(R"({"$ne": 1})", key, true).usable);
    EXPECT_TRUE(ask(R"({"$ne": 1})").usable);
}

TEST(Bounds, ExistenceIsInTheKeysOfSparseIndexesOfOneField) {
    const char* exists = R"({"$exists": true})";
    EXPECT_EQ(ask(exists, R"({"a": 1})", true).tightness, Tightness::exact);
    EXPECT_EQ(ask(exists, R"({"a": 1, "b": 1})", true).tightness, Tightness::check_document);
    EXPECT_EQ(ask(exists).tightness, Tightness::check_document);
}

}  // namespace
}  // namespace query

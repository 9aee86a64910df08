#include "query/match/implication.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bson/testing/json.h"

namespace query {
namespace {

// With single quotes.
bson::Object parsed(std::string json) {
    std::ranges::replace(json, '\'', '"');
    return bson::parse_test_json(json);
}

// `of_narrow`, `of_wide`: not null where the filter is one of today.
bool implies(const std::string& narrow, const std::string& wide,
             const ExpressionParser* of_narrow = nullptr,
             const ExpressionParser* of_wide = nullptr) {
    const auto one = Matcher::parse(parsed(narrow), of_narrow);
    const auto other = Matcher::parse(parsed(wide), of_wide);
    return implies(one->root(), other->root());
}

struct Pair {
    const char* narrow;
    const char* wide;
};

TEST(Implication, SeesWhatFollows) {
    static constexpr Pair kPairs[] = {
        {"{}", "{}"},
        {"{'a': 1}", "{}"},
        {"{'a': 1}", "{'a': 1}"},
        {"{'a': 1}", "{'a': {'$numberDouble': '1.0'}}"},
        {"{'a': 1, 'b': 2}", "{'b': 2}"},
        {"{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}"},
        {"{'$and': [{'$and': [{'a': 1}]}, {'b': 2}]}", "{'a': 1}"},
        {"{'a': 5}", "{'a': {'$gt': 4}}"},
        {"{'a': 5}", "{'a': {'$gte': 5, '$lte': 5}}"},
        {"{'a': {'$gt': 5}}", "{'a': {'$gt': 5}}"},
        {"{'a': {'$gt': 5}}", "{'a': {'$gte': 5}}"},
        {"{'a': {'$gte': 6}}", "{'a': {'$gt': 5}}"},
        {"{'a': {'$lt': 5}}", "{'a': {'$lte': 5}}"},
        {"{'a': {'$lte': 4}}", "{'a': {'$lt': 5}}"},
        {"{'a': {'$gt': 5, '$lt': 9}}", "{'a': {'$lt': 10}}"},
        {"{'a': {'$gte': 'b'}}", "{'a': {'$gt': 'a'}}"},
        {"{'a': {'$in': [1, 2]}}", "{'a': {'$in': [1, 2, 3]}}"},
        {"{'a': {'$in': [1, 2]}}", "{'a': {'$gt': 0}}"},
        {"{'a': {'$in': [1, 2]}}", "{'$or': [{'a': 1}, {'a': 2}]}"},
        {"{'a': {'$all': [1, 2]}}", "{'a': 2}"},
        {"{'$or': [{'a': 1}, {'a': 2}]}", "{'a': {'$in': [1, 2]}}"},
        {"{'a': 1, 'b': 1}", "{'$or': [{'a': 1, 'b': 1}, {'c': 1}]}"},
        {"{'a': null}", "{'a': null}"},
        {"{'a': 1}", "{'a': {'$exists': true}}"},
        {"{'a': 'x'}", "{'a': {'$exists': true}}"},
        {"{'a': {'b': 1}}", "{'a': {'$exists': true}}"},
        {"{'a': {'$gt': 5}}", "{'a': {'$exists': true}}"},
        {"{'a': {'$in': [1, 'x']}}", "{'a': {'$exists': true}}"},
        {"{'a': {'$regex': 'x'}}", "{'a': {'$exists': true}}"},
        {"{'a': {'$size': 0}}", "{'a': {'$exists': true}}"},
        {"{'a': {'$ne': null}}", "{'a': {'$exists': true}}"},
        {"{'a': {'$type': 10}}", "{'a': {'$exists': true}}"},
        {"{'a': {'$type': 'array'}}", "{'a': {'$exists': true}}"},
        {"{'a.b': {'$elemMatch': {'c': 1}}}", "{'a.b': {'$exists': true}}"},
        {"{'a': {'$type': 2}}", "{'a': {'$type': 'string'}}"},
        {"{'a': {'$type': 'string'}}", "{'a': {'$type': 2}}"},
        {"{'a': {'$type': 'int'}}", "{'a': {'$type': 'number'}}"},
        {"{'a': {'$in': []}}", "{'b': 1}"},
    };
    for (const Pair& pair : kPairs)
        EXPECT_TRUE(implies(pair.narrow, pair.wide)) << pair.narrow << " and " << pair.wide;
}

TEST(Implication, ClaimsNothingElse) {
    static constexpr Pair kPairs[] = {
        {"{}", "{'a': 1}"},
        {"{}", "{'a': {'$exists': true}}"},
        {"{'a': 2}", "{'a': 1}"},
        {"{'b': 1}", "{'a': 1}"},
        {"{'a': 1}", "{'a': 1, 'b': 2}"},
        {"{'$or': [{'a': 1}, {'b': 2}]}", "{'a': 1}"},
        {"{'$nor': [{'a': 1}]}", "{'a': 1}"},
        {"{'a': {'$not': {'$gt': 5}}}", "{'a': {'$gt': 5}}"},
        {"{'a': {'$gte': 5}}", "{'a': {'$gt': 5}}"},
        {"{'a': {'$gt': 5}}", "{'a': 6}"},
        {"{'a': {'$gt': 5}}", "{'a': {'$lt': 9}}"},
        {"{'a': {'$gt': 5}}", "{'a': {'$gt': 'a'}}"},
        // Another element may be the one below 5.
        {"{'a': {'$gt': 5}}", "{'a': {'$not': {'$lt': 5}}}"},
        {"{'a': null}", "{'a': {'$exists': true}}"},
        {"{'a': {'$in': [1, null]}}", "{'a': {'$exists': true}}"},
        {"{'a': {'$gte': null}}", "{'a': {'$exists': true}}"},
        {"{'a': {'$gt': {'$minKey': 1}}}", "{'a': {'$exists': true}}"},
        // {a: [5]} has no value at a.b that could be null.
        {"{'a.b': {'$ne': null}}", "{'a.b': {'$exists': true}}"},
        {"{'a': null}", "{'a': {'$in': [null]}}"},
        // A double cannot tell these three values apart.
        {"{'a': {'$numberLong': '9007199254740993'}}",
         "{'a': {'$gte': {'$numberDouble': '9007199254740992'}}}"},
        {"{'a': {'b': {'$numberLong': '9007199254740993'}}}",
         "{'a': {'b': {'$numberDouble': '9007199254740992'}}}"},
        // A $type by number is about elements.
        {"{'a': {'$type': 'array'}}", "{'a': {'$type': 4}}"},
        {"{'a': {'$type': 'number'}}", "{'a': {'$type': 'int'}}"},
        {"{'a': [1]}", "{'a': 1}"},
        {"{'$jsonSchema': {'required': ['a']}}", "{'$jsonSchema': {'required': ['b']}}"},
        {"{'a': {'$gt': [1]}}", "{'a': {'$gt': 0}}"},
        {"{'a': {'$elemMatch': {'b': 1}}}", "{'a': {'b': 1}}"},
    };
    for (const Pair& pair : kPairs)
        EXPECT_FALSE(implies(pair.narrow, pair.wide)) << pair.narrow << " and " << pair.wide;
}

// To old clients NaN is below all numbers, to those of today it is apart.
TEST(Implication, KnowsWhereNaNIs) {
    const ExpressionParser* const today = &kNoExpressionsHere;
    for (const char* narrow : {"{'a': {'$lt': 5}}", "{'a': {'$lte': 4}}"}) {
        EXPECT_TRUE(implies(narrow, "{'a': {'$lt': 5}}", today, today)) << narrow;
        EXPECT_TRUE(implies(narrow, "{'a': {'$lt': 5}}", today, nullptr)) << narrow;
        EXPECT_FALSE(implies(narrow, "{'a': {'$lt': 5}}", nullptr, today)) << narrow;
    }
    EXPECT_TRUE(implies("{'a': {'$gt': 5}}", "{'a': {'$gte': 5}}", nullptr, today));
    const std::string nan = "{'$numberDouble': 'NaN'}";
    EXPECT_FALSE(implies("{'a': " + nan + "}", "{'a': {'$lt': 5}}", today, today));
    EXPECT_FALSE(implies("{'a': {'$in': [" + nan + "]}}", "{'a': {'$lte': 5}}", today, today));
    EXPECT_FALSE(implies("{'a': {'$gt': 5}}", "{'a': {'$gte': " + nan + "}}", today, today));
    EXPECT_TRUE(implies("{'a': {'$gte': " + nan + "}}", "{'a': {'$exists': true}}", today, today));
}

// An implication of random filters holds for all documents of a few values.
TEST(Implication, HoldsForDocuments) {
    static const std::vector<std::string> kValues = {"null",
                                                     "1",
                                                     "{'$numberDouble': '2.5'}",
                                                     "3",
                                                     "'x'",
                                                     "'y'",
                                                     "true",
                                                     "[]",
                                                     "[1, 3]",
                                                     "{'b': 1}",
                                                     "[{'b': 1}, {'b': 3}]",
                                                     "[[1]]",
                                                     "{'$minKey': 1}",
                                                     "{'$numberLong': '9007199254740993'}",
                                                     "{'$numberDouble': '9007199254740992'}",
                                                     "{'$numberDouble': 'NaN'}",
                                                     "{'b': [1, 'x']}",
                                                     "{'$date': {'$numberLong': '5'}}"};
    static const std::vector<std::string> kPaths = {"a", "a", "a", "a.b", "a.0"};
    static const std::vector<std::string> kOperators = {"$eq", "$gt", "$gte", "$lt", "$lte"};
    static const std::vector<std::string> kOthers = {"{'$exists': true}",
                                                     "{'$ne': null}",
                                                     "{'$type': 2}",
                                                     "{'$type': 'number'}",
                                                     "{'$type': 4}",
                                                     "{'$type': 'array'}",
                                                     "{'$type': ['int']}",
                                                     "{'$size': 2}",
                                                     "{'$all': [1, 3]}",
                                                     "{'$not': {'$gt': 1}}",
                                                     "{'$elemMatch': {'$gt': 1}}"};
    std::mt19937 random(20261);
    const auto pick = [&random](const std::vector<std::string>& from) {
        return from[random() % from.size()];
    };
    const std::function<std::string(int)> filter = [&](int depth) -> std::string {
        const unsigned kind = random() % (depth > 0 ? 8 : 6);
        const std::string path = "'" + pick(kPaths) + "'";
        if (kind < 3) return "{" + path + ": {'" + pick(kOperators) + "': " + pick(kValues) + "}}";
        if (kind == 3) return "{" + path + ": " + pick(kOthers) + "}";
        if (kind < 6)
            return "{" + path + ": {'$in': [" + pick(kValues) + ", " + pick(kValues) + "]}}";
        return std::string("{'") + (kind == 6 ? "$and" : "$or") + "': [" + filter(depth - 1) +
               ", " + filter(depth - 1) + "]}";
    };
    std::vector<bson::Object> documents = {bson::Object()};
    for (const std::string& value : kValues) {
        documents.push_back(parsed("{'a': " + value + "}"));
        documents.push_back(parsed("{'c': " + value + ", 'a': 3}"));
        documents.push_back(parsed("{'a': [" + value + ", {'b': 3}, 'x']}"));
    }
    constexpr int kPairs = 20000;
    int implied = 0;
    for (int i = 0; i < kPairs; ++i) {
        const std::string narrow = filter(2);
        const std::string wide = filter(1);
        const auto one = Matcher::parse(parsed(narrow));
        const auto other = Matcher::parse(parsed(wide));
        if (!query::implies(one->root(), other->root())) continue;
        ++implied;
        for (const bson::Object& document : documents)
            ASSERT_TRUE(!one->matches(document) || other->matches(document))
                << narrow << " does not imply " << wide;
    }
    EXPECT_GT(implied, 100);
}

// Trees in each other: each pair of clauses is looked at once.
TEST(Implication, IsQuickInDeepTrees) {
    std::string narrow = "{'a': 1}";
    std::string wide = "{'b': 1}";
    for (int i = 0; i < 40; ++i) {
        narrow =
            std::string("{'") + (i % 2 == 0 ? "$and" : "$or") + "': [" + narrow + ", {'c': 2}]}";
        wide = std::string("{'") + (i % 2 == 0 ? "$or" : "$and") + "': [" + wide + ", {'d': 2}]}";
    }
    EXPECT_FALSE(implies(narrow, wide));
}

}  // namespace
}  // namespace query

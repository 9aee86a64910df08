// Filters that an index must answer as a scan of the collection does: one example for each way in
// which it once did not. tests/differential/ looks for more of them.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "command/commands/testing/service.h"

namespace command {
namespace {

class PlanAnswersTest : public EachEngineTest {
  protected:
    void index(const std::string& key, const std::string& options = "") {
        const bson::Object reply = run(
            fmt::format(R"({{"createIndexes": "c", "indexes": [{{"key": {}, "name": "i{}"{}}}]}})",
                        key, ++indexes_, options));
        EXPECT_EQ(code(reply), 0) << bson::to_text(reply);
    }
    void store(const std::string& documents) {
        EXPECT_EQ(text(run(fmt::format(R"({{"insert": "c", "documents": [{}]}})", documents)), "n"),
                  "1")
            << documents;
    }
    // The _ids that a find gives, in order.
    std::string ids(const std::string& filter, const std::string& hint) {
        const bson::Object reply = run(fmt::format(
            R"({{"find": "c", "filter": {}, "projection": {{"_id": 1}}, "sort": {{"_id": 1}},
                    "hint": {}}})",
            filter, hint));
        EXPECT_EQ(code(reply), 0) << bson::to_text(reply);
        std::string all;
        for (const bson::Element& doc : reply.doc().at_path("cursor.firstBatch").as_doc())
            all += bson::to_text(doc.as_doc()["_id"]) + " ";
        return all;
    }
    // The same by each index that the collection has, and by none.
    void expect_ids(const std::string& filter, const std::string& wanted) {
        EXPECT_EQ(ids(filter, R"({"$natural": 1})"), wanted) << filter;
        for (int i = 1; i <= indexes_; ++i)
            EXPECT_EQ(ids(filter, fmt::format(R"("i{}")", i)), wanted) << filter << " by i" << i;
        const bson::Object counted = run(fmt::format(R"({{"count": "c", "query": {}}})", filter));
        EXPECT_EQ(counted["n"].to_int64(), std::ranges::count(wanted, ' ')) << filter;
    }
    int indexes_ = 0;
};

// Doubles from 2^53 on are rarer than longs, and not every index has both in one order.
TEST_P(PlanAnswersTest, NumbersThatDoublesRound) {
    index(R"({"a": 1})");
    index(R"({"a": -1})");
    index(R"({"a": 1, "b": -1})");
    index(R"({"b": 1, "a": -1})");
    std::vector<std::string> numbers;
    for (const char* text :
         {"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994",
          "9007199254740995", "9223372036854775295", "9223372036854775296", "9223372036854775807"})
        for (const char* sign : {"", "-"})
            for (const char* type : {"Long", "Double"})
                numbers.push_back(fmt::format(R"({{"$number{}": "{}{}"}})", type, sign, text));
    numbers.emplace_back(R"({"$numberDecimal": "9007199254740993"})");
    numbers.emplace_back(R"({"$numberLong": "-9223372036854775808"})");
    int id = 0;
    for (const std::string& number : numbers) {
        ++id;
        store(fmt::format(R"({{"_id": {}, "a": {}, "b": {}}})", id, number, id % 2));
    }
    const auto expect_same = [&](const std::string& filter) {
        expect_ids(filter, ids(filter, R"({"$natural": 1})"));
    };
    for (const std::string& number : numbers) {
        for (const char* op : {"$eq", "$gt", "$gte", "$lt", "$lte", "$ne"}) {
            expect_same(fmt::format(R"({{"a": {{"{}": {}}}}})", op, number));
            expect_same(fmt::format(R"({{"a": {{"{}": {}}}, "b": 1}})", op, number));
        }
        expect_same(fmt::format(R"({{"a": {{"$in": [{}, 1]}}}})", number));
        expect_same(fmt::format(R"({{"a": {{"$gte": {}, "$lt": {}}}}})", number, numbers[8]));
    }
}

// One $elemMatch binds what it names to one element, but not what lies in a further array below.
TEST_P(PlanAnswersTest, ElementsOfAFurtherArrayBelowElemMatch) {
    index(R"({"a.b.x": 1, "a.b.y": 1})");
    index(R"({"a.b.x": 1, "a.b.y": 1, "a.c": 1})", R"(, "sparse": true)");
    index(R"({"a.b": 1, "a.b.y": 1})");
    store(R"({"_id": 1, "a": [{"b": [{"x": 1}, {"y": 1}], "c": 1}]})");
    store(R"({"_id": 2, "a": [{"b": {"x": 1, "y": 1}, "c": 1}, {"b": {"x": 1}}]})");
    store(R"({"_id": 3, "a": [{"b": [{"x": 1}]}, {"b": [{"y": 1}]}]})");
    expect_ids(R"({"a": {"$elemMatch": {"b.x": 1, "b.y": 1}}})", "1 2 ");
    expect_ids(R"({"a": {"$elemMatch": {"$and": [{"b.x": 1}, {"b.y": 1}]}}})", "1 2 ");
    expect_ids(R"({"a": {"$elemMatch": {"b": {"$elemMatch": {"x": 1}}, "b.y": 1}}})", "1 ");
    expect_ids(R"({"a": {"$elemMatch": {"b": {"$elemMatch": {"x": 1, "y": 1}}}}})", "");
    expect_ids(R"({"a": {"$all": [{"$elemMatch": {"b.x": 1, "b.y": 1, "c": 1}}]}})", "1 2 ");
    expect_ids(R"({"a": {"$all": [{"$elemMatch": {"b.x": 1}}, {"$elemMatch": {"b.y": 1}}]}})",
               "1 2 3 ");
    expect_ids(R"({"a.b": {"$elemMatch": {"x": 1}}, "a.b.y": 1})", "1 3 ");
}

// The index keeps no order of its own of equal doubles and longs beyond 2^53.
TEST_P(PlanAnswersTest, NumbersBeyondThePrecisionOfDoubles) {
    index(R"({"a": 1})");
    index(R"({"a": -1})");
    int id = 0;
    for (const char* value :
         {R"({"$numberLong": "9007199254740993"})", R"({"$numberDouble": "9007199254740992"})",
          R"({"$numberLong": "9007199254740992"})", R"({"$numberLong": "9007199254740994"})",
          R"({"$numberDouble": "9007199254740994"})", R"({"$numberLong": "-9007199254740993"})",
          R"({"$numberDouble": "-9007199254740992"})", R"({"$numberLong": "9223372036854775807"})",
          R"({"$numberDouble": "9223372036854775808"})",
          R"({"$numberLong": "9223372036854775806"})", R"({"$numberDouble": "1e19"})",
          R"({"$numberLong": "-9223372036854775808"})"})
        store(fmt::format(R"({{"_id": {}, "a": {}}})", ++id, value));
    const auto same = [&](const std::string& filter) {
        const auto sorted = [&](const std::string& hint) {
            const bson::Object reply = run(
                fmt::format(R"({{"find": "c", "filter": {}, "hint": {}, "sort": {{"_id": 1}}}})",
                            filter, hint));
            return text(reply, "cursor");
        };
        const std::string wanted = sorted(R"({"$natural": 1})");
        EXPECT_EQ(sorted(R"("i1")"), wanted) << filter;
        EXPECT_EQ(sorted(R"("i2")"), wanted) << filter;
    };
    const std::string a = R"({"$numberLong": "9007199254740993"})";
    const std::string b = R"({"$numberDouble": "9007199254740992"})";
    const std::string c = R"({"$numberLong": "9007199254740992"})";
    const std::string d = R"({"$numberLong": "9223372036854775807"})";
    const std::string e = R"({"$numberDouble": "9223372036854775808"})";
    for (const std::string& one : {a, b, c, d, e}) {
        same(fmt::format(R"({{"a": {}}})", one));
        for (const char* op : {"$lt", "$lte", "$gt", "$gte", "$ne"})
            same(fmt::format(R"({{"a": {{"{}": {}}}}})", op, one));
        for (const std::string& other : {a, b, c, d, e}) {
            same(fmt::format(R"({{"a": {{"$in": [{}, {}]}}}})", one, other));
            same(fmt::format(R"({{"a": {{"$in": [{}, {}, {}]}}}})", one, other, c));
            same(fmt::format(R"({{"a": {{"$nin": [{}, {}]}}}})", one, other));
            same(fmt::format(R"({{"$or": [{{"a": {}}}, {{"a": {}}}]}})", one, other));
            same(fmt::format(R"({{"a": {{"$gte": {}, "$lte": {}}}}})", one, other));
            same(fmt::format(R"({{"a": {{"$gt": {}, "$lt": {}}}}})", one, other));
        }
    }
}

// Nor is there an order of the fields that follow such numbers: jumps to a pair would pass others
// by.
TEST_P(PlanAnswersTest, FieldsBehindNumbersBeyondThePrecisionOfDoubles) {
    index(R"({"a": 1, "c": 1})");
    index(R"({"a": -1, "c": 1})");
    const std::vector<std::string> numbers = {
        R"({"$numberDouble": "9007199254740992"})", R"({"$numberLong": "9007199254740993"})",
        R"({"$numberLong": "9007199254740992"})", R"({"$numberLong": "9007199254740994"})",
        R"({"$numberDouble": "9007199254740994"})"};
    const std::vector<std::string> seconds = {"null", "9", "5", R"("x")", "7"};
    // Each number with each second value, in an order that mixes both.
    const size_t n = numbers.size();
    for (size_t i = 0; i < n * n; ++i) {
        const size_t mixed = i * 7 % (n * n);
        store(fmt::format(R"({{"_id": {}, "a": {}, "c": {}}})", i, numbers[mixed % n],
                          seconds[mixed / n]));
    }
    const auto same = [&](const std::string& filter) {
        expect_ids(filter, ids(filter, R"({"$natural": 1})"));
    };
    for (const std::string& a : numbers) {
        for (const char* of_c :
             {"5", R"({"$gte": 7})", R"({"$lt": 7})", R"({"$in": [5, 9]})", R"({"$ne": 7})",
              R"({"$mod": [2, 1]})", R"({"$in": ["x", null]})"}) {
            same(fmt::format(R"({{"a": {}, "c": {}}})", a, of_c));
            for (const char* op : {"$lt", "$lte", "$gt", "$gte"})
                same(fmt::format(R"({{"a": {{"{}": {}}}, "c": {}}})", op, a, of_c));
            same(fmt::format(R"({{"a": {{"$in": [1, {}]}}, "c": {}}})", a, of_c));
            same(fmt::format(R"({{"c": {}, "a": {{"$ne": {}}}}})", of_c, a));
        }
    }
}

// An index keeps one key for elements of an array that are equal: its number is not all of them.
TEST_P(PlanAnswersTest, OneKeyForLargeNumbersThatDiffer) {
    index(R"({"b": 1})");
    index(R"({"c": 1, "b": 1})");
    store(R"({"_id": 1, "b": [{"$numberDouble": "9223372036854775808"},
                              {"$numberLong": "9223372036854775807"}]})");
    store(R"({"_id": 2, "b": [{"$numberLong": "9007199254740993"},
                              {"$numberDouble": "9007199254740992"}]})");
    store(R"({"_id": 3, "b": {"$numberLong": "9223372036854775807"}})");
    store(R"({"_id": 4, "b": {"$numberLong": "9007199254740994"}})");
    expect_ids(R"({"b": {"$mod": [2, 1]}})", "1 2 3 ");
    expect_ids(R"({"c": null, "b": {"$mod": [2, 1]}})", "1 2 3 ");
    expect_ids(R"({"c": null, "b": {"$mod": [2, 0]}})", "2 4 ");
    expect_ids(R"({"b": {"$not": {"$mod": [2, 0]}}})", "1 3 ");
}

// Each field of the key decides by itself what it can decide, whatever the others are called.
TEST_P(PlanAnswersTest, KeyFieldsThatBeginAlike) {
    index(R"({"a.b": 1, "a.c": 1})");
    index(R"({"a.b": 1, "a": 1})");
    index(R"({"a.0": 1, "a": 1})");
    store(R"({"_id": 1, "a": {"b": 1, "c": 4}})");
    store(R"({"_id": 2, "a": {"b": 1, "c": "xyz"}})");
    store(R"({"_id": 3, "a": 2})");
    store(R"({"_id": 4, "a": "xyz"})");
    expect_ids(R"({"a.b": 1, "a.c": {"$mod": [2, 0]}})", "1 ");
    expect_ids(R"({"a.b": 1, "a.c": {"$regularExpression": {"pattern": "y", "options": ""}}})",
               "2 ");
    expect_ids(R"({"a.b": null, "a": {"$mod": [2, 0]}})", "3 ");
    expect_ids(
        R"({"a.b": null, "a": {"$in": [{"$regularExpression": {"pattern": "y", "options": ""}}]}})",
        "4 ");
    expect_ids(R"({"a.0": {"$not": {"$lt": 5}}, "a": {"$mod": [2, 0]}})", "3 ");
}

// A pattern that can't be used is refused: under $not it would be every document.
TEST_P(PlanAnswersTest, BadPatternsRemoveNothing) {
    index(R"({"a": 1})");
    store(R"({"_id": 1, "a": "x-y@z"})");
    store(R"({"_id": 2, "a": "x y"})");
    const std::string odd =
        R"({"$regularExpression": {"pattern": "^[\\w-.]+@[\\w-.]+$", "options": ""}})";
    expect_ids(fmt::format(R"({{"a": {}}})", odd), "1 ");
    expect_ids(fmt::format(R"({{"a": {{"$in": [{}]}}}})", odd), "1 ");
    const std::string bad = R"({"$regularExpression": {"pattern": "(", "options": ""}})";
    for (const std::string& filter : {fmt::format(R"({{"a": {{"$not": {}}}}})", bad),
                                      fmt::format(R"({{"a": {{"$nin": [{}]}}}})", bad)}) {
        EXPECT_EQ(text(run(fmt::format(R"({{"delete": "c", "deletes": [{{"q": {}, "limit": 0}}]}})",
                                       filter)),
                       "n"),
                  "0");
        EXPECT_NE(code(run(fmt::format(R"({{"find": "c", "filter": {}}})", filter))), 0);
        EXPECT_NE(code(run(fmt::format(R"({{"count": "c", "query": {}}})", filter))), 0);
        EXPECT_NE(code(run(fmt::format(R"({{"distinct": "c", "key": "a", "query": {}}})", filter))),
                  0);
        EXPECT_NE(code(run(fmt::format(
                      R"({{"aggregate": "c", "pipeline": [{{"$match": {}}}], "cursor": {{}}}})",
                      filter))),
                  0);
        EXPECT_NE(code(run(fmt::format(R"({{"findAndModify": "c", "query": {}, "remove": true}})",
                                       filter))),
                  0);
    }
    EXPECT_EQ(
        text(run(fmt::format(
                 R"({{"delete": "c", "deletes": [{{"q": {{"a": {{"$not": {}}}}}, "limit": 0}}]}})",
                 odd)),
             "n"),
        "1");
    expect_ids("{}", "1 ");
}

// An index on what stands around such a field, or beside it, knows nothing of what is in it.
TEST_P(PlanAnswersTest, FieldsWithoutANameInElemMatch) {
    index(R"({"a": 1})");
    index(R"({"x": 1})");
    index(R"({"a.x": 1})");
    store(R"({"_id": 1, "": [{"x": 1}]})");
    store(R"({"_id": 2, "a": [{"": 5}]})");
    store(R"({"_id": 3, "a": [{"": [{"x": 1}]}]})");
    expect_ids(R"({"": {"$elemMatch": {"x": 1}}})", "1 ");
    expect_ids(R"({"a": {"$elemMatch": {"": 5}}})", "2 ");
    expect_ids(R"({"a": {"$elemMatch": {"": {"$elemMatch": {"x": 1}}}}})", "3 ");
}

// A double equals the int64s that round to it, and so the decimals that equal those.
TEST_P(PlanAnswersTest, DecimalsAmongInt64sAndDoublesFrom53BitsOn) {
    index(R"({"a": 1, "_id": -1})");
    index(R"({"a": -1})");
    store(R"({"_id": 1, "a": {"$numberLong": "9007199254740993"}})");
    store(R"({"_id": 2, "a": {"$numberDecimal": "9007199254740993"}})");
    store(R"({"_id": 3, "a": {"$numberDouble": "9007199254740992"}})");
    store(R"({"_id": 4, "a": {"$numberDecimal": "9223372036854775807"}})");
    store(R"({"_id": 5, "a": {"$numberLong": "9223372036854775807"}})");
    expect_ids(R"({"a": {"$numberDouble": "9007199254740992"}})", "1 2 3 ");
    expect_ids(R"({"a": {"$in": [{"$numberDouble": "9007199254740992"}]}})", "1 2 3 ");
    expect_ids(R"({"a": {"$gte": {"$numberDouble": "9223372036854775808"}}})", "4 5 ");
    expect_ids(R"({"a": {"$lt": {"$numberDouble": "9007199254740992"}}})", "");
}

// Every document of a batch is examined before the first one is stored.
TEST_P(PlanAnswersTest, BatchesWithWhatIsNoDocumentStoreNothing) {
    for (const char* documents : {R"([{"_id": 1}, 2])", R"([{"_id": 1}, null])",
                                  R"([{"_id": 1}, {"_id": 2}, "x"])", R"([1])"}) {
        const std::string insert = fmt::format(R"({{"insert": "c", "documents": {}}})", documents);
        EXPECT_NE(code(run(insert)), 0) << insert;
        EXPECT_NE(code(run_old(insert)), 0) << insert;
        EXPECT_NE(code(run(fmt::format(R"({{"insert": "c", "ordered": false, "documents": {}}})",
                                       documents))),
                  0);
    }
    store(R"({"_id": 9})");
    EXPECT_NE(code(run(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}, 5]})")), 0);
    EXPECT_NE(
        code(run(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}, {"q": 1}]})")),
        0);
    expect_ids(R"({"a": {"$exists": false}})", "9 ");
}

INSTANTIATE_TEST_SUITE_P(engines, PlanAnswersTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

// $expr in the filters of every command, and the variables of `let`.
#include <fmt/core.h>

#include "command/commands/testing/service.h"

namespace command {
namespace {

class ExpressionsTest : public EachEngineTest {
  protected:
    void SetUp() override {
        EachEngineTest::SetUp();
        fill();
    }
    void fill() {
        ask(R"({"drop": "c"})");
        EXPECT_EQ(code(ask(R"({"insert": "c", "documents": [
            {"_id": 1, "a": 1, "b": 1}, {"_id": 2, "a": 5, "b": 2}, {"_id": 3, "a": 2, "b": 3},
            {"_id": 4, "a": [5]}, {"_id": 5}]})")),
                  0);
    }
    bson::Object ask(const std::string& command) { return run(bson::parse_test_json(command)); }
    // Returns the _ids that a find or an aggregate gives, or its error.
    std::string ids(const std::string& command) {
        const bson::Object reply = ask(command);
        if (code(reply) != 0) return fmt::format("error {}", code(reply));
        std::string all;
        for (const bson::Element& e : reply.doc().at_path("cursor.firstBatch").as_doc())
            all += bson::to_text(e.as_doc()["_id"]) + " ";
        return all;
    }
    std::string found(const std::string& rest) {
        return ids(fmt::format(R"({{"find": "c", "sort": {{"_id": 1}}, {}}})", rest));
    }
    std::string left() { return found(R"("filter": {})"); }
    static int write_error(const bson::Object& reply) {
        const bson::Element errors = reply["writeErrors"];
        return errors.is_array() ? errors.as_doc().first().as_doc()["code"].to_int64()
                                 : code(reply);
    }
};

constexpr const char* kGreater = R"({"$expr": {"$gt": ["$a", "$b"]}})";

TEST_P(ExpressionsTest, FilterEveryCommand) {
    EXPECT_EQ(found(fmt::format(R"("filter": {})", kGreater)), "2 4 ");
    EXPECT_EQ(text(ask(fmt::format(R"({{"count": "c", "query": {}}})", kGreater)), "n"), "2");
    EXPECT_EQ(text(ask(fmt::format(R"({{"distinct": "c", "key": "_id", "query": {}}})", kGreater)),
                   "values"),
              "[ 2, 4 ]");
    EXPECT_EQ(
        ids(fmt::format(R"({{"aggregate": "c", "cursor": {{}}, "pipeline": [{{"$match": {}}}]}})",
                        kGreater)),
        "2 4 ");
    const bson::Object modified = ask(fmt::format(
        R"({{"findAndModify": "c", "query": {}, "sort": {{"_id": -1}}, "remove": true}})",
        kGreater));
    EXPECT_EQ(bson::to_text(modified["value"]), R"({ _id: 4, a: [ 5 ] })");
    EXPECT_EQ(
        text(ask(fmt::format(
                 R"({{"update": "c", "updates": [{{"q": {}, "u": {{"$set": {{"x": 1}}}}}}]}})",
                 kGreater)),
             "nModified"),
        "1");
    EXPECT_EQ(found(R"("filter": {"x": 1})"), "2 ");
    EXPECT_EQ(text(ask(fmt::format(R"({{"delete": "c", "deletes": [{{"q": {}, "limit": 0}}]}})",
                                   kGreater)),
                   "n"),
              "1");
    EXPECT_EQ(left(), "1 3 5 ");
}

TEST_P(ExpressionsTest, VariablesOfLet) {
    constexpr const char* kLet = R"("let": {"x": {"$add": [2, 3]}, "y": {"z": "$$NOW"}})";
    EXPECT_EQ(found(fmt::format(R"("filter": {{"$expr": {{"$eq": ["$a", "$$x"]}}}}, {})", kLet)),
              "2 ");
    EXPECT_EQ(ids(fmt::format(
                  R"({{"aggregate": "c", "cursor": {{}}, {}, "pipeline": [
                      {{"$match": {{"$expr": {{"$lt": ["$b", "$$x"]}}}}}},
                      {{"$lookup": {{"from": "c", "as": "f", "let": {{"b": "$b"}}, "pipeline": [
                          {{"$match": {{"$expr": {{"$and": [{{"$eq": ["$a", "$$x"]}},
                                                           {{"$eq": ["$b", "$$b"]}}]}}}}}}]}}}},
                      {{"$match": {{"f": {{"$ne": []}}}}}}]}})",
                  kLet)),
              "2 ");
    // They are computed once, each knows those before it, and one that is not there is missing.
    EXPECT_EQ(found(R"("filter": {"$expr": {"$eq": ["$b", "$$w"]}},
                       "let": {"v": 1, "w": {"$add": ["$$v", 1]}})"),
              "2 ");
    EXPECT_EQ(found(R"("filter": {"$expr": {"$eq": ["$b", "$$v"]}}, "let": {"v": "$$REMOVE"})"),
              "4 5 ");
    EXPECT_EQ(found(R"("filter": {"$expr": {"$eq": ["$b", {"$let": {"vars": {"v": 3},
                                                                   "in": "$$v"}}]}},
                       "let": {"v": 1})"),
              "3 ");
    EXPECT_EQ(text(ask(R"({"update": "c", "let": {"x": 7}, "updates": [
                  {"q": {"$expr": {"$eq": ["$_id", "$$x"]}}, "u": {"$set": {"a": 9}}},
                  {"q": {"_id": 1}, "u": [{"$set": {"a": {"$add": ["$a", "$$x"]}}}]}]})"),
                   "n"),
              "1");
    EXPECT_EQ(found(R"("filter": {"a": 8})"), "1 ");
    EXPECT_EQ(bson::to_text(ask(R"({"findAndModify": "c", "let": {"x": 8, "y": 1}, "new": true,
                  "query": {"$expr": {"$eq": ["$a", "$$x"]}},
                  "update": [{"$set": {"a": "$$y"}}]})")["value"]),
              "{ _id: 1, a: 1, b: 1 }");
    EXPECT_EQ(text(ask(R"({"delete": "c", "let": {"x": 3}, "deletes": [
                  {"q": {"$expr": {"$lt": ["$_id", "$$x"]}}, "limit": 0}]})"),
                   "n"),
              "2");
    EXPECT_EQ(left(), "3 4 5 ");
}

// The rest of a result is computed by later requests.
TEST_P(ExpressionsTest, VariablesLiveAsLongAsTheCursor) {
    for (const char* begin :
         {R"("find": "c", "batchSize": 1, "filter": {"$expr": {"$lte": ["$_id", "$$x.y"]}})",
          R"("aggregate": "c", "cursor": {"batchSize": 1},
             "pipeline": [{"$match": {"$expr": {"$lte": ["$_id", "$$x.y"]}}},
                          {"$addFields": {"z": "$$x.y"}}])"}) {
        const bson::Object first = ask(fmt::format(R"({{{}, "let": {{"x": {{"y": 3}}}}}})", begin));
        EXPECT_EQ(first.doc().at_path("cursor.firstBatch").as_doc().field_count(), 1);
        const int64_t id = first.doc().at_path("cursor.id").to_int64();
        EXPECT_NE(id, 0);
        bson::Builder more;
        more.append("getMore", id).append("collection", "c");
        const bson::Object rest = run(more.object());
        EXPECT_EQ(rest.doc().at_path("cursor.nextBatch").as_doc().field_count(), 2) << begin;
    }
}

TEST_P(ExpressionsTest, WhatIsWrongWithThem) {
    const auto by_let = [this](const char* let) {
        return found(fmt::format(R"("filter": {{}}, "let": {})", let));
    };
    EXPECT_EQ(by_let("{}"), "1 2 3 4 5 ");
    EXPECT_EQ(by_let("null"), "1 2 3 4 5 ");
    EXPECT_EQ(by_let("1"), "error 14");
    EXPECT_EQ(by_let(R"({"A": 1})"), "error 16867");
    EXPECT_EQ(by_let(R"({"": 1})"), "error 16866");
    EXPECT_EQ(by_let(R"({"CURRENT": 1})"), "error 16867");
    EXPECT_EQ(by_let(R"({"a b": 1})"), "error 16868");
    EXPECT_EQ(by_let(R"({"x": "$a"})"), "error 4890500");
    EXPECT_EQ(by_let(R"({"x": {"$add": [1, "$a.b"]}})"), "error 4890500");
    EXPECT_EQ(by_let(R"({"x": "$$ROOT"})"), "error 4890500");
    EXPECT_EQ(by_let(R"({"x": "$$y", "y": 1})"), "error 17276");
    EXPECT_EQ(by_let(R"({"x": {"$divide": [1, 0]}})"), "error 2");
    EXPECT_EQ(found(R"("filter": {"$expr": "$$x"})"), "error 17276");
    EXPECT_EQ(found(R"("filter": {"$expr": {"$nosuch": 1}})"), "error 168");
    EXPECT_EQ(found(R"("filter": {"$expr": {"$divide": ["$_id", 0]}})"), "error 2");
    EXPECT_EQ(code(ask(R"({"findAndModify": "c", "remove": true,
                           "query": {"$expr": {"$nosuch": 1}}})")),
              168);
    EXPECT_EQ(code(ask(R"({"distinct": "c", "key": "a", "query": {"$expr": {"$nosuch": 1}}})")),
              168);
    for (const char* command : {"count", "distinct", "insert"})
        EXPECT_NE(
            code(ask(fmt::format(R"({{"{}": "c", "key": "a", "let": {{"x": 1}}}})", command))), 0);
    EXPECT_EQ(left(), "1 2 3 4 5 ");
}

TEST_P(ExpressionsTest, WhereThereIsNone) {
    EXPECT_EQ(found(R"("filter": {"a": {"$elemMatch": {"$expr": true}}})"), "error 2");
    EXPECT_EQ(found(R"("filter": {"a": {"$expr": true}})"), "error 2");
    EXPECT_EQ(found(R"("filter": {}, "projection": {"a": {"$elemMatch": {"$expr": true}}})"),
              "error 2");
    constexpr const char* kUpsert = R"({"update": "c", "updates": [
        {"q": {"_id": 1, "$expr": {"$eq": ["$a", 1]}}, "u": {"$set": {"z": 1}}, "upsert": true}]})";
    EXPECT_EQ(write_error(ask(kUpsert)), 224);
    EXPECT_EQ(code(ask(R"({"findAndModify": "c", "query": {"$expr": {"$eq": ["$a", 1]}},
                           "update": {"$set": {"z": 1}}, "upsert": true})")),
              224);
    EXPECT_EQ(write_error(ask(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a.$[x]": 1}},
                  "arrayFilters": [{"$expr": {"$eq": ["$x", 1]}}]}]})")),
              224);
    EXPECT_NE(write_error(ask(R"({"update": "c", "updates": [
                  {"q": {}, "u": {"$pull": {"a": {"$expr": true}}}}]})")),
              0);
    EXPECT_EQ(code(ask(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a",
                  "partialFilterExpression": {"$expr": {"$eq": ["$a", 1]}}}]})")),
              67);
    EXPECT_EQ(left(), "1 2 3 4 5 ");
    EXPECT_EQ(found(R"("filter": {"z": 1})"), "");
}

TEST_P(ExpressionsTest, AreUnknownToTheOldMessages) {
    EXPECT_EQ(code(run_old(fmt::format(R"({{"count": "c", "query": {}}})", kGreater))), 2);
    EXPECT_EQ(code(run_old(fmt::format(R"({{"delete": "c", "deletes": [{{"q": {}, "limit": 0}}]}})",
                                       kGreater))),
              0);
    EXPECT_EQ(code(run_old(R"({"aggregate": "c", "pipeline": [], "let": {"x": 1}})")), 72);
    EXPECT_EQ(code(run_old(R"({"aggregate": "c", "pipeline": [], "let": {}})")), 0);
    EXPECT_EQ(code(run_old(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}],
                               "let": {"x": 1}})")),
              72);
    EXPECT_EQ(left(), "1 2 3 4 5 ");
}

// A query gives the same by the index and without it, whatever the values are.
TEST_P(ExpressionsTest, IndexesServeComparisons) {
    ask(R"({"drop": "c"})");
    const char* values[] = {"1",
                            "5",
                            R"({"$numberDouble": "7.5"})",
                            "null",
                            R"("s")",
                            R"("x")",
                            "[]",
                            "[1]",
                            "[6]",
                            "[1, 9]",
                            "[[5]]",
                            "true",
                            R"({"$date": {"$numberLong": "4"}})",
                            R"({"$date": {"$numberLong": "8"}})",
                            R"({"b": 5})",
                            R"({"b": [6]})",
                            R"([{"b": 5}])",
                            R"({"$minKey": 1})",
                            R"({"$oid": "0102030405060708090a0b0c"})",
                            R"({"$numberLong": "9007199254740993"})",
                            R"({"$numberDouble": "9007199254740992"})"};
    int id = 0;
    ask(R"({"insert": "c", "documents": [{"_id": 0}]})");
    for (const char* value : values)
        EXPECT_EQ(code(ask(fmt::format(
                      R"({{"insert": "c", "documents": [{{"_id": {}, "a": {}, "c": 1}}]}})", ++id,
                      value))),
                  0);
    const auto with = [this](const std::string& expression, const char* hint) {
        return found(fmt::format(R"("filter": {{"$expr": {}}}, "hint": {})", expression, hint));
    };
    for (const char* key : {R"({"a": 1})", R"({"a.b": -1})", R"({"c": 1, "a": 1})"})
        EXPECT_EQ(code(ask(fmt::format(
                      R"({{"createIndexes": "c", "indexes": [{{"key": {}, "name": "i{}"}}]}})", key,
                      ++id))),
                  0);
    EXPECT_EQ(code(ask(R"({"createIndexes": "c", "indexes": [
                  {"key": {"a": -1}, "name": "sparse", "sparse": true}]})")),
              0);
    int tried = 0;
    for (const char* path : {"$a", "$a.b"})
        for (const char* op : {"$eq", "$lt", "$lte", "$gt", "$gte"})
            for (const char* value : values) {
                const std::string one =
                    fmt::format(R"({{"{}": ["{}", {{"$literal": {}}}]}})", op, path, value);
                const std::string two =
                    fmt::format(R"({{"$and": [{}, {{"$lt": ["{}", 7]}}]}})", one, path);
                for (const std::string& expression : {one, two}) {
                    const std::string scan = with(expression, R"({"$natural": 1})");
                    EXPECT_EQ(found(fmt::format(R"("filter": {{"$expr": {}}})", expression)), scan)
                        << expression;
                    for (const char* hint : {R"({"a": 1})", R"({"a.b": -1})"})
                        EXPECT_EQ(with(expression, hint), scan) << expression << hint;
                    ++tried;
                }
            }
    EXPECT_EQ(tried, 420);
}

TEST_P(ExpressionsTest, OnViews) {
    EXPECT_EQ(code(ask(R"({"create": "v", "viewOn": "c",
                  "pipeline": [{"$match": {"$expr": {"$gte": ["$_id", 2]}}}]})")),
              0);
    EXPECT_EQ(ids(R"({"find": "v", "filter": {"$expr": {"$lte": ["$_id", "$$x"]}},
                     "let": {"x": 3}})"),
              "2 3 ");
    EXPECT_EQ(text(ask(fmt::format(R"({{"count": "v", "query": {}}})", kGreater)), "n"), "2");
    EXPECT_EQ(
        text(ask(R"({"distinct": "v", "key": "_id", "query": {"$expr": {"$eq": ["$b", 3]}}})"),
             "values"),
        "[ 3 ]");
}

TEST_P(ExpressionsTest, TakesASample) {
    ask(R"({"drop": "c"})");
    std::string documents = R"({"_id": 0})";
    for (int i = 1; i < 1000; ++i)
        documents += fmt::format(R"(, {{"_id": {}}})", i);
    ask(fmt::format(R"({{"insert": "c", "documents": [{}]}})", documents));
    const auto count = [this](const std::string& filter) {
        const bson::Object reply = ask(fmt::format(R"({{"count": "c", "query": {}}})", filter));
        return code(reply) == 0 ? reply["n"].to_int64() : -code(reply);
    };
    EXPECT_EQ(count(R"({"$sampleRate": 0})"), 0);
    EXPECT_EQ(count(R"({"$sampleRate": 1})"), 1000);
    const int64_t half = count(R"({"$sampleRate": {"$numberDouble": "0.5"}})");
    EXPECT_GT(half, 300);  // 12 standard deviations from 500
    EXPECT_LT(half, 700);
    EXPECT_LE(count(R"({"_id": {"$lt": 10}, "$sampleRate": {"$numberDouble": "0.5"}})"), 10);
    EXPECT_EQ(count(R"({"$sampleRate": 2})"), -2);
    EXPECT_EQ(count(R"({"$sampleRate": -1})"), -2);
    EXPECT_EQ(count(R"({"$sampleRate": {"$numberDouble": "NaN"}})"), -2);
    EXPECT_EQ(count(R"({"$sampleRate": "1"})"), -2);
    EXPECT_EQ(count(R"({"a": {"$elemMatch": {"$sampleRate": 1}}})"), -2);
    EXPECT_EQ(code(run_old(R"({"count": "c", "query": {"$sampleRate": 1}})")), 2);
}

TEST_P(ExpressionsTest, FilterTheCatalogue) {
    EXPECT_EQ(ask(R"({"listCollections": 1, "filter": {"$expr": {"$eq": ["$name", "c"]}}})")
                  .doc()
                  .at_path("cursor.firstBatch")
                  .as_doc()
                  .field_count(),
              1);
}

INSTANTIATE_TEST_SUITE_P(engines, ExpressionsTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

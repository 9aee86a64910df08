// Partial and hidden indexes as clients see them: what is taken, what an index holds, when the
// planner uses it.
#include <fmt/core.h>

#include "command/commands/testing/service.h"
#include "command/write/ttl.h"

namespace command {
namespace {

class PartialIndexTest : public EachEngineTest {
  protected:
    bson::Object ask(const std::string& command) { return run(bson::parse_test_json(command)); }
    int create(const std::string& definition, const char* collection = "c") {
        return code(ask(
            fmt::format(R"({{"createIndexes": "{}", "indexes": [{}]}})", collection, definition)));
    }
    void insert(const std::string& documents, const char* collection = "c") {
        EXPECT_EQ(code(ask(fmt::format(R"({{"insert": "{}", "documents": [{}]}})", collection,
                                       documents))),
                  0);
    }
    // The _ids that a hinted index leads to.
    std::string held(const std::string& name, const std::string& filter = "{}") {
        const bson::Object reply = ask(fmt::format(
            R"({{"find": "c", "filter": {}, "hint": "{}", "projection": {{"_id": 1}}}})", filter,
            name));
        if (code(reply) != 0) return fmt::format("error {}", code(reply));
        std::string ids;
        for (const bson::Element& e : reply.doc().at_path("cursor.firstBatch").as_doc())
            ids += bson::to_text(e.as_doc()["_id"]) + " ";
        return ids;
    }
    // "IXSCAN a", ...: the index that the plan of a find walks, or "COLLSCAN".
    std::string plan(const std::string& find) {
        const bson::Object reply = ask(fmt::format(
            R"({{"explain": {{"find": "c", {}}}, "verbosity": "queryPlanner"}})", find));
        const bson::Element winning = reply.doc().at_path("queryPlanner.winningPlan");
        return winning.is_object() ? access(winning.as_doc()) : bson::to_text(reply);
    }
    static std::string access(bson::Doc stage) {
        if (stage["indexName"].is_string())
            return "IXSCAN " + std::string(stage["indexName"].as_string());
        if (stage["inputStage"].is_object()) return access(stage["inputStage"].as_doc());
        if (!stage["inputStages"].is_array()) return std::string(stage["stage"].as_string());
        std::string all;
        for (const bson::Element& e : stage["inputStages"].as_doc())
            all += (all.empty() ? "" : ", ") + access(e.as_doc());
        return all;
    }
    bool valid() { return ask(R"({"validate": "c", "full": true})")["valid"].truthy(); }
};

constexpr const char* kPositive =
    R"({"key": {"a": 1}, "name": "p", "partialFilterExpression": {"b": {"$gt": 0}}})";

TEST_P(PartialIndexTest, FiltersThatQueriesCanImply) {
    const auto with = [this](const std::string& rest) {
        ask(R"({"drop": "c"})");
        return create(R"({"key": {"a": 1}, "name": "p", )" + rest + "}");
    };
    for (const char* filter :
         {"{}", R"({"b": 1})", R"({"b": {"$eq": 1}, "c": null})", R"({"b": {"$exists": true}})",
          R"({"b": {"$gt": 1, "$lte": 9}})", R"({"b": {"$type": "string"}})",
          R"({"$and": [{"b": 1}, {"c": {"$lt": 5}}]})", R"({"$or": [{"b": 1}, {"c": 1}]})",
          R"({"b": {"$in": [1, 2]}})"})
        EXPECT_EQ(with(fmt::format(R"("partialFilterExpression": {})", filter)), 0) << filter;
    for (const char* filter :
         {R"({"b": {"$exists": false}})", R"({"b": {"$ne": 1}})", R"({"b": {"$nin": [1]}})",
          R"({"b": {"$not": {"$gt": 1}}})", R"({"b": {"$size": 1}})", R"({"b": {"$all": [1]}})",
          R"({"b": {"$elemMatch": {"c": 1}}})", R"({"b": {"$mod": [2, 1]}})",
          R"({"b": {"$regex": "x"}})", R"({"$nor": [{"b": 1}]})"})
        EXPECT_EQ(with(fmt::format(R"("partialFilterExpression": {})", filter)), 67) << filter;
    EXPECT_EQ(with(R"("partialFilterExpression": {"b": {"$foo": 1}})"), 2);
    EXPECT_NE(with(R"("partialFilterExpression": 5)"), 0);
    EXPECT_EQ(with(R"("partialFilterExpression": {"b": 1}, "sparse": true)"), 67);
    EXPECT_EQ(with(R"("partialFilterExpression": {"b": 1}, "unique": true)"), 0);
    EXPECT_NE(create(R"({"key": {"_id": 1}, "name": "_id_",
                         "partialFilterExpression": {"b": 1}})"),
              0);
}

TEST_P(PartialIndexTest, HoldsWhatMatches) {
    insert(R"({"_id": 1, "a": 1, "b": 1}, {"_id": 2, "a": 2, "b": 0}, {"_id": 3, "a": 3})");
    EXPECT_EQ(create(kPositive), 0);
    EXPECT_EQ(create(R"({"key": {"x": 1}, "name": "slow", "background": true,
                         "partialFilterExpression": {"b": {"$gt": 0}}})"),
              0);
    for (const char* name : {"p", "slow"})
        EXPECT_EQ(held(name), "1 ");
    insert(R"({"_id": 4, "a": 0, "b": [0, 7]}, {"_id": 5, "a": 5, "b": "x"})");
    EXPECT_EQ(held("p"), "4 1 ");
    const auto update = [this](int id, const std::string& change) {
        EXPECT_EQ(
            code(ask(fmt::format(
                R"({{"update": "c", "updates": [{{"q": {{"_id": {}}}, "u": {}}}]}})", id, change))),
            0);
    };
    // Documents come into it and leave it, by the filter's field alone, in place and by a move.
    update(2, R"({"$inc": {"b": 1}})");
    EXPECT_EQ(held("p"), "4 1 2 ");
    update(1, R"({"$set": {"b": -1}})");
    EXPECT_EQ(held("p"), "4 2 ");
    update(3, R"({"$set": {"b": 5, "text": ")" + std::string(2000, 'x') + R"("}})");
    EXPECT_EQ(held("p"), "4 2 3 ");
    update(4, R"({"$pop": {"b": 1}})");
    EXPECT_EQ(held("p"), "2 3 ");
    ask(R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]})");
    EXPECT_EQ(held("p"), "3 ");
    EXPECT_TRUE(valid());
    EXPECT_EQ(code(ask(R"({"reIndex": "c"})")), 0);
    EXPECT_EQ(held("p"), "3 ");
    EXPECT_EQ(held("p", R"({"a": {"$lt": 3}})"), "");
    EXPECT_EQ(text(ask(R"({"count": "c", "query": {}, "hint": "p"})"), "n"), "1");
    EXPECT_TRUE(valid());
}

TEST_P(PartialIndexTest, IsUsedWhereTheQueryImpliesTheFilter) {
    EXPECT_EQ(create(kPositive), 0);
    insert(R"({"_id": 1, "a": 1, "b": 1}, {"_id": 2, "a": 1, "b": 0}, {"_id": 3, "a": 1})");
    EXPECT_EQ(plan(R"("filter": {"a": 1})"), "COLLSCAN");
    EXPECT_EQ(plan(R"("filter": {"a": 1, "b": 0})"), "COLLSCAN");
    EXPECT_EQ(plan(R"("filter": {"a": 1, "b": {"$gte": 0}})"), "COLLSCAN");
    EXPECT_EQ(plan(R"("filter": {"a": 1, "b": 3})"), "IXSCAN p");
    EXPECT_EQ(plan(R"("filter": {"$and": [{"a": 1}, {"b": {"$gt": 2}}]})"), "IXSCAN p");
    EXPECT_EQ(plan(R"("filter": {"b": 1}, "sort": {"a": 1})"), "IXSCAN p");
    EXPECT_EQ(plan(R"("filter": {}, "sort": {"a": 1})"), "COLLSCAN");
    EXPECT_EQ(plan(R"("filter": {"b": 1, "$or": [{"a": 1}, {"a": 2, "c": 1}]})"),
              "IXSCAN p, IXSCAN p");
    EXPECT_EQ(plan(R"("filter": {"$or": [{"a": 1, "b": 1}, {"a": 2, "b": 2}]})"),
              "IXSCAN p, IXSCAN p");
    EXPECT_EQ(plan(R"("filter": {"$or": [{"a": 1, "b": 1}, {"a": 2}]})"), "COLLSCAN");
    EXPECT_EQ(plan(R"("filter": {"a": 1}, "hint": "p")"), "IXSCAN p");
    EXPECT_EQ(held("p", R"({"a": 1})"), "1 ");
    const bson::Object all = ask(R"({"distinct": "c", "key": "a"})");
    EXPECT_EQ(text(all, "values"), "[ 1 ]");
    EXPECT_EQ(text(ask(R"({"count": "c", "query": {"a": 1}})"), "n"), "3");
    EXPECT_EQ(code(ask(R"({"find": "c", "filter": {"b": 1}, "min": {"a": 0}, "hint": "p"})")), 0);
}

TEST_P(PartialIndexTest, IsUniqueAmongItsDocuments) {
    EXPECT_EQ(create(R"({"key": {"mail": 1}, "name": "u", "unique": true,
                         "partialFilterExpression": {"mail": {"$exists": true}}})"),
              0);
    insert(R"({"_id": 1}, {"_id": 2}, {"_id": 3, "mail": "x"}, {"_id": 4, "mail": null})");
    const auto refused = [](const bson::Object& reply) {
        return reply["writeErrors"].is_array()
                   ? reply["writeErrors"].as_doc().first().as_doc()["code"].to_int32()
                   : 0;
    };
    EXPECT_EQ(refused(ask(R"({"insert": "c", "documents": [{"_id": 5, "mail": "x"}]})")), 11000);
    EXPECT_EQ(refused(ask(R"({"insert": "c", "documents": [{"_id": 5, "mail": null}]})")), 11000);
    EXPECT_EQ(refused(ask(R"({"update": "c", "updates": [{"q": {"_id": 1},
                              "u": {"$set": {"mail": "x"}}}]})")),
              11000);
    EXPECT_EQ(held("u"), "4 3 ");
    // A key of documents outside the index may be there twice when it is built, too.
    insert(R"({"_id": 1, "k": 1}, {"_id": 2, "k": 1}, {"_id": 3, "k": 2, "b": 1})", "d");
    const char* unique = R"({"key": {"k": 1}, "name": "k", "unique": true,
                             "partialFilterExpression": {"b": 1}})";
    EXPECT_EQ(create(unique, "d"), 0);
    insert(R"({"_id": 1, "k": 1, "b": 1}, {"_id": 2, "k": 1, "b": 1})", "e");
    EXPECT_EQ(create(unique, "e"), 11000);
}

TEST_P(PartialIndexTest, SeveralOnOneKey) {
    const auto of = [](const char* name, int value) {
        return fmt::format(
            R"({{"key": {{"a": 1}}, "name": "{}", "partialFilterExpression": {{"b": {}}}}})", name,
            value);
    };
    EXPECT_EQ(create(of("one", 1)), 0);
    EXPECT_EQ(create(of("two", 2)), 0);
    EXPECT_EQ(create(R"({"key": {"a": 1}, "name": "all"})"), 0);
    EXPECT_EQ(create(of("one", 1)), 0);
    EXPECT_EQ(create(of("one", 2)), 86);
    insert(R"({"_id": 1, "a": 1, "b": 1}, {"_id": 2, "a": 1, "b": 2}, {"_id": 3, "a": 1})");
    EXPECT_EQ(held("one"), "1 ");
    EXPECT_EQ(held("two"), "2 ");
    EXPECT_EQ(held("all"), "1 2 3 ");
    EXPECT_EQ(code(ask(R"({"dropIndexes": "c", "index": {"a": 1}})")), 2);
    EXPECT_EQ(code(ask(R"({"find": "c", "filter": {}, "hint": {"a": 1}})")), 2);
    EXPECT_EQ(code(ask(R"({"dropIndexes": "c", "index": "all"})")), 0);
    EXPECT_EQ(code(ask(R"({"dropIndexes": "c", "index": "two"})")), 0);
    EXPECT_EQ(code(ask(R"({"dropIndexes": "c", "index": {"a": 1}})")), 0);
}

TEST_P(PartialIndexTest, IsListedAsItWasAskedFor) {
    EXPECT_EQ(create(kPositive), 0);
    const auto listed = [this](const char* collection) {
        const bson::Object reply = ask(fmt::format(R"({{"listIndexes": "{}"}})", collection));
        for (const bson::Element& e : reply.doc().at_path("cursor.firstBatch").as_doc())
            if (e.as_doc()["name"].as_string() == "p")
                return bson::to_text(e.as_doc()["key"]) +
                       bson::to_text(e.as_doc()["partialFilterExpression"]);
        return std::string();
    };
    const std::string wanted = "{ a: 1 }{ b: { $gt: 0 } }";
    EXPECT_EQ(listed("c"), wanted);
    const bson::Object stats =
        ask(R"({"aggregate": "c", "pipeline": [{"$indexStats": {}}], "cursor": {}})");
    EXPECT_EQ(bson::to_text(stats).find("_partial"), std::string::npos);
    EXPECT_EQ(code(run(R"({"renameCollection": "test.c", "to": "test.r"})", "admin")), 0);
    EXPECT_EQ(listed("r"), wanted);
    EXPECT_EQ(code(run(R"({"renameCollection": "test.r", "to": "other.c"})", "admin")), 0);
    const bson::Object moved = run(R"({"listIndexes": "c"})", "other");
    EXPECT_NE(bson::to_text(moved).find("partialFilterExpression"), std::string::npos);
    EXPECT_EQ(bson::to_text(moved).find("_partial"), std::string::npos);
}

TEST_P(PartialIndexTest, ExpiresItsDocumentsOnly) {
    EXPECT_EQ(create(R"({"key": {"at": 1}, "name": "ttl", "expireAfterSeconds": 10,
                         "partialFilterExpression": {"done": true}})"),
              0);
    insert(R"({"_id": 1, "at": {"$date": {"$numberLong": "0"}}, "done": true},
              {"_id": 2, "at": {"$date": {"$numberLong": "0"}}})");
    EXPECT_EQ(code(ask(R"({"collMod": "c", "index": {"name": "ttl", "expireAfterSeconds": 5}})")),
              0);
    EXPECT_EQ(delete_expired(service_->contexts()), 1);
    EXPECT_EQ(text(ask(R"({"count": "c"})"), "n"), "1");
    EXPECT_TRUE(valid());
}

TEST_P(PartialIndexTest, DocumentsBeginToExpireByIt) {
    EXPECT_EQ(create(R"({"key": {"at": -1}, "name": "at"})"), 0);
    EXPECT_EQ(create(R"({"key": {"at": 1, "b": 1}, "name": "two"})"), 0);
    EXPECT_EQ(create(R"({"key": {"at": "hashed"}, "name": "hashed"})"), 0);
    insert(R"({"_id": 1, "at": {"$date": {"$numberLong": "0"}}}, {"_id": 2, "at": 5})");
    const auto give = [this](const char* name, const char* seconds) {
        return ask(fmt::format(
            R"({{"collMod": "c", "index": {{"name": "{}", "expireAfterSeconds": {}}}}})", name,
            seconds));
    };
    EXPECT_EQ(code(give("two", "5")), 72);
    EXPECT_EQ(code(give("hashed", "5")), 72);
    EXPECT_EQ(code(give("_id_", "5")), 72);
    EXPECT_EQ(code(give("at", "3000000000")), 72);
    EXPECT_EQ(code(give("at", "-1")), 72);
    EXPECT_EQ(delete_expired(service_->contexts()), 0);
    const bson::Object first = give("at", "7");
    EXPECT_EQ(text(first, "expireAfterSeconds_new"), "7");
    EXPECT_FALSE(first.doc().has("expireAfterSeconds_old"));
    EXPECT_EQ(text(give("at", "5"), "expireAfterSeconds_old"), "7");
    EXPECT_NE(bson::to_text(ask(R"({"listIndexes": "c"})")).find("expireAfterSeconds: 5"),
              std::string::npos);
    EXPECT_EQ(delete_expired(service_->contexts()), 1);
    EXPECT_EQ(text(ask(R"({"count": "c"})"), "n"), "1");
    EXPECT_TRUE(valid());
}

TEST_P(PartialIndexTest, AreHintsOfDistinct) {
    EXPECT_EQ(create(kPositive), 0);
    insert(R"({"_id": 1, "a": 1, "b": 1}, {"_id": 2, "a": 2, "b": 0}, {"_id": 3, "a": 3, "b": 5})");
    const auto values = [this](const char* hint, const char* of = "c") {
        const bson::Object reply =
            ask(fmt::format(R"({{"distinct": "{}", "key": "a", "hint": {}}})", of, hint));
        return code(reply) == 0 ? text(reply, "values") : fmt::format("error {}", code(reply));
    };
    EXPECT_EQ(values(R"("_id_")"), "[ 1, 2, 3 ]");
    EXPECT_EQ(values(R"("p")"), "[ 1, 3 ]");
    EXPECT_EQ(values(R"({"a": 1})"), "[ 1, 3 ]");
    EXPECT_EQ(values(R"("none")"), "error 2");
    EXPECT_EQ(values("5"), "error 14");
    EXPECT_EQ(code(ask(R"({"create": "view", "viewOn": "c", "pipeline": []})")), 0);
    EXPECT_EQ(values(R"("p")", "view"), "[ 1, 3 ]");
    EXPECT_EQ(values(R"("none")", "view"), "error 2");
    const bson::Object plan = ask(
        R"({"explain": {"distinct": "c", "key": "a", "hint": "p"}, "verbosity": "queryPlanner"})");
    EXPECT_NE(bson::to_text(plan).find("indexName: \"p\""), std::string::npos);
}

TEST_P(PartialIndexTest, HiddenOnesAreKeptUpAndNotUsed) {
    EXPECT_EQ(create(R"({"key": {"a": 1}, "name": "a", "unique": true, "hidden": true})"), 0);
    insert(R"({"_id": 1, "a": 1})");
    const auto shown = [this] {
        return bson::to_text(ask(R"({"listIndexes": "c"})")).find("hidden: true") !=
               std::string::npos;
    };
    const auto hide = [this](const char* how) {
        return ask(
            fmt::format(R"({{"collMod": "c", "index": {{"keyPattern": {{"a": 1}}, {}}}}})", how));
    };
    const auto twice = [this] {
        const bson::Object reply = ask(R"({"insert": "c", "documents": [{"a": 1}]})");
        return reply["writeErrors"].as_doc().first().as_doc()["code"].to_int32();
    };
    for (int pass = 0; pass < 2; ++pass) {
        EXPECT_TRUE(shown());
        EXPECT_EQ(plan(R"("filter": {"a": 1})"), "COLLSCAN");
        EXPECT_EQ(plan(R"("filter": {}, "sort": {"a": 1})"), "COLLSCAN");
        EXPECT_EQ(held("a"), "error 2");
        EXPECT_EQ(twice(), 11000);
        const bson::Object back = hide(R"("hidden": false)");
        EXPECT_EQ(text(back, "hidden_old") + text(back, "hidden_new"), "truefalse");
        EXPECT_FALSE(shown());
        EXPECT_EQ(plan(R"("filter": {"a": 1})"), "IXSCAN a");
        EXPECT_EQ(held("a"), "1 ");
        EXPECT_EQ(twice(), 11000);
        EXPECT_FALSE(hide(R"("hidden": false)")["hidden_new"]);
        EXPECT_TRUE(hide(R"("hidden": true)")["hidden_new"].truthy());
    }
    EXPECT_TRUE(valid());
    EXPECT_EQ(code(hide(R"("hidden": "yes")")), 14);
    EXPECT_EQ(code(hide(R"("name": "a")")), 72);
    EXPECT_EQ(code(ask(R"({"collMod": "c", "index": {"name": "_id_", "hidden": true}})")), 2);
    EXPECT_NE(create(R"({"key": {"_id": 1}, "name": "_id_", "hidden": true})"), 0);
    // The same index, whether it is hidden or not.
    EXPECT_EQ(create(R"({"key": {"a": 1}, "name": "a", "unique": true})"), 0);
    EXPECT_TRUE(shown());
}

INSTANTIATE_TEST_SUITE_P(engines, PartialIndexTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

// Requests that the old server took for something, and that today's servers refuse or mean
// otherwise: by OP_MSG it is as with those, by the old messages as it was.
#include <fmt/core.h>

#include "command/commands/testing/service.h"

namespace command {
namespace {

class OddRequestsTest : public ServiceTest {
  protected:
    OddRequestsTest() {
        run(R"({"insert": "c", "documents": [{"_id": 1, "a": 3, "list": [1, 2]}, {"_id": 2, "a": 1},
                                             {"_id": 3, "a": {"$numberDouble": "NaN"}}]})");
    }
    // Returns the error of the command, or of the first item of a write.
    int error_of(const std::string& command, const std::string& db = "test") {
        const bson::Object reply = run(command, db);
        const bson::Element errors = reply["writeErrors"];
        return errors.missing() ? code(reply) : errors.as_doc()["0"].as_doc()["code"].to_int32();
    }
    std::string found(const std::string& more) {
        const bson::Object reply = run(fmt::format(R"({{"find": "c", {}}})", more));
        if (code(reply) != 0) return fmt::format("error {}", code(reply));
        std::string ids;
        for (const bson::Element& e : reply.doc().at_path("cursor.firstBatch").as_doc())
            ids += bson::to_text(e.as_doc()["_id"]) + " ";
        return ids;
    }
};

TEST_F(OddRequestsTest, NaturalOrderStandsAlone) {
    EXPECT_EQ(found(R"("sort": {"$natural": -1})"), "3 2 1 ");
    EXPECT_EQ(found(R"("hint": {"$natural": -1.0})"), "3 2 1 ");
    for (const char* order : {R"({"$natural": 5})", R"({"$natural": 0})", R"({"$natural": "x"})",
                              R"({"$natural": 1, "a": 1})", R"({"a": 1, "$natural": 1})"}) {
        EXPECT_EQ(found(fmt::format(R"("sort": {})", order)), "error 2") << order;
        EXPECT_EQ(found(fmt::format(R"("hint": {})", order)), "error 2") << order;
        const auto hinted = [&](const char* before, const char* behind) {
            return error_of(fmt::format("{{{}, \"hint\": {}{}}}", before, order, behind));
        };
        EXPECT_EQ(hinted(R"("count": "c", "query": {})", ""), base::kBadValue) << order;
        EXPECT_EQ(hinted(R"("aggregate": "c", "pipeline": [], "cursor": {})", ""), base::kBadValue);
        EXPECT_EQ(hinted(R"("delete": "c", "deletes": [{"q": {}, "limit": 1)", "}]"),
                  base::kBadValue);
        EXPECT_EQ(hinted(R"("update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}})", "}]"),
                  base::kBadValue);
        EXPECT_EQ(
            error_of(fmt::format(R"({{"findAndModify": "c", "remove": true, "sort": {}}})", order)),
            base::kBadValue);
    }
    EXPECT_EQ(query("test.c", R"({"$query": {}, "$orderby": {"$natural": -5, "a": 1}})", 1).size(),
              1U);
}

TEST_F(OddRequestsTest, AnOrderHasAtMost32Fields) {
    std::string order;
    for (int i = 0; i < 33; ++i)
        order += fmt::format(R"({}"k{}": 1)", i == 0 ? "" : ", ", i);
    EXPECT_EQ(found("\"sort\": {" + order + "}"), "error 13103");
    EXPECT_EQ(found(R"("sort": {"$": 1})"), "error 16410");
    EXPECT_EQ(found(R"("sort": {"a.$": 1})"), "error 16410");
    EXPECT_EQ(found(R"("projection": {"$": 1})"), "error 16410");
}

TEST_F(OddRequestsTest, EndsOfAnIndexNeedAHint) {
    EXPECT_EQ(found(R"("min": {"_id": 2})"), "error 51173");
    EXPECT_EQ(found(R"("max": {"_id": 2})"), "error 51173");
    EXPECT_EQ(found(R"("min": {"_id": 2}, "hint": {"_id": 1})"), "2 3 ");
    EXPECT_EQ(found(R"("max": {"_id": 2}, "hint": "_id_")"), "1 ");
    EXPECT_EQ(query("test.c", R"({"$query": {}, "$min": {"_id": 2}})", 0).size(), 2U);
}

TEST_F(OddRequestsTest, NaNIsComparedWithNothingElse) {
    for (const bool indexed : {false, true}) {
        if (indexed) run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
        const auto ids = [this](const char* filter) {
            return found(fmt::format(R"("filter": {}, "sort": {{"_id": 1}})", filter));
        };
        EXPECT_EQ(ids(R"({"a": {"$lt": 3}})"), "2 ");
        EXPECT_EQ(ids(R"({"a": {"$gte": {"$numberDouble": "NaN"}}})"), "3 ");
        EXPECT_EQ(ids(R"({"a": {"$gt": {"$numberDouble": "NaN"}}})"), "");
        EXPECT_EQ(ids(R"({"a": {"$not": {"$lt": 3}}})"), "1 3 ");
        // Expressions have one order for all values.
        EXPECT_EQ(ids(R"({"$expr": {"$lt": ["$a", 3]}})"), "2 3 ");
        EXPECT_EQ(ids(R"({"$expr": {"$gte": ["$a", {"$numberDouble": "NaN"}]}})"), "1 2 3 ");
        EXPECT_EQ(query("test.c", R"({"a": {"$lt": 3}})", 0).size(), 2U);
    }
}

TEST_F(OddRequestsTest, AnInvalidRegularExpressionHasItsOwnCode) {
    for (const char* filter :
         {R"({"a": {"$regex": "("}})", R"({"a": {"$in": [{"$regularExpression":
                                          {"pattern": "(", "options": ""}}]}})",
          R"({"a": {"$not": {"$regex": "("}}})", R"({"$jsonSchema": {"properties":
                                                    {"a": {"pattern": "("}}}})"})
        EXPECT_EQ(found(fmt::format(R"("filter": {})", filter)), "error 51091") << filter;
    EXPECT_EQ(code(run_old(R"({"count": "c", "query": {"a": {"$regex": "("}}})")), base::kBadValue);
}

TEST_F(OddRequestsTest, WritesThatWaitForNothingAreOfOld) {
    const std::string update =
        R"({"update": "c", "updates": [{"q": {"$isolated": 1}, "u": {"$set": {"z": 1}}}]})";
    EXPECT_EQ(error_of(update), base::kBadValue);
    EXPECT_EQ(text(run_old(update), "n"), "1");
}

TEST_F(OddRequestsTest, TheIndexOnIdIsWhatItIs) {
    const auto made = [this](const char* spec) {
        return error_of(
            fmt::format(R"({{"createIndexes": "c", "indexes": [{{"name": "n", {}}}]}})", spec));
    };
    EXPECT_EQ(made(R"("key": {"_id": -1})"), base::kBadValue);
    for (const char* option : {R"("unique": true)", R"("sparse": true)", R"("background": true)",
                               R"("expireAfterSeconds": 5)", R"("hidden": true)"})
        EXPECT_EQ(made((R"("key": {"_id": 1}, )" + std::string(option)).c_str()),
                  base::kInvalidIndexSpecificationOption)
            << option;
    const bson::Object again =
        run(R"({"createIndexes": "c", "indexes": [{"key": {"_id": 1}, "name": "_id_"}]})");
    EXPECT_EQ(text(again, "numIndexesBefore"), "1");
    EXPECT_EQ(text(again, "numIndexesAfter"), "1");
    EXPECT_EQ(text(again, "note"), R"("all indexes already exist")");
    EXPECT_EQ(error_of(R"({"create": "d", "autoIndexId": false})"), base::kInvalidOptions);
    EXPECT_EQ(error_of(R"({"create": "d", "autoIndexId": true})"), 0);
    EXPECT_EQ(error_of(R"({"create": "d", "autoIndexId": false})", "local"), 0);
    EXPECT_EQ(code(run_old(R"({"create": "e", "autoIndexId": false})")), 0);
}

// Whatever the command is.
TEST_F(OddRequestsTest, BadNamesHaveOneCode) {
    const char* const kCommands[] = {
        R"({{"find": "{0}"}})",
        R"({{"count": "{0}"}})",
        R"({{"distinct": "{0}", "key": "a"}})",
        R"({{"aggregate": "{0}", "pipeline": [], "cursor": {{}}}})",
        R"({{"insert": "{0}", "documents": [{{"a": 1}}]}})",
        R"({{"update": "{0}", "updates": [{{"q": {{}}, "u": {{"a": 1}}, "upsert": true}}]}})",
        R"({{"delete": "{0}", "deletes": [{{"q": {{}}, "limit": 0}}]}})",
        R"({{"findAndModify": "{0}", "update": {{"a": 1}}, "upsert": true}})",
        R"({{"create": "{0}"}})",
        R"({{"create": "{0}", "viewOn": "c"}})",
        R"({{"create": "view", "viewOn": "{0}"}})",
        R"({{"createIndexes": "{0}", "indexes": [{{"key": {{"a": 1}}, "name": "a"}}]}})",
        R"({{"aggregate": "c", "pipeline": [{{"$out": "{0}"}}], "cursor": {{}}}})",
        R"({{"aggregate": "c", "pipeline": [{{"$merge": "{0}"}}], "cursor": {{}}}})",
        R"({{"aggregate": "c", "pipeline": [{{"$unionWith": "{0}"}}], "cursor": {{}}}})",
        R"({{"drop": "{0}"}})",
        R"({{"listIndexes": "{0}"}})",
        R"({{"cloneCollectionAsCapped": "c", "toCollection": "{0}", "size": 4096}})",
    };
    for (const char* command : kCommands) {
        const std::string asked = fmt::format(fmt::runtime(command), ".x");
        EXPECT_EQ(error_of(asked), base::kInvalidNamespace) << asked;
    }
    EXPECT_EQ(error_of(R"({"renameCollection": "test.c", "to": "test..x"})", "admin"),
              base::kInvalidNamespace);
    const std::string long_name(150, 'x');
    for (const std::string& name : {std::string("a$b"), std::string("system.nosuch"), long_name}) {
        for (const size_t i : {4, 5, 6, 7, 8, 11}) {
            const std::string asked = fmt::format(fmt::runtime(kCommands[i]), name);
            EXPECT_EQ(error_of(asked), base::kInvalidNamespace) << asked;
        }
        const std::string create = fmt::format(R"({{"create": "{}"}})", name);
        EXPECT_EQ(code(run_old(create)), base::kBadValue) << create;
    }
    EXPECT_EQ(code(run_old(R"({"create": ".x"})")), 0);
}

TEST_F(OddRequestsTest, RepliesAreThoseOfToday) {
    EXPECT_FALSE(run(R"({"distinct": "c", "key": "a"})").doc().has("stats"));
    EXPECT_FALSE(run(R"({"distinct": "none", "key": "a"})").doc().has("stats"));
    EXPECT_FALSE(run(R"({"count": "none"})").doc().has("missing"));
    EXPECT_TRUE(run_old(R"({"distinct": "c", "key": "a"})").doc().has("stats"));
    EXPECT_TRUE(run_old(R"({"count": "none"})").doc().has("missing"));
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    for (const auto& [key, cursor] : {std::pair("a", "DistinctCursor"), {"list", "BasicCursor"}}) {
        const bson::Object reply = run_old(fmt::format(R"({{"distinct": "c", "key": "{}"}})", key));
        EXPECT_EQ(reply.doc().at_path("stats.cursor").as_string(), cursor);
    }
    for (const char* sort : {R"({"$natural": 1})", R"({"a": 1})"}) {
        const bson::Object reply = run(fmt::format(
            R"({{"findAndModify": "c", "sort": {}, "update": {{"$set": {{"z": 1}}}}}})", sort));
        EXPECT_EQ(text(reply, "lastErrorObject"), "{ updatedExisting: true, n: 1 }") << sort;
    }
    EXPECT_EQ(error_of(R"({"getLog": 1})", "admin"), base::kTypeMismatch);
}

TEST_F(OddRequestsTest, ConstantsOfAnUpdateByPipeline) {
    const auto update = [this](const char* u, const char* constants) {
        return error_of(fmt::format(
            R"({{"update": "c", "let": {{"outer": 7}},
                 "updates": [{{"q": {{"_id": 1}}, "u": {}, "c": {}}}]}})",
            u, constants));
    };
    const char* const pipeline = R"([{"$set": {"x": "$$mine", "y": "$$outer"}}])";
    EXPECT_EQ(update(pipeline, R"({"mine": "$a"})"), 0);
    const bson::Object doc = query("test.c", R"({"_id": 1})", 1).at(0);
    EXPECT_EQ(text(doc, "x"), R"("$a")");  // a constant is no expression
    EXPECT_EQ(text(doc, "y"), "7");
    EXPECT_EQ(update(pipeline, "{}"), 17276);
    EXPECT_EQ(update(pipeline, R"({"Mine": 1})"), 16867);
    EXPECT_EQ(update(pipeline, R"({"": 1})"), 16866);
    EXPECT_EQ(update(R"({"$set": {"x": 1}})", R"({"mine": 1})"), 51198);
    EXPECT_EQ(update(R"({"x": 1})", R"({"mine": 1})"), 51198);
    EXPECT_EQ(update(pipeline, "1"), base::kTypeMismatch);
    // A filter does not know them.
    EXPECT_EQ(error_of(R"({"update": "c", "updates": [{"q": {"$expr": {"$eq": ["$_id", "$$mine"]}},
                           "u": [{"$set": {"x": 1}}], "c": {"mine": 1}}]})"),
              17276);
}

TEST_F(OddRequestsTest, AnExplainedUpdateIsTried) {
    const auto tried = [this](const std::string& command) {
        const bson::Object reply =
            run(fmt::format(R"({{"explain": {}, "verbosity": "executionStats"}})", command));
        if (code(reply) != 0) return fmt::format("error {}", code(reply));
        const bson::Doc stage = reply.doc().at_path("executionStats.executionStages").as_doc();
        return fmt::format("{} {} {}", text(bson::Object(stage), "nMatched"),
                           text(bson::Object(stage), "nWouldModify"),
                           text(bson::Object(stage), "nWouldUpsert"));
    };
    const auto update = [&tried](const char* item) {
        return tried(fmt::format(R"({{"update": "c", "updates": [{{{}}}]}})", item));
    };
    EXPECT_EQ(update(R"("q": {}, "u": {"$set": {"a": 1}}, "multi": true)"), "3 2 0");
    EXPECT_EQ(update(R"("q": {}, "u": {"$set": {"a": 1}})"), "1 1 0");
    EXPECT_EQ(update(R"("q": {"_id": 9}, "u": {"$set": {"a": 1}}, "upsert": true)"), "0 0 1");
    EXPECT_EQ(update(R"("q": {"_id": 9}, "u": {"$set": {"a": 1}})"), "0 0 0");
    EXPECT_EQ(update(R"("q": {"list": 2}, "u": {"$set": {"list.$": 5}})"), "1 1 0");
    EXPECT_EQ(update(R"("q": {"_id": 1}, "u": [{"$set": {"a": "$$k"}}], "c": {"k": 3})"), "1 0 0");
    EXPECT_EQ(update(R"("q": {}, "u": {"$nosuch": {"a": 1}})"), "error 9");
    EXPECT_EQ(tried(R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"a": 1}}})"),
              "1 1 0");
    EXPECT_EQ(text(query("test.c", R"({"_id": 1})", 1).at(0), "a"), "3");
}

}  // namespace
}  // namespace command

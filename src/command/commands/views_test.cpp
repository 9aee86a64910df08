// Views as clients see them: made, listed, read by every command that reads, refused to the others.
#include <fmt/core.h>

#include "base/error.h"
#include "command/commands/testing/service.h"

namespace command {
namespace {

class ViewTest : public EachEngineTest {
  protected:
    bson::Object ask(const std::string& command, std::string_view db = "test") {
        return run(bson::parse_test_json(command), db);
    }
    int make(const std::string& name, const std::string& on, const std::string& pipeline = "[]") {
        return code(ask(fmt::format(R"({{"create": "{}", "viewOn": "{}", "pipeline": {}}})", name,
                                    on, pipeline)));
    }
    void fill() {
        ask(R"({"insert": "c", "documents": [
                {"_id": 1, "a": 1, "b": [1, 2], "w": "x"}, {"_id": 2, "a": 2, "b": 3, "w": "x"},
                {"_id": 3, "a": 3, "w": "y"}, {"_id": 4, "a": 4, "b": [], "w": "y"}]})");
        ASSERT_EQ(make("v", "c", R"([{"$match": {"a": {"$gt": 1}}}, {"$project": {"w": 0}}])"), 0);
    }
    // The documents of a cursor's first batch, or the error's code.
    std::string documents(const std::string& command) {
        const bson::Object reply = ask(command);
        if (code(reply) != 0) return fmt::format("error {}", code(reply));
        return bson::to_text(reply.doc().at_path("cursor.firstBatch"));
    }
    int failure(const std::string& command) {
        const bson::Object reply = ask(command);
        if (code(reply) != 0) return code(reply);
        return reply.doc().at_path("writeErrors.0.code").to_int32();
    }
    std::string listed() {
        return text(ask(R"({"listCollections": 1, "filter": {"type": "view"}})"), "cursor");
    }
};

TEST_P(ViewTest, AreListedAndKept) {
    fill();
    const char* const expected =
        "{ firstBatch: [ { name: \"v\", type: \"view\", options: { viewOn: \"c\", "
        "pipeline: [ { $match: { a: { $gt: 1 } } }, { $project: { w: 0 } } ] }, "
        "info: { readOnly: true } } ], id: 0, ns: \"test.$cmd.listCollections\" }";
    EXPECT_EQ(listed(), expected);
    EXPECT_EQ(documents(R"({"find": "system.views"})"),
              "[ { _id: \"test.v\", viewOn: \"c\", pipeline: [ { $match: { a: { $gt: 1 } } }, "
              "{ $project: { w: 0 } } ] } ]");
    {
        const storage::GlobalLock lock(service_->locks(), storage::GlobalMode::W);
        catalog_->close_database("test");
    }
    EXPECT_EQ(listed(), expected);
    EXPECT_EQ(code(ask(R"({"collMod": "v", "viewOn": "c", "pipeline": []})")), 0);
    EXPECT_EQ(ask(R"({"count": "v"})")["n"].to_int32(), 4);
    const bson::Object dropped = ask(R"({"drop": "v"})");
    EXPECT_EQ(text(dropped, "ns"), "\"test.v\"");
    EXPECT_FALSE(ask(R"({"drop": "v"})").doc().has("ns")) << "nothing is there";
    EXPECT_EQ(documents(R"({"find": "system.views"})"), "[]");
    EXPECT_EQ(ask(R"({"count": "c"})")["n"].to_int32(), 4);
    // The name is free again.
    EXPECT_EQ(failure(R"({"insert": "v", "documents": [{"_id": 1}]})"), 0);
}

TEST_P(ViewTest, AreReadLikeCollections) {
    fill();
    EXPECT_EQ(documents(R"({"find": "v", "filter": {"a": {"$lt": 4}}, "sort": {"a": -1},
                            "projection": {"b": 0}})"),
              "[ { _id: 3, a: 3 }, { _id: 2, a: 2 } ]");
    EXPECT_EQ(documents(R"({"find": "v", "filter": {"_id": 1}})"), "[]");
    EXPECT_EQ(documents(R"({"find": "v", "sort": {"a": 1}, "skip": 1, "limit": 1,
                            "projection": {"a": 1, "_id": 0}})"),
              "[ { a: 3 } ]");
    EXPECT_EQ(documents(R"({"aggregate": "v", "cursor": {}, "pipeline": [
                            {"$group": {"_id": null, "sum": {"$sum": "$a"}}}]})"),
              "[ { _id: null, sum: 9 } ]");
    EXPECT_EQ(text(ask(R"({"count": "v", "query": {"a": {"$ne": 2}}})"), "n"), "2");
    EXPECT_EQ(text(ask(R"({"count": "v", "skip": 1})"), "n"), "2");
    EXPECT_EQ(text(ask(R"({"count": "v", "limit": 1})"), "n"), "1");
    EXPECT_EQ(text(ask(R"({"count": "v", "query": {"a": 99}})"), "n"), "0");
    EXPECT_EQ(text(ask(R"({"distinct": "v", "key": "b"})"), "values"), "[ 3 ]");
    EXPECT_EQ(text(ask(R"({"distinct": "v", "key": "w"})"), "values"), "[]");
    ASSERT_EQ(make("all", "c"), 0);
    EXPECT_EQ(text(ask(R"({"distinct": "all", "key": "b"})"), "values"), "[ 1, 2, 3 ]");
    // A view of a collection that does not exist is empty.
    ASSERT_EQ(make("empty", "nothing"), 0);
    EXPECT_EQ(documents(R"({"find": "empty"})"), "[]");
    EXPECT_EQ(text(ask(R"({"count": "empty"})"), "n"), "0");
    for (const char* rest :
         {R"("tailable": true)", R"("showRecordId": true)", R"("returnKey": true)",
          R"("min": {"_id": 1}, "hint": {"_id": 1})", R"("projection": {"b": {"$slice": 1}})",
          R"("projection": {"b.$": 1}, "filter": {"b": 1})"})
        EXPECT_EQ(documents(fmt::format(R"({{"find": "v", {}}})", rest)), "error 168") << rest;
}

TEST_P(ViewTest, CursorsGoOn) {
    fill();
    const bson::Object first = ask(R"({"find": "v", "batchSize": 1, "sort": {"a": 1}})");
    const bson::Element id = first.doc().at_path("cursor.id");
    EXPECT_EQ(bson::to_text(first.doc().at_path("cursor.ns")), "\"test.v\"");
    ASSERT_NE(id.to_int64(), 0);
    bson::Builder more;
    more.append("getMore", id.to_int64()).append("collection", "v").append("batchSize", 1);
    EXPECT_EQ(bson::to_text(run(more.object()).doc().at_path("cursor.nextBatch.0._id")), "3");
    bson::Builder elsewhere;
    elsewhere.append("getMore", id.to_int64()).append("collection", "c");
    EXPECT_NE(code(run(elsewhere.object())), 0);
    const bson::Object single = ask(R"({"find": "v", "batchSize": 1, "singleBatch": true})");
    EXPECT_EQ(single.doc().at_path("cursor.id").to_int64(), 0);
    ask(R"({"drop": "c"})");
    bson::Builder gone;
    gone.append("getMore", id.to_int64()).append("collection", "v");
    EXPECT_NE(code(run(gone.object())), 0);
}

TEST_P(ViewTest, StandOnViews) {
    fill();
    ASSERT_EQ(make("w", "v", R"([{"$match": {"a": {"$lt": 4}}}])"), 0);
    EXPECT_EQ(documents(R"({"find": "w", "sort": {"a": 1}, "projection": {"_id": 1}})"),
              "[ { _id: 2 }, { _id: 3 } ]");
    EXPECT_EQ(make("c", "w"), base::kNamespaceExists);
    EXPECT_EQ(make("self", "self"), base::kGraphContainsCycle);
    ASSERT_EQ(make("one", "two"), 0);
    EXPECT_EQ(make("two", "one"), base::kGraphContainsCycle);
    EXPECT_EQ(make("two", "c", R"([{"$lookup": {"from": "one", "as": "x", "pipeline": []}}])"),
              base::kGraphContainsCycle);
    EXPECT_EQ(failure(R"({"collMod": "v", "viewOn": "w", "pipeline": []})"),
              base::kGraphContainsCycle);
    std::string below = "c";
    for (int i = 1; i <= 20; ++i) {
        const std::string name = fmt::format("deep{}", i);
        ASSERT_EQ(make(name, below), 0) << name;
        below = name;
    }
    EXPECT_EQ(documents(R"({"find": "deep20", "filter": {"_id": 1}, "projection": {"a": 1}})"),
              "[ { _id: 1, a: 1 } ]");
    EXPECT_EQ(make("deep21", below), base::kViewDepthLimitExceeded);
    // The same from below: what was a collection becomes a view.
    EXPECT_EQ(failure(R"({"collMod": "deep1", "viewOn": "w", "pipeline": []})"),
              base::kViewDepthLimitExceeded);
}

TEST_P(ViewTest, AreJoined) {
    fill();
    ask(R"({"insert": "d", "documents": [{"_id": 1, "k": 2}, {"_id": 2, "k": 1}]})");
    const std::string lookup = R"({"aggregate": "d", "cursor": {}, "pipeline": [
        {"$lookup": {"from": "v", "localField": "k", "foreignField": "a", "as": "x"}},
        {"$sort": {"_id": 1}}]})";
    EXPECT_EQ(documents(lookup),
              "[ { _id: 1, k: 2, x: [ { _id: 2, a: 2, b: 3 } ] }, { _id: 2, k: 1, x: [] } ]");
    EXPECT_EQ(documents(R"({"aggregate": "d", "cursor": {}, "pipeline": [
        {"$lookup": {"from": "v", "let": {"k": "$k"}, "as": "x", "pipeline": [
            {"$match": {"$expr": {"$eq": ["$a", "$$k"]}}}, {"$project": {"a": 1}}]}},
        {"$sort": {"_id": 1}}]})"),
              "[ { _id: 1, k: 2, x: [ { _id: 2, a: 2 } ] }, { _id: 2, k: 1, x: [] } ]");
    EXPECT_EQ(documents(R"({"aggregate": "d", "cursor": {}, "pipeline": [
        {"$match": {"_id": 1}},
        {"$graphLookup": {"from": "v", "startWith": "$k", "connectFromField": "b",
                          "connectToField": "a", "as": "x"}},
        {"$unwind": "$x"}, {"$sort": {"x._id": 1}}, {"$project": {"x": "$x._id"}}]})"),
              "[ { _id: 1, x: 2 }, { _id: 1, x: 3 } ]");
    // A view that joins a view.
    ASSERT_EQ(make("joined", "d", R"([{"$lookup": {"from": "v", "localField": "k",
                                       "foreignField": "a", "as": "x"}}])"),
              0);
    EXPECT_EQ(documents(R"({"find": "joined", "filter": {"x._id": 2}, "projection": {"k": 1}})"),
              "[ { _id: 1, k: 2 } ]");
    EXPECT_EQ(documents(R"({"aggregate": "d", "cursor": {}, "pipeline": [
        {"$match": {"_id": 1}}, {"$lookup": {"from": "joined", "localField": "_id",
                                             "foreignField": "x.a", "as": "y"}}]})"),
              "[ { _id: 1, k: 2, y: [] } ]");
}

TEST_P(ViewTest, UseTheIndexesBelow) {
    fill();
    ask(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
    ASSERT_EQ(make("plain", "c", R"([{"$match": {"w": "y"}}])"), 0);
    const std::string plan = bson::to_text(
        ask(R"({"explain": {"find": "plain", "filter": {"a": 3}}, "verbosity": "queryPlanner"})"));
    EXPECT_NE(plan.find("a_1"), std::string::npos) << plan;
    EXPECT_EQ(documents(R"({"find": "plain", "filter": {"a": 3}, "projection": {"w": 1}})"),
              "[ { _id: 3, w: \"y\" } ]");
}

TEST_P(ViewTest, AreNotChanged) {
    fill();
    for (const char* command :
         {R"({"insert": "v", "documents": [{"_id": 9}]})",
          R"({"update": "v", "updates": [{"q": {}, "u": {"$set": {"a": 9}}}]})",
          R"({"update": "v", "updates": [{"q": {}, "u": {"$set": {"a": 9}}, "upsert": true}]})",
          R"({"delete": "v", "deletes": [{"q": {}, "limit": 0}]})",
          R"({"findAndModify": "v", "query": {}, "remove": true})",
          R"({"findAndModify": "v", "query": {}, "update": {"$set": {"a": 1}}, "upsert": true})",
          R"({"createIndexes": "v", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})",
          R"({"dropIndexes": "v", "index": "*"})", R"({"listIndexes": "v"})", R"({"reIndex": "v"})",
          R"({"compact": "v"})", R"({"validate": "v"})", R"({"collStats": "v"})",
          R"({"convertToCapped": "v", "size": 10000})",
          R"({"cloneCollectionAsCapped": "v", "toCollection": "z", "size": 10000})",
          R"({"aggregate": "c", "pipeline": [{"$out": "v"}], "cursor": {}})",
          R"({"aggregate": "v", "pipeline": [{"$indexStats": {}}], "cursor": {}})",
          R"({"aggregate": "v", "pipeline": [{"$collStats": {"count": {}}}], "cursor": {}})",
          R"({"explain": {"delete": "v", "deletes": [{"q": {}, "limit": 0}]}})"})
        EXPECT_EQ(failure(command), base::kCommandNotSupportedOnView) << command;
    EXPECT_EQ(code(ask(R"({"renameCollection": "test.v", "to": "test.z"})", "admin")),
              base::kCommandNotSupportedOnView);
    EXPECT_EQ(code(ask(R"({"renameCollection": "test.c", "to": "test.v"})", "admin")),
              base::kNamespaceExists);
    EXPECT_EQ(
        code(ask(R"({"renameCollection": "test.c", "to": "test.v", "dropTarget": true})", "admin")),
        base::kNamespaceExists);
    EXPECT_EQ(failure(R"({"create": "v"})"), base::kNamespaceExists);
    EXPECT_EQ(make("v", "c"), base::kNamespaceExists);
    EXPECT_EQ(failure(R"({"collMod": "v", "validator": {"a": 1}})"), base::kInvalidOptions);
    EXPECT_EQ(failure(R"({"collMod": "c", "viewOn": "d", "pipeline": []})"), base::kInvalidOptions);
    EXPECT_EQ(failure(R"({"collMod": "v", "viewOn": "d"})"), base::kInvalidOptions);
    EXPECT_NE(failure(R"({"insert": "system.views", "documents": [{"_id": 9}]})"), 0);
    EXPECT_EQ(ask(R"({"count": "v"})")["n"].to_int32(), 3);
    EXPECT_EQ(ask(R"({"count": "c"})")["n"].to_int32(), 4);
}

TEST_P(ViewTest, AreCheckedBeforeTheyAreKept) {
    EXPECT_EQ(make("v", "c", R"([{"$out": "d"}])"), base::kOptionNotSupportedOnView);
    EXPECT_EQ(make("v", "c", R"([{"$foo": 1}])"), 40324);
    EXPECT_EQ(make("v", "c", R"([5])"), base::kTypeMismatch);
    EXPECT_EQ(make("v", ""), base::kBadValue);
    EXPECT_EQ(make("v", "a$b"), base::kInvalidNamespace);
    EXPECT_NE(make("system.v", "c"), 0);
    EXPECT_EQ(failure(R"({"create": "v", "pipeline": []})"), base::kInvalidOptions);
    EXPECT_EQ(failure(R"({"create": "v", "viewOn": "c", "capped": true, "size": 5000})"),
              base::kInvalidOptions);
    EXPECT_EQ(failure(R"({"create": "v", "viewOn": "c", "validator": {"a": 1}})"),
              base::kInvalidOptions);
    EXPECT_EQ(failure(R"({"create": "v", "viewOn": 5})"), base::kTypeMismatch);
    // These have left nothing, not even a database.
    EXPECT_EQ(catalog_->database_names(), std::vector<std::string>());
    EXPECT_EQ(failure(R"({"create": "v", "viewOn": "c"})"), 0);
}

TEST_P(ViewTest, OldMessagesAreRefused) {
    fill();
    const std::vector<bson::Object> found = query("test.v", "{}", 0);
    ASSERT_EQ(found.size(), 1);
    EXPECT_EQ(found[0]["code"].to_int32(), base::kCommandNotSupportedOnView);
    EXPECT_EQ(code(run_old(R"({"count": "v"})")), base::kCommandNotSupportedOnView);
    insert_old("test.v", {R"({"_id": 9})"});
    EXPECT_EQ(run_old(R"({"getLastError": 1})")["code"].to_int32(),
              base::kCommandNotSupportedOnView);
    EXPECT_EQ(ask(R"({"count": "v"})")["n"].to_int32(), 3);
}

// An old server may have made one.
TEST_P(ViewTest, ACollectionGoesBeforeAViewOfItsName) {
    fill();
    {
        const storage::GlobalLock lock(service_->locks(), storage::GlobalMode::W);
        catalog::Database& db = *catalog_->database("test");
        storage::CollectionOptions options;
        options.id_index = false;
        db.store().create_collection("test.v", options).records().insert(bson::make("_id", 7));
        catalog_->close_database("test");
    }
    EXPECT_EQ(documents(R"({"find": "v"})"), "[ { _id: 7 } ]");
    EXPECT_EQ(failure(R"({"insert": "v", "documents": [{"_id": 8}]})"), 0);
    EXPECT_EQ(code(ask(R"({"drop": "v"})")), 0);
    EXPECT_EQ(ask(R"({"count": "v"})")["n"].to_int32(), 3);
}

INSTANTIATE_TEST_SUITE_P(engines, ViewTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

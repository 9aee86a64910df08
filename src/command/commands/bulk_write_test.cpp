// bulkWrite, and an update with a sort: what they do to collections, what they answer, and what
// leaves everything as it was.
#include <fmt/core.h>

#include "base/error.h"
#include "command/commands/testing/service.h"

namespace command {
namespace {

class BulkWriteTest : public EachEngineTest {
  protected:
    // Over the collections test.a and other.b.
    bson::Object bulk(const std::string& ops, const std::string& more = "") {
        return run(fmt::format(
                       R"({{"bulkWrite": 1, "ops": {}, "nsInfo": [{{"ns": "test.a"}},
                            {{"ns": "other.b"}}]{}}})",
                       ops, more),
                   "admin");
    }
    std::string results(const bson::Object& reply) {
        return bson::to_text(reply.doc().at_path("cursor.firstBatch"));
    }
    std::string counts(const bson::Object& reply) {
        std::string text;
        for (const char* name :
             {"nErrors", "nInserted", "nMatched", "nModified", "nUpserted", "nDeleted"})
            text += fmt::format("{} ", reply[name].to_int64());
        return text;
    }
    std::string found(const std::string& collection, const std::string& db = "test") {
        const bson::Object reply =
            run(fmt::format(R"({{"find": "{}", "sort": {{"_id": 1}}}})", collection), db);
        return bson::to_text(reply.doc().at_path("cursor.firstBatch"));
    }
};

TEST_P(BulkWriteTest, DoesEachKindInItsCollection) {
    const bson::Object reply = bulk(R"([
        {"insert": 0, "document": {"_id": 1, "x": 1}},
        {"insert": 1, "document": {"_id": 1}},
        {"insert": 0, "document": {"_id": 2, "x": 2}},
        {"update": 0, "filter": {}, "updateMods": {"$inc": {"x": 10}}, "multi": true},
        {"update": 1, "filter": {"_id": 7}, "updateMods": {"y": 1}, "upsert": true},
        {"update": 0, "filter": {"_id": 1}, "updateMods": [{"$set": {"z": "$x"}}]},
        {"delete": 0, "filter": {"x": 12}},
        {"delete": 1, "filter": {"q": 1}, "multi": true}])");
    EXPECT_EQ(code(reply), 0);
    EXPECT_EQ(counts(reply), "0 3 3 3 1 1 ");
    EXPECT_EQ(results(reply),
              "[ { ok: 1.0, idx: 0, n: 1 }, { ok: 1.0, idx: 1, n: 1 }, { ok: 1.0, idx: 2, n: 1 }, "
              "{ ok: 1.0, idx: 3, n: 2, nModified: 2 }, "
              "{ ok: 1.0, idx: 4, n: 1, nModified: 0, upserted: { _id: 7 } }, "
              "{ ok: 1.0, idx: 5, n: 1, nModified: 1 }, { ok: 1.0, idx: 6, n: 1 }, "
              "{ ok: 1.0, idx: 7, n: 0 } ]");
    EXPECT_EQ(reply.doc().at_path("cursor.ns").as_string(), "admin.$cmd.bulkWrite");
    EXPECT_EQ(reply.doc().at_path("cursor.id").to_int64(), 0);
    EXPECT_EQ(found("a"), "[ { _id: 1, x: 11, z: 11 } ]");
    EXPECT_EQ(found("b", "other"), "[ { _id: 1 }, { _id: 7, y: 1 } ]");
}

TEST_P(BulkWriteTest, ErrorsEndItOrDoNot) {
    const std::string ops = R"([
        {"insert": 0, "document": {"_id": 1}}, {"insert": 0, "document": {"_id": 1}},
        {"update": 0, "filter": {"_id": 1}, "updateMods": {"$set": {"_id": 2}}},
        {"insert": 0, "document": {"_id": 3}}])";
    const bson::Object ordered = bulk(ops);
    EXPECT_EQ(counts(ordered), "1 1 0 0 0 0 ");
    const bson::Doc error = ordered.doc().at_path("cursor.firstBatch.1").as_doc();
    EXPECT_EQ(error["ok"].to_double(), 0);
    EXPECT_EQ(error["idx"].to_int32(), 1);
    EXPECT_EQ(error["code"].to_int32(), base::kDuplicateKey);
    EXPECT_EQ(bson::to_text(error["keyValue"]), "{ _id: 1 }");
    EXPECT_EQ(found("a"), "[ { _id: 1 } ]");
    const bson::Object unordered = bulk(ops, R"(, "ordered": false, "errorsOnly": true)");
    EXPECT_EQ(counts(unordered), "3 1 0 0 0 0 ");
    EXPECT_EQ(unordered.doc().at_path("cursor.firstBatch").as_doc().field_count(), 3);
    EXPECT_EQ(unordered.doc().at_path("cursor.firstBatch.2.nModified").to_int64(), 0);
    EXPECT_EQ(found("a"), "[ { _id: 1 }, { _id: 3 } ]");
}

TEST_P(BulkWriteTest, ResultsComeByACursor) {
    std::string ops;
    for (int i = 0; i < 5; ++i)
        ops += fmt::format(R"({}{{"insert": 0, "document": {{"_id": {}}}}})", i > 0 ? "," : "", i);
    const bson::Object reply = bulk("[" + ops + "]", R"(, "cursor": {"batchSize": 2})");
    EXPECT_EQ(reply.doc().at_path("cursor.firstBatch").as_doc().field_count(), 2);
    const int64_t id = reply.doc().at_path("cursor.id").to_int64();
    ASSERT_NE(id, 0);
    const bson::Object more =
        run(fmt::format(R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "$cmd.bulkWrite"}})",
                        id),
            "admin");
    EXPECT_EQ(bson::to_text(more.doc().at_path("cursor.nextBatch")),
              "[ { ok: 1.0, idx: 2, n: 1 }, { ok: 1.0, idx: 3, n: 1 }, { ok: 1.0, idx: 4, n: 1 } "
              "]");
}

TEST_P(BulkWriteTest, WhatIsMalformedDoesNothing) {
    struct Case {
        const char* ops;
        const char* more;
        int code;
    };
    const std::string good = R"({"insert": 0, "document": {"_id": 1}}, )";
    for (const Case& one : std::initializer_list<Case>{
             {R"({"insert": 2, "document": {}})", "", base::kBadValue},
             {R"({"insert": -1, "document": {}})", "", base::kBadValue},
             {R"({"insert": "0", "document": {}})", "", base::kTypeMismatch},
             {R"({"insert": 0})", "", 40414},
             {R"({"insert": 0, "document": {}, "filter": {}})", "", 40415},
             {R"({"insert": 0, "document": 5})", "", base::kTypeMismatch},
             {R"({"upsert": 0})", "", base::kFailedToParse},
             {R"({"update": 0, "filter": {}})", "", 40414},
             {R"({"update": 0, "filter": {}, "updateMods": 5})", "", base::kTypeMismatch},
             {R"({"update": 0, "filter": {}, "updateMods": {"$set": {"a": 1}}, "multi": true,
                  "sort": {"a": 1}})",
              "", base::kFailedToParse},
             {R"({"update": 0, "filter": {}, "updateMods": {"a": 1}, "constants": {"c": 1}})", "",
              51198},
             {R"({"delete": 0})", "", 40414},
             {R"({"delete": 0, "filter": {}, "multi": 1})", "", base::kTypeMismatch},
             {R"({"delete": 0, "filter": {}})", R"(, "ordered": 1)", base::kTypeMismatch},
             {R"({"delete": 0, "filter": {}})", R"(, "nosuch": 1)", 40415},
             {R"({"delete": 0, "filter": {}})", R"(, "cursor": {"batchSize": -1})", 51024},
         }) {
        EXPECT_EQ(code(bulk("[" + good + one.ops + "]", one.more)), one.code) << one.ops;
        EXPECT_EQ(found("a"), "[]") << one.ops;
    }
    EXPECT_EQ(code(bulk("[]")), base::kInvalidLength);
    const auto into = [this](const char* ns) {
        return code(run(fmt::format(R"({{"bulkWrite": 1, "nsInfo": [{{"ns": "{}"}}],
                                         "ops": [{{"insert": 0, "document": {{}}}}]}})",
                                    ns),
                        "admin"));
    };
    for (const char* ns : {"", "test", "test.", ".a", "test..a", "te st.a", "test.$x",
                           "test.system.indexes", "test.system.profile"})
        EXPECT_EQ(into(ns), base::kInvalidNamespace) << ns;
    EXPECT_EQ(code(run(R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}],
                           "nsInfo": [{"ns": "test.a"}]})")),
              base::kUnauthorized)
        << "of admin alone";
}

TEST_P(BulkWriteTest, VariablesReachItsFilters) {
    bulk(R"([{"insert": 0, "document": {"_id": 1, "x": 1}},
             {"insert": 0, "document": {"_id": 2, "x": 2}}])");
    EXPECT_EQ(counts(bulk(R"([{"delete": 0, "filter": {"$expr": {"$eq": ["$x", "$$wanted"]}}},
                              {"update": 0, "filter": {}, "updateMods": [{"$set": {"y": "$$c"}}],
                               "constants": {"c": 5}}])",
                          R"(, "let": {"wanted": 2})")),
              "0 0 1 1 0 1 ");
    EXPECT_EQ(found("a"), "[ { _id: 1, x: 1, y: 5 } ]");
}

TEST_P(BulkWriteTest, AnUpdateMayChooseByASort) {
    const auto update = [this](const std::string& item) {
        return run(fmt::format(R"({{"update": "a", "updates": [{}]}})", item));
    };
    run(R"({"insert": "a", "documents": [{"_id": 1, "v": 5}, {"_id": 2, "v": 7}, {"_id": 3}]})");
    for (const char* index : {"", R"({"v": 1})"}) {
        if (*index != '\0')
            run(fmt::format(R"({{"createIndexes": "a", "indexes": [{{"key": {}, "name": "v"}}]}})",
                            index));
        update(R"({"q": {}, "u": {"$set": {"hit": 1}}, "sort": {"v": -1}})");
        EXPECT_EQ(found("a"), "[ { _id: 1, v: 5 }, { _id: 2, v: 7, hit: 1 }, { _id: 3 } ]");
        update(R"({"q": {"v": {"$exists": true}}, "u": {"$unset": {"hit": 1}},
                   "sort": {"hit": -1, "v": 1}})");
        EXPECT_EQ(found("a"), "[ { _id: 1, v: 5 }, { _id: 2, v: 7 }, { _id: 3 } ]");
    }
    EXPECT_EQ(update(R"({"q": {"v": 99}, "u": {"$set": {"w": 1}}, "sort": {"v": 1},
                         "upsert": true})")["n"]
                  .to_int64(),
              1);
    EXPECT_EQ(found("a").find("v: 99") != std::string::npos, true);
    const auto refused = [&](const std::string& item) {
        const bson::Object reply = update(item);
        return code(reply) != 0 ? code(reply)
                                : reply.doc().at_path("writeErrors.0.code").to_int32();
    };
    EXPECT_EQ(refused(R"({"q": {}, "u": {"$set": {"a": 1}}, "sort": {"v": 1}, "multi": true})"),
              base::kFailedToParse);
    EXPECT_EQ(refused(R"({"q": {}, "u": {"$set": {"a": 1}}, "sort": {"v": 2}})"), 15975);
    EXPECT_EQ(refused(R"({"q": {}, "u": {"$set": {"a": 1}}, "sort": 1})"), base::kTypeMismatch);
}

INSTANTIATE_TEST_SUITE_P(engines, BulkWriteTest, kTestEngines, engine_name);

// Texts of errors are left out for the bytes of errors alone, as in the other write commands.
TEST_P(BulkWriteTest, ManyResultsTakeNoTextFromAnError) {
    constexpr int kOperations = 40'000;  // over 1 MB of results
    bson::Builder command;
    command.append("bulkWrite", 1).append("ordered", false);
    {
        bson::Builder ops = command.sub_array("ops");
        for (int i = 0; i < kOperations; ++i)
            ops.push(bson::make("delete", 0, "filter", bson::make("_id", -1)));
        for (int i = 0; i < 2; ++i)
            ops.push(bson::make("insert", 0, "document", bson::make("_id", 1)));
    }
    {
        bson::Builder targets = command.sub_array("nsInfo");
        targets.push(bson::make("ns", "test.a"));
    }
    const bson::Object reply = run(command.object(), "admin");
    ASSERT_EQ(counts(reply), "1 1 0 0 0 0 ");
    std::string text;
    int64_t bytes = 0;
    for (const bson::Element& e : reply.doc().at_path("cursor.firstBatch").as_doc()) {
        bytes += e.as_doc().size();
        if (e.as_doc()["ok"].to_double() == 0) text = e.as_doc()["errmsg"].as_string();
    }
    EXPECT_GT(bytes, 1 << 20);
    EXPECT_TRUE(text.starts_with("E11000")) << text;
}

// The command has a line of its own, in admin; its operations have theirs where they work.
TEST_P(BulkWriteTest, EachOperationHasALineInTheProfile) {
    for (const char* db : {"test", "other"})
        ASSERT_EQ(code(run(R"({"profile": 2})", db)), 0);
    bulk(R"([{"insert": 0, "document": {"_id": 1}},
             {"insert": 0, "document": {"_id": 2}},
             {"insert": 1, "document": {"_id": 1}},
             {"insert": 1, "document": {"_id": 1}},
             {"update": 0, "filter": {}, "updateMods": {"$set": {"x": 1}}, "multi": true},
             {"delete": 0, "filter": {"_id": 2}}])",
         R"(, "ordered": false)");
    for (const char* db : {"test", "other"})
        ASSERT_EQ(code(run(R"({"profile": 0})", db)), 0);
    const auto lines = [this](const char* db, const char* collection) {
        const bson::Object reply =
            run(fmt::format(R"({{"find": "system.profile", "filter": {{"ns": "{}.{}"}}}})", db,
                            collection),
                db);
        std::string text;
        for (const bson::Element& e : reply.doc().at_path("cursor.firstBatch").as_doc()) {
            const bson::Doc line = e.as_doc();
            text += fmt::format("{} {}", line["op"].as_string(), bson::to_text(line["command"]));
            for (const char* metric :
                 {"ninserted", "nMatched", "nModified", "ndeleted", "exceptionCode"})
                if (const bson::Element value = line[metric])
                    text += fmt::format(" {}:{}", metric, value.to_int64());
            text += "; ";
        }
        return text;
    };
    EXPECT_EQ(lines("test", "a"),
              "insert { insert: 0, document: { _id: 1 } } ninserted:1; "
              "insert { insert: 0, document: { _id: 2 } } ninserted:1; "
              "update { update: 0, filter: {}, updateMods: { $set: { x: 1 } }, multi: true } "
              "nMatched:2 nModified:2; "
              "remove { delete: 0, filter: { _id: 2 } } ndeleted:1; ");
    EXPECT_EQ(lines("other", "b"),
              "insert { insert: 1, document: { _id: 1 } } ninserted:1; "
              "insert { insert: 1, document: { _id: 1 } } exceptionCode:11000; ");
}

}  // namespace
}  // namespace command

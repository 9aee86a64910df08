// Commands and the old opcodes, served by a session over each engine.
#include <limits>

#include "command/commands/testing/service.h"
#include "command/write/ttl.h"
#include "options/server_parameters.h"

namespace command {
namespace {

class CommandsTest : public EachEngineTest {
  protected:
    int index_count() {
        const bson::Object reply = run(R"({"listIndexes": "c"})");
        return reply.doc().at_path("cursor.firstBatch").as_doc().field_count();
    }
};

class DurableCommandsTest : public EachEngineTest {
  protected:
    DurableCommandsTest() : EachEngineTest(true) {}
};

TEST_P(CommandsTest, GreetsInThreeSpellings) {
    EXPECT_EQ(text(run(R"({"ismaster": 1})"), "ismaster"), "true");
    EXPECT_EQ(text(run_old(R"({"isMaster": true})"), "ismaster"), "true");
    const bson::Object hello = run(R"({"hello": 1, "helloOk": true})");
    EXPECT_EQ(hello["isWritablePrimary"].type(), bson::Type::boolean);
    EXPECT_EQ(hello["helloOk"].type(), bson::Type::boolean);
    EXPECT_EQ(hello["maxWireVersion"].type(), bson::Type::int32);
    EXPECT_EQ(hello["ok"].type(), bson::Type::number_double);
    EXPECT_EQ(hello["logicalSessionTimeoutMinutes"].type(), bson::Type::int32);
}

TEST_P(CommandsTest, UnknownCommandsAndMisplacedOnes) {
    const bson::Object unknown = run(R"({"nosuch": 1})");
    EXPECT_EQ(code(unknown), base::kCommandNotFound);
    EXPECT_EQ(text(unknown, "errmsg"), R"("no such cmd: nosuch")");
    EXPECT_EQ(text(unknown, "codeName"), R"("CommandNotFound")");
    EXPECT_EQ(code(run(R"({"listDatabases": 1})")), base::kUnauthorized);
    EXPECT_EQ(code(run(R"({"listDatabases": 1})", "admin")), 0);
}

TEST_P(CommandsTest, TransactionsAreNeverIgnored) {
    EXPECT_EQ(code(run(R"({"ping": 1, "txnNumber": 1})")), base::kIllegalOperation);
    EXPECT_EQ(code(run(R"({"insert": "c", "documents": [{}], "startTransaction": true})")),
              base::kIllegalOperation);
    EXPECT_EQ(code(run(R"({"ping": 1, "maxTimeMS": -1})")), base::kBadValue);
    EXPECT_EQ(code(run(R"({"ping": 1, "maxTimeMS": 50, "comment": "x"})")), 0);
}

TEST_P(CommandsTest, InsertFindUpdateDelete) {
    EXPECT_EQ(
        text(run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})"), "n"),
        "2");
    EXPECT_EQ(text(run(R"({"find": "c", "filter": {"a": 2}})"), "cursor"),
              R"({ firstBatch: [ { _id: 2, a: 2 } ], id: 0, ns: "test.c" })");
    EXPECT_EQ(
        text(run(R"({"find": "c", "filter": {"_id": 1}, "projection": {"_id": 0}})"), "cursor"),
        R"({ firstBatch: [ { a: 1 } ], id: 0, ns: "test.c" })");
    const bson::Object update =
        run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}},
                {"q": {"a": {"$gt": 0}}, "u": {"$inc": {"a": 10}}, "multi": true},
                {"q": {"_id": 9}, "u": {"a": 9}, "upsert": true}]})");
    EXPECT_EQ(text(update, "n"), "4");
    EXPECT_EQ(text(update, "nModified"), "2");
    EXPECT_EQ(text(update, "upserted"), "[ { index: 2, _id: 9 } ]");
    EXPECT_EQ(text(run(R"({"delete": "c", "deletes": [{"q": {}, "limit": 1}]})"), "n"), "1");
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "2");
}

TEST_P(CommandsTest, OrderedBatchesStopAtTheFirstError) {
    const std::string documents =
        R"("documents": [{"_id": 1}, {"_id": 1}, {"_id": 2}, {"_id": 2}])";
    const bson::Object ordered = run(R"({"insert": "c", )" + documents + "}");
    EXPECT_EQ(text(ordered, "n"), "1");
    EXPECT_EQ(ordered["writeErrors"].as_doc().field_count(), 1);
    EXPECT_EQ(ordered["ok"].to_double(), 1.0);
    const bson::Object unordered = run(R"({"insert": "d", "ordered": false, )" + documents + "}");
    EXPECT_EQ(text(unordered, "n"), "2");
    EXPECT_EQ(unordered["writeErrors"].as_doc().field_count(), 2);
    EXPECT_EQ(bson::to_text(unordered.doc().at_path("writeErrors.1.index")), "3");
    EXPECT_EQ(bson::to_text(unordered.doc().at_path("writeErrors.1.keyValue")), "{ _id: 2 }");
}

TEST_P(CommandsTest, RefusesWhatItCannotDo) {
    EXPECT_EQ(code(run(R"({"insert": "c", "documents": []})")), base::kInvalidLength);
    EXPECT_EQ(code(run(R"({"find": "c", "nonsense": 1})")), 40415);
    EXPECT_EQ(code(run_old(R"({"find": "c", "nonsense": 1})")), base::kFailedToParse);
    EXPECT_EQ(code(run(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 2}})")),
              base::kBadValue);
    EXPECT_EQ(text(run_old(R"({"count": "c"})"), "missing"), "true");
}

TEST_P(CommandsTest, CopiesTakeNoExistingName) {
    const char* const theirs[] = {"tmp.catalogue", "tmp.repair", "tmp.convertToCapped.c"};
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    for (const char* name : theirs)
        run(fmt::format(R"({{"insert": "{}", "documents": [{{"_id": 1}}]}})", name));
    EXPECT_EQ(code(run(R"({"convertToCapped": "c", "size": 10000})")), 0);
    EXPECT_EQ(code(run(R"({"repairDatabase": 1})")), 0);
    for (const char* name : theirs)
        EXPECT_EQ(text(run(fmt::format(R"({{"count": "{}"}})", name)), "n"), "1") << name;
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "1");
}

// The name of a copy differs from the target's, also where that ends with the first letter tried.
TEST_P(CommandsTest, CopiesGetAnyNameThatIsFree) {
    for (const std::string& to : {std::string("data"), std::string("a"), std::string(100, 'a')}) {
        run(R"({"insert": "c", "documents": [{"_id": 1}]})");
        EXPECT_EQ(
            code(run(fmt::format(
                R"({{"cloneCollectionAsCapped": "c", "toCollection": "{}", "size": 10000}})", to))),
            0)
            << to;
        EXPECT_EQ(text(run(fmt::format(R"({{"count": "{}"}})", to)), "n"), "1") << to;
        EXPECT_EQ(code(run(fmt::format(R"({{"renameCollection": "test.c", "to": "other.{}"}})", to),
                           "admin")),
                  0)
            << to;
        EXPECT_EQ(text(run(fmt::format(R"({{"count": "{}"}})", to), "other"), "n"), "1") << to;
    }
    const std::string longest(115, 'c');
    run(fmt::format(R"({{"insert": "{}", "documents": [{{"_id": 1}}]}})", longest));
    EXPECT_EQ(code(run(fmt::format(R"({{"convertToCapped": "{}", "size": 10000}})", longest))), 0);
    EXPECT_EQ(text(run(fmt::format(R"({{"count": "{}"}})", longest)), "n"), "1");
}

TEST_P(CommandsTest, WhatHasTheNameOfASystemCollectionTakesItsPlaceWhole) {
    for (const char* db : {"test", "other"}) {
        run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})");
        run(R"({"insert": "system.js", "documents": [{"_id": "f"}]})", db);
        EXPECT_EQ(code(run(fmt::format(R"({{"renameCollection": "test.c", "to": "{}.system.js",
                                            "dropTarget": true}})",
                                       db),
                           "admin")),
                  0);
        EXPECT_EQ(text(run(R"({"count": "system.js"})", db), "n"), "2");
        EXPECT_EQ(run(R"({"listCollections": 1, "filter": {"name": {"$nin":
                          ["system.js", "system.indexes"]}}})",
                      db)
                      .doc()
                      .at_path("cursor.firstBatch")
                      .as_doc()
                      .field_count(),
                  0);
    }
}

TEST_P(CommandsTest, SystemCollectionsAreNotMadeCapped) {
    // A definition or none is what such a copy could take.
    run(R"({"create": "c", "capped": true, "size": 4096, "autoIndexId": false})");
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    run(R"({"insert": "system.js", "documents": [{"_id": "f"}]})");
    run(R"({"create": "system.profile"})");
    run(R"({"dropIndexes": "c", "index": "a"})");
    const std::string before = text(run(R"({"find": "system.namespaces"})"), "cursor");
    for (const char* name : {"system.indexes", "system.namespaces", "system.js", "system.profile"})
        EXPECT_EQ(code(run(fmt::format(R"({{"convertToCapped": "{}", "size": 10000}})", name))),
                  base::kIllegalOperation)
            << name;
    for (const char* name : {"system.users", "system.other"})
        EXPECT_EQ(code(run(fmt::format(
                      R"({{"cloneCollectionAsCapped": "c", "toCollection": "{}", "size": 10000}})",
                      name))),
                  base::kIllegalOperation)
            << name;
    EXPECT_EQ(text(run(R"({"find": "system.namespaces"})"), "cursor"), before);
}

TEST_P(CommandsTest, ExplainsNameTheNamespaceThatWasAskedFor) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    for (const char* collection : {"c", "none"}) {
        for (const char* filter : {"{}", R"({"_id": 1})"}) {
            const bson::Object reply = run(fmt::format(
                R"({{"explain": {{"find": "{}", "filter": {}}}}})", collection, filter));
            EXPECT_EQ(bson::to_text(reply.doc().at_path("queryPlanner.namespace")),
                      fmt::format("\"test.{}\"", collection));
        }
    }
}

TEST_P(CommandsTest, FiltersOfListsAreDocuments) {
    EXPECT_EQ(code(run(R"({"listCollections": 1, "filter": 5})")), base::kTypeMismatch);
    EXPECT_EQ(code(run(R"({"listDatabases": 1, "filter": 5})", "admin")), base::kTypeMismatch);
}

TEST_P(CommandsTest, CursorsGoOnOverBatches) {
    std::string documents;
    for (int i = 0; i < 250; ++i)
        documents += fmt::format("{}{{\"_id\": {}}}", i == 0 ? "" : ",", i);
    run(R"({"insert": "c", "documents": [)" + documents + "]}");
    const bson::Object first = run(R"({"find": "c"})");
    const int64_t id = first.doc().at_path("cursor.id").as_int64();
    EXPECT_EQ(first.doc().at_path("cursor.firstBatch").as_doc().field_count(), 101);
    ASSERT_GT(id, 0);
    const std::string get_more = fmt::format(
        R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "c", "batchSize": 100}})", id);
    EXPECT_EQ(run(get_more).doc().at_path("cursor.nextBatch").as_doc().field_count(), 100);
    const bson::Object last = run(get_more);
    EXPECT_EQ(last.doc().at_path("cursor.nextBatch").as_doc().field_count(), 49);
    EXPECT_EQ(last.doc().at_path("cursor.id").as_int64(), 0);
    EXPECT_EQ(code(run(get_more)), base::kCursorNotFound);
}

TEST_P(CommandsTest, DroppedCollectionEndsItsCursors) {
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
    const bson::Object first = run(R"({"find": "c", "batchSize": 1})");
    const int64_t id = first.doc().at_path("cursor.id").as_int64();
    EXPECT_EQ(text(run(R"({"drop": "c"})"), "nIndexesWas"), "1");
    EXPECT_EQ(
        code(run(fmt::format(R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "c"}})", id))),
        base::kCursorNotFound);
    EXPECT_EQ(code(run(R"({"drop": "c"})")), 0) << "nothing is there";
}

TEST_P(CommandsTest, OldCursorsCountWhatTheyReturned) {
    insert_old("test.c", {R"({"_id": 0})", R"({"_id": 1})", R"({"_id": 2})", R"({"_id": 3})",
                          R"({"_id": 4})"});
    EXPECT_EQ(query("test.c", R"({"$query": {}, "$orderby": {"_id": -1}})", 2).size(), 2u);
    EXPECT_EQ(reply_flags_, wire::ReplyWriter::kAwaitCapable);
    EXPECT_EQ(bson::to_text(get_more("test.c", 2).at(0).doc()), "{ _id: 2 }");
    EXPECT_EQ(starting_from_, 2);
    EXPECT_EQ(get_more("test.c", 0).size(), 1u);
    EXPECT_EQ(starting_from_, 4);
    EXPECT_EQ(cursor_, 0);
    EXPECT_EQ(query("test.c", "{}", -3).size(), 3u);
    EXPECT_EQ(cursor_, 0);
}

TEST_P(CommandsTest, ExhaustQueriesAreAnsweredToTheEnd) {
    insert_old("test.c", {R"({"_id": 0})", R"({"_id": 1})", R"({"_id": 2})", R"({"_id": 3})",
                          R"({"_id": 4})"});
    const std::vector<uint8_t> replies = query_bytes("test.c", "{}", 2, wire::kExhaust);
    int32_t response_to = 77;  // each reply answers the one before it
    std::vector<int32_t> counts;
    int64_t cursor = -1;
    for (size_t at = 0; at < replies.size();) {
        const wire::ReplyHead head = wire::read_reply_head(replies.data() + at);
        EXPECT_EQ(head.header.response_to, response_to);
        response_to = head.header.request_id;
        EXPECT_EQ(bson::load<int32_t>(replies.data() + at + 28),
                  static_cast<int32_t>(2 * counts.size()));
        counts.push_back(bson::load<int32_t>(replies.data() + at + 32));
        cursor = head.cursor_id;
        at += static_cast<size_t>(head.header.length);
    }
    EXPECT_EQ(counts, (std::vector<int32_t>{2, 3}));
    EXPECT_EQ(cursor, 0);
    // A query that fails, or has no cursor, is answered once.
    EXPECT_EQ(documents(query_bytes("test.c", R"({"a": {"$foo": 1}})", 2, wire::kExhaust)).size(),
              1u);
    EXPECT_EQ(documents(query_bytes("test.c", "{}", -2, wire::kExhaust)).size(), 2u);
}

// mgo asks for an empty first batch by command, then goes on in the old way.
TEST_P(CommandsTest, ListedIndexesAreFetchedByTheOldGetMore) {
    run(R"({"insert": "c", "documents": [{}]})");
    const bson::Object listed = run(R"({"listIndexes": "c", "cursor": {"batchSize": 0}})");
    cursor_ = listed.doc().at_path("cursor.id").to_int64();
    EXPECT_EQ(get_more("test.$cmd.listIndexes.c", 0).size(), 1u);
    EXPECT_EQ(reply_flags_, wire::ReplyWriter::kAwaitCapable);
    EXPECT_EQ(cursor_, 0);
}

TEST_P(CommandsTest, OldFailuresCarryErrAndCode) {
    const bson::Object failure = query("test.c", R"({"a": {"$foo": 1}})", 0).at(0);
    EXPECT_EQ(reply_flags_, wire::ReplyWriter::kQueryFailure);
    EXPECT_EQ(failure["$err"].type(), bson::Type::string);
    EXPECT_EQ(failure["code"].to_int32(), 17287);
    EXPECT_EQ(query("nodot", "{}", 0).at(0)["code"].to_int32(), 16256);
}

TEST_P(CommandsTest, LastErrorFollowsOldWrites) {
    insert_old("test.c", {R"({"_id": 1})"});
    EXPECT_EQ(text(run_old(R"({"getlasterror": 1})"), "n"), "0");
    insert_old("test.c", {R"({"_id": 1})", R"({"_id": 2})"});
    const bson::Object failed = run_old(R"({"getlasterror": 1})");
    EXPECT_EQ(failed["code"].to_int32(), base::kDuplicateKey);
    EXPECT_EQ(failed["ok"].to_double(), 1.0);
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "1");
    EXPECT_EQ(text(run_old(R"({"getlasterror": 1})"), "err"), "null");
    insert_old("test.c", {R"({"_id": 1})", R"({"_id": 2})"}, 1);
    EXPECT_EQ(run_old(R"({"getlasterror": 1})")["code"].to_int32(), base::kDuplicateKey);
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "2");
}

TEST_P(CommandsTest, FindAndModify) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 5}]})");
    EXPECT_EQ(text(run(R"({"findAndModify": "c", "query": {}, "sort": {"a": -1},
                          "update": {"$inc": {"a": 1}}, "new": true})"),
                   "value"),
              "{ _id: 2, a: 6 }");
    const bson::Object upsert = run(
        R"({"findandmodify": "c", "query": {"_id": 3}, "update": {"$set": {"b": 1}},
            "upsert": true})");
    EXPECT_EQ(text(upsert, "value"), "null");
    EXPECT_EQ(text(upsert, "lastErrorObject"), "{ updatedExisting: false, n: 1, upserted: 3 }");
    EXPECT_EQ(text(run(R"({"findAndModify": "c", "query": {"_id": 1}, "remove": true,
                          "fields": {"a": 1, "_id": 0}})"),
                   "value"),
              "{ a: 1 }");
    EXPECT_EQ(code(run(R"({"findAndModify": "c", "remove": true, "new": true})")),
              base::kFailedToParse);
}

TEST_P(CommandsTest, CollectionsAndIndexesAreListed) {
    run(R"({"create": "k", "capped": true, "size": 5000})");
    const bson::Object created = run(
        R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1", "unique": true}]})");
    EXPECT_EQ(text(created, "createdCollectionAutomatically"), "true");
    EXPECT_EQ(text(created, "numIndexesAfter"), "2");
    EXPECT_EQ(text(run(R"({"listIndexes": "c"})"), "cursor"),
              R"({ firstBatch: [ { v: 2, key: { _id: 1 }, name: "_id_" }, )"
              R"({ v: 2, unique: true, key: { a: 1 }, name: "a_1" } ], )"
              R"(id: 0, ns: "test.$cmd.listIndexes.c" })");
    EXPECT_EQ(text(run_old(R"({"listIndexes": "c"})"), "cursor"),
              R"({ firstBatch: [ { v: 1, key: { _id: 1 }, name: "_id_", ns: "test.c" }, )"
              R"({ v: 1, unique: true, key: { a: 1 }, name: "a_1", ns: "test.c" } ], )"
              R"(id: 0, ns: "test.$cmd.listIndexes.c" })");
    const bson::Object listed =
        run(R"({"listCollections": 1, "filter": {"name": "k"}, "cursor": {}})");
    EXPECT_EQ(bson::to_text(listed.doc().at_path("cursor.firstBatch.0.options")),
              "{ capped: true, size: 5120 }");
    EXPECT_EQ(code(run(R"({"listIndexes": "none"})")), base::kNamespaceNotFound);
    EXPECT_EQ(code(run(R"({"create": "k"})")), base::kNamespaceExists);
    EXPECT_EQ(code(run(R"({"dropIndexes": "c", "index": "zz"})")), base::kIndexNotFound);
}

TEST_P(CommandsTest, OldIndexCreationByInsert) {
    insert_old("test.system.indexes", {R"({"ns": "test.c", "key": {"a": 1}, "name": "a_1"})"});
    EXPECT_EQ(text(run_old(R"({"getlasterror": 1})"), "err"), "null");
    EXPECT_EQ(index_count(), 2);
}

TEST_P(CommandsTest, TheCatalogueIsReadAsDocuments) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
    EXPECT_EQ(query("test.system.indexes", R"({"ns": "test.c"})", 0).size(), 2u);
    EXPECT_EQ(query("test.system.namespaces", R"({"name": "test.c.$a_1"})", 0).size(), 1u);
}

TEST_P(CommandsTest, AggregatesInlineAndByCursor) {
    run(R"({"insert": "c",
            "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}, {"_id": 3, "a": 2}]})");
    const std::string pipeline =
        R"("pipeline": [{"$match": {"a": 2}}, {"$group": {"_id": 1, "n": {"$sum": 1}}}])";
    EXPECT_EQ(text(run_old(R"({"aggregate": "c", )" + pipeline + "}"), "result"),
              "[ { _id: 1, n: 2 } ]");
    EXPECT_EQ(code(run(R"({"aggregate": "c", )" + pipeline + "}")), base::kFailedToParse);
    EXPECT_EQ(bson::to_text(run(R"({"aggregate": "c", "cursor": {}, )" + pipeline + "}")
                                .doc()
                                .at_path("cursor.firstBatch")),
              "[ { _id: 1, n: 2 } ]");
    const bson::Object stats =
        run(R"({"aggregate": "c", "pipeline": [{"$collStats": {"count": {}}}], "cursor": {}})");
    EXPECT_EQ(bson::to_text(stats.doc().at_path("cursor.firstBatch.0.count")), "3");
    const std::string let = R"({"aggregate": "c", "pipeline": [], "cursor": {}, "let": )";
    EXPECT_EQ(code(run(let + "{}}")), 0);
    EXPECT_EQ(code(run(let + R"({"x": 1}})")), 0);
    EXPECT_EQ(code(run_old(let + R"({"x": 1}})")), base::kInvalidOptions);
    EXPECT_EQ(
        code(run(R"({"aggregate": 1, "pipeline": [{"$currentOp": {}}], "cursor": {}})", "admin")),
        0);
    run(R"({"aggregate": "c", "pipeline": [{"$match": {"a": 2}}, {"$out": "d"}], "cursor": {}})");
    EXPECT_EQ(text(run(R"({"count": "d"})"), "n"), "2");
}

TEST_P(CommandsTest, IndexDefinitionsAreNotDocumentsToChange) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    const bson::Object removed =
        run(R"({"delete": "system.indexes", "deletes": [{"q": {}, "limit": 0}]})");
    EXPECT_EQ(bson::to_text(removed.doc().at_path("writeErrors.0.code")), "12050");
    const bson::Object updated =
        run(R"({"update": "system.indexes", "updates": [{"q": {}, "u": {"$set": {"x": 1}}}]})");
    EXPECT_EQ(bson::to_text(updated.doc().at_path("writeErrors.0.code")), "10156");
    EXPECT_EQ(code(run(R"({"findAndModify": "system.indexes", "remove": true})")), 12050);
    EXPECT_EQ(query("test.system.indexes", "{}", 0).size(), 1u);
}

TEST_P(CommandsTest, ManyIndexesAreCheckedBeforeTheFirstIsBuilt) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");  // a new collection keeps the first ones
    const bson::Object failed = run(
        R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"},
            {"key": {"$b": 1}, "name": "b"}]})");
    EXPECT_EQ(code(failed), base::kCannotCreateIndex);
    EXPECT_EQ(index_count(), 1);
}

TEST_P(CommandsTest, TheSmallestNumberAsALimitIsOne) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    const std::string reply = bson::to_text(run(R"({"explain": {"count": "c",
        "query": {"a": {"$exists": false}}, "limit": {"$numberLong": "-9223372036854775808"}}})"));
    EXPECT_NE(reply.find("limitAmount: 9223372036854775807"), std::string::npos) << reply;
}

TEST_P(CommandsTest, ExpiredDocumentsAreDeleted) {
    run(R"({"createIndexes": "c",
            "indexes": [{"key": {"t": 1}, "name": "t", "expireAfterSeconds": 60}]})");
    run(R"({"insert": "c", "documents": [{"_id": 1, "t": {"$date": {"$numberLong": "1000"}}},
           {"_id": 2, "t": {"$date": {"$numberLong": "99999999999999"}}}, {"_id": 3}]})");
    EXPECT_EQ(delete_expired(service_->contexts()), 1);
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "2");
}

TEST_P(CommandsTest, NothingIsOldEnoughForTheLongestExpiry) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "t": {"$date": {"$numberLong": "1000"}}},
           {"_id": 2, "t": {"$date": {"$numberLong": "99999999999"}}}]})");
    for (const char* seconds : {"9223372036854775807", "9223372036854775", "1e300"}) {
        const std::string definition = fmt::format(
            R"({{"createIndexes": "c", "indexes": [{{"key": {{"t": 1}}, "name": "t",
                "expireAfterSeconds": {}}}]}})",
            seconds);
        EXPECT_EQ(code(run(definition)), base::kCannotCreateIndex) << seconds;
        const bson::Object made = run_old(definition);
        EXPECT_EQ(code(made), 0) << bson::to_text(made);
        EXPECT_EQ(delete_expired(service_->contexts()), 0) << seconds;
        run(R"({"dropIndexes": "c", "index": "t"})");
    }
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "2");
}

// A driver's arithmetic may come to that. It is not 0, by which all would go.
TEST_P(CommandsTest, NothingExpiresByWhatIsNoNumber) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const bson::Object definition =
        bson::make("key", bson::make("t", 1), "name", "t", "expireAfterSeconds", none);
    const bson::Object stored = bson::make("key", bson::make("t", 1), "name", "t", "ns", "test.c",
                                           "expireAfterSeconds", none);
    run(R"({"insert": "c", "documents": [{"_id": 1, "t": {"$date": {"$numberLong": "1000"}}}]})");
    bson::Builder command;
    command.append("createIndexes", "c");
    {
        bson::Builder list = command.sub_array("indexes");
        list.push(definition);
    }
    EXPECT_EQ(code(run(command.object())), base::kCannotCreateIndex);
    // The old server had such an index, and old directories have it.
    bson::Builder insert;
    insert.append("insert", "system.indexes");
    {
        bson::Builder list = insert.sub_array("documents");
        list.push(stored);
    }
    EXPECT_EQ(text(run(insert.object()), "n"), "1");
    EXPECT_EQ(delete_expired(service_->contexts()), 0);
    const bson::Object change = bson::make("name", "t", "expireAfterSeconds", none);
    EXPECT_EQ(code(run(bson::make("collMod", "c", "index", change))), base::kInvalidOptions);
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "1");
}

// A time in the past of which is the future: all would go, also what is to be kept for years.
TEST_P(CommandsTest, NothingExpiresBeforeItsTime) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "t": {"$date": {"$numberLong": "1000"}}},
           {"_id": 2, "t": {"$date": {"$numberLong": "9999999999999"}}}]})");
    EXPECT_EQ(code(run_old(R"({"createIndexes": "c", "indexes": [
                  {"key": {"t": 1}, "name": "t", "expireAfterSeconds": 99999999999}]})")),
              0);
    EXPECT_EQ(code(run(R"({"collMod": "c", "index": {"name": "t", "expireAfterSeconds": -1}})")),
              base::kInvalidOptions);
    EXPECT_EQ(delete_expired(service_->contexts()), 0);
    run(R"({"dropIndexes": "c", "index": "t"})");
    // The old server had such an index, and old directories have it.
    EXPECT_EQ(text(run(R"({"insert": "system.indexes", "documents": [
                  {"ns": "test.c", "key": {"t": 1}, "name": "t",
                   "expireAfterSeconds": -99999999999}]})"),
                   "n"),
              "1");
    EXPECT_EQ(delete_expired(service_->contexts()), 0);
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "2");
}

TEST_P(CommandsTest, NoParameterTakesWhatIsNoNumber) {
    for (const char* none : {R"({"$numberDouble": "NaN"})", R"({"$numberDecimal": "NaN"})"}) {
        const bson::Object reply =
            run(fmt::format(R"({{"setParameter": 1, "syncdelay": {}}})", none), "admin");
        EXPECT_EQ(code(reply), base::kBadValue) << bson::to_text(reply);
    }
}

TEST_P(CommandsTest, RenameWithinAndAcrossDatabases) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    EXPECT_EQ(code(run(R"({"renameCollection": "test.c", "to": "other.d"})", "admin")), 0);
    EXPECT_EQ(text(run(R"({"count": "d"})", "other"), "n"), "1");
    EXPECT_EQ(run(R"({"listIndexes": "d"})", "other")
                  .doc()
                  .at_path("cursor.firstBatch")
                  .as_doc()
                  .field_count(),
              2);
    EXPECT_EQ(code(run(R"({"renameCollection": "test.c", "to": "test.x"})", "admin")),
              base::kNamespaceNotFound);
}

TEST_P(CommandsTest, ValidateFindsAllInOrder) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": [1, 2]}, {"_id": 2}]})");
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    const bson::Object result = run(R"({"validate": "c", "full": true})");
    EXPECT_EQ(text(result, "valid"), "true");
    EXPECT_EQ(text(result, "errors"), "[]");
    for (const char* name : {"nInvalidDocuments", "nNonCompliantDocuments"}) {
        EXPECT_EQ(text(result, name), "0");
        EXPECT_FALSE(run_old(R"({"validate": "c", "full": true})").doc().has(name));
    }
    run(R"({"collMod": "c", "validator": {"a": {"$exists": true}}})");
    EXPECT_EQ(text(run(R"({"validate": "c"})"), "nNonCompliantDocuments"), "1");
}

TEST_P(DurableCommandsTest, JournalledWritesWaitForTheCommit) {
    EXPECT_EQ(
        text(run(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"j": true}})"),
             "n"),
        "1");
    insert_old("test.c", {R"({"_id": 2})"});
    const bson::Object synced = run_old(R"({"getlasterror": 1, "fsync": true})");
    EXPECT_EQ(text(synced, "err"), "null");
    EXPECT_TRUE(synced["waited"]);
    EXPECT_EQ(synced["waited"].to_int32(), synced["syncMillis"].to_int32());
}

TEST_P(DurableCommandsTest, FsyncLockKeepsWritersOut) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    EXPECT_EQ(code(run(R"({"fsync": 1, "lock": true})", "admin")), 0);
    EXPECT_TRUE(service_->fsync_lock().locked());
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "1");
    EXPECT_EQ(text(query("admin.$cmd.sys.inprog", "{}", -1).at(0), "fsyncLock"), "true");
    EXPECT_EQ(code(run(R"({"fsyncUnlock": 1})", "admin")), 0);
    EXPECT_NE(code(run(R"({"fsyncUnlock": 1})", "admin")), 0);
    EXPECT_EQ(text(run(R"({"insert": "c", "documents": [{"_id": 2}]})"), "n"), "1");
}

TEST_P(DurableCommandsTest, OnlyLocalConnectionsChangeTheServer) {
    TestConnection remote;
    remote.open(*service_, 2, false);
    const std::vector<std::pair<const char*, const char*>> commands = {
        {R"({"fsync": 1, "lock": true})", "admin"},
        {R"({"fsyncUnlock": 1})", "admin"},
        {R"({"setParameter": 1, "ttlMonitorEnabled": true})", "admin"},
        {R"({"setParameter": 1, "logComponentVerbosity": {"verbosity": 0}})", "admin"},
        {R"({"logRotate": 1})", "admin"},
        {R"({"repairDatabase": 1})", "test"},
        {R"({"closeAllDatabases": 1})", "admin"},
        {R"({"profile": 0})", "test"},
        {R"({"profile": -1, "slowms": 100})", "test"},
        {R"({"shutdown": 1})", "admin"},
    };
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    for (const auto& [command, db] : commands) {
        const bson::Object reply = remote.run(command, db);
        EXPECT_EQ(TestConnection::code(reply), base::kUnauthorized) << command;
        EXPECT_NE(TestConnection::text(reply, "errmsg").find("localhost"), std::string::npos);
        EXPECT_EQ(TestConnection::code(remote.run_old(command, db)), base::kUnauthorized)
            << command;
    }
    EXPECT_FALSE(service_->fsync_lock().locked());
    EXPECT_FALSE(closed_);
    // Neither does the old way to unlock.
    EXPECT_EQ(code(run(R"({"fsync": 1, "lock": true})", "admin")), 0);
    EXPECT_EQ(TestConnection::text(remote.query("admin.$cmd.sys.unlock", "{}", -1).at(0), "err"),
              "\"unauthorized\"");
    EXPECT_TRUE(service_->fsync_lock().locked());
    EXPECT_EQ(code(run(R"({"fsyncUnlock": 1})", "admin")), 0);
    // Commands that only read or flush are open to every client.
    for (const auto& [command, db] : std::vector<std::pair<const char*, const char*>>{
             {R"({"fsync": 1})", "admin"},
             {R"({"profile": -1})", "test"},
             {R"({"getParameter": "*"})", "admin"},
             {R"({"setParameter": 1, "help": true})", "admin"},
             {R"({"count": "c"})", "test"}})
        EXPECT_EQ(TestConnection::code(remote.run(command, db)), 0) << command;
    options::remote_administration.set(true);
    for (const auto& [command, db] : commands) {
        if (std::string_view(command).find("shutdown") != std::string_view::npos) continue;
        EXPECT_EQ(TestConnection::code(remote.run(command, db)), 0) << command;
    }
    options::remote_administration.set(false);
    EXPECT_EQ(TestConnection::code(remote.run(R"({"logRotate": 1})", "admin")),
              base::kUnauthorized);
}

INSTANTIATE_TEST_SUITE_P(engines, CommandsTest, kTestEngines, engine_name);
INSTANTIATE_TEST_SUITE_P(engines, DurableCommandsTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

// Answers of many commands in which a difference to the old server was once found.
#include <fmt/core.h>

#include "command/commands/testing/service.h"
#include "options/general.h"

namespace command {
namespace {

class RepliesOf26Test : public EachEngineTest {
  protected:
    bson::Object first(const std::string& ns, const std::string& json) {
        const std::vector<bson::Object> docs = query(ns, json, 0);
        return docs.empty() ? bson::Object() : docs[0];
    }
    std::string values(const std::string& command) { return text(run(command), "values"); }
    std::string last_error() { return text(run_old(R"({"getlasterror": 1})"), "code"); }
};

const char* const kNothings[] = {R"({"$undefined": true})", "null", "false"};

// Shells send one of these where a caller leaves an argument out.
TEST_P(RepliesOf26Test, OptionalArgumentsMayStandForNothing) {
    insert_old("test.c", {R"({"_id": 1, "a": 1})"});
    constexpr const char* kCommands[] = {
        R"("collStats": "c", "scale": )",
        R"("collStats": "c", "verbose": )",
        R"("dbStats": 1, "scale": )",
        R"("dataSize": "test.c", "scale": )",
        R"("dataSize": "test.c", "keyPattern": )",
        R"("dataSize": "test.c", "min": )",
        R"("dataSize": "test.c", "estimate": )",
        R"("dataSize": "test.c", "maxSize": )",
        R"("dataSize": "test.c", "maxObjects": )",
        R"("compact": "c", "paddingBytes": )",
        R"("compact": "c", "preservePadding": )",
        R"("compact": "c", "force": )",
        R"("validate": "c", "full": )",
        R"("validate": "c", "scandata": )",
        R"("touch": "c", "data": true, "index": )",
        R"("reIndex": "c", "writeConcern": )",
        R"("create": "made", "capped": )",
        R"("create": "made", "autoIndexId": )",
        R"("create": "made", "writeConcern": )",
        R"("createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}], "writeConcern": )",
        R"("dropIndexes": "c", "index": "*", "writeConcern": )",
        R"("count": "c", "query": )",
        R"("count": "c", "limit": )",
        R"("count": "c", "fields": )",
        R"("count": "c", "hint": )",
        R"("distinct": "c", "key": "a", "query": )",
        R"("findAndModify": "c", "remove": false, "update": {"$set": {"b": 1}}, "new": )",
        R"("findAndModify": "c", "update": {"$set": {"b": 1}}, "fields": )",
        R"("findAndModify": "c", "update": {"$set": {"b": 1}}, "upsert": )",
        R"("findAndModify": "c", "update": {"$set": {"b": 1}}, "writeConcern": )",
        R"("profile": -1, "slowms": )",
        R"("drop": "made", "writeConcern": )",
        R"("filemd5": 1, "root": )",
    };
    for (const char* nothing : kNothings) {
        for (const char* command : kCommands) {
            const bool on_mmapv1_only = std::string_view(command).starts_with(R"("compact)");
            if (on_mmapv1_only && GetParam() != TestEngine::mmapv1) continue;
            if (std::string_view(command).starts_with(R"("create": "made")"))
                run(R"({"drop": "made"})");
            EXPECT_EQ(code(run_old(fmt::format("{{{}{}}}", command, nothing))), 0)
                << command << nothing;
        }
        // The write concern of these was never optional in this way.
        for (const char* write : {R"("insert": "c", "documents": [{}])",
                                  R"("delete": "c", "deletes": [{"q": {"_id": 0}, "limit": 1}])"})
            EXPECT_EQ(code(run_old(fmt::format(R"({{{}, "writeConcern": {}}})", write, nothing))),
                      9);
    }
    for (const char* bad : {"\"x\"", "true", "0", "-1", "{}"}) {
        EXPECT_EQ(code(run_old(fmt::format(R"({{"collStats": "c", "scale": {}}})", bad))), 2)
            << bad;
        EXPECT_EQ(code(run_old(fmt::format(R"({{"dbStats": 1, "scale": {}}})", bad))), 2) << bad;
    }
    for (const char* bad : {"\"x\"", "true", "0", "1"})
        EXPECT_EQ(code(run_old(fmt::format(R"({{"drop": "none", "writeConcern": {}}})", bad))), 9);
}

TEST_P(RepliesOf26Test, GetMoreCountsBehindTheReplyOfACommand) {
    for (int i = 0; i < 30; ++i)
        insert_old("test.c", {fmt::format(R"({{"_id": {}}})", i)});
    for (const char* command :
         {R"({"aggregate": "c", "pipeline": [], "cursor": {"batchSize": 5}})",
          R"({"aggregate": "c", "pipeline": [{"$sort": {"x": 1}}], "cursor": {"batchSize": 0}})"}) {
        cursor_ = run(command).doc().at_path("cursor.id").to_int64();
        for (const int expected : {0, 7, 14}) {
            EXPECT_EQ(get_more("test.c", 7).size(), 7U);
            EXPECT_EQ(starting_from_, expected) << command;
        }
    }
    const bson::Object scan = run(R"({"parallelCollectionScan": "c", "numCursors": 1})");
    cursor_ = scan.doc().at_path("cursors.0.cursor.id").to_int64();
    get_more("test.c", 4);
    EXPECT_EQ(starting_from_, 0);
    get_more("test.c", 4);
    EXPECT_EQ(starting_from_, 4);
    for (int i = 0; i < 3; ++i)
        insert_old(fmt::format("test.d{}", i), {"{}"});
    cursor_ = run(R"({"listCollections": 1, "cursor": {"batchSize": 1}})")
                  .doc()
                  .at_path("cursor.id")
                  .to_int64();
    get_more("test.$cmd.listCollections", 1);
    EXPECT_EQ(starting_from_, 0);
    query("test.c", "{}", 5);
    get_more("test.c", 5);
    EXPECT_EQ(starting_from_, 5);
}

TEST_P(RepliesOf26Test, FindAndModifyWithASortKnowsTheElement) {
    const auto value = [this](const std::string& more) {
        run(R"({"drop": "c"})");
        insert_old("test.c", {R"({"_id": 1, "l": [1, 2, 3], "e": [{"k": 1}, {"k": 2}]})"});
        const bson::Object reply = run(R"({"findAndModify": "c", )" + more + "}");
        return code(reply) != 0 ? fmt::format("error {}", code(reply)) : text(reply, "value");
    };
    const std::string set = R"("update": {"$set": {"z": 1}}, )";
    EXPECT_EQ(value(R"("query": {"l": 2}, "sort": {"_id": 1}, "fields": {"l.$": 1}, )" + set +
                    R"("new": false)"),
              "{ _id: 1, l: [ 2 ] }");
    EXPECT_EQ(value(R"("query": {"l": 3}, "sort": {"_id": 1}, "fields": {"l.$": 1}, )" + set +
                    R"("new": true)"),
              "{ _id: 1, l: [ 3 ] }");
    EXPECT_EQ(value(R"("query": {"e.k": 2}, "sort": {"_id": -1}, "fields": {"_id": 0, "e.$": 1},
                       "remove": true)"),
              "{ e: [ { k: 2 } ] }");
    EXPECT_EQ(value(R"("query": {"e": {"$elemMatch": {"k": 2}}}, "sort": {"_id": -1},
                       "fields": {"e.$": 1}, )" +
                    set + R"("new": false)"),
              "{ _id: 1, e: [ { k: 2 } ] }");
    EXPECT_EQ(value(R"("query": {"l": 3}, "sort": {"_id": 1}, "fields": {"l.$": 1},
                       "update": {"$set": {"l": []}}, "new": true)"),
              "{ _id: 1, l: [] }");
    EXPECT_EQ(value(R"("query": {"_id": 1}, "sort": {"_id": 1}, "fields": {"l.$": 1}, )" + set +
                    R"("new": false)"),
              "error 51246");
    // The old server went another way without a sort, which did not know the element.
    const std::string unsorted =
        R"({"findAndModify": "c", "query": {"l": 2}, "fields": {"l.$": 1}, )" + set +
        R"("new": false})";
    EXPECT_EQ(text(run_old(unsorted), "value"), "{ _id: 1, l: [] }");
    EXPECT_EQ(text(run(unsorted), "value"), "{ _id: 1, l: [ 2 ] }");
    // Another projection is one by name, and its mistakes keep their codes.
    EXPECT_EQ(value(R"("query": {"l": 2}, "sort": {"_id": 1}, "fields": {"e": 1, "l": 0}, )" + set +
                    R"("new": false)"),
              "error 31254");
}

TEST_P(RepliesOf26Test, ThePositionalOperatorBehindAFieldOfAReference) {
    insert_old("test.c", {R"({"_id": 1, "sub": {"$id": [{"k": 1}, {"k": 2}], "$db": "x"}})"});
    for (const char* filter : {R"({"sub.$id": {"$elemMatch": {"k": 2}}})", R"({"sub.$id.k": 2})"}) {
        const bson::Object reply = run(fmt::format(
            R"({{"find": "c", "filter": {}, "projection": {{"sub.$id.$": 1}}}})", filter));
        EXPECT_EQ(bson::to_text(reply.doc().at_path("cursor.firstBatch.0")),
                  "{ _id: 1, sub: { $id: [ { k: 2 } ] } }")
            << filter;
    }
    const bson::Object plain = run(R"({"find": "c", "projection": {"sub.$db": 1}})");
    EXPECT_EQ(bson::to_text(plain.doc().at_path("cursor.firstBatch.0")),
              "{ _id: 1, sub: { $db: \"x\" } }");
}

TEST_P(RepliesOf26Test, AReplacementThatChangesNothingIsNotChecked) {
    insert_old("test.c", {R"({"_id": 1, "a.b": 1, "c": {"d.e": {"$x": 2}}})", R"({"_id": 2})"});
    const std::string same = R"({"_id": 1, "a.b": 1, "c": {"d.e": {"$x": 2}}})";
    const auto update = [this](int id, const std::string& u, const char* more = "") {
        const bson::Object reply = run(fmt::format(
            R"({{"update": "c", "updates": [{{"q": {{"_id": {}}}, "u": {}{}}}]}})", id, u, more));
        return reply.doc().has("writeErrors")
                   ? fmt::format("error {}",
                                 bson::to_text(reply.doc().at_path("writeErrors.0.code")))
                   : text(reply, "n") + "/" + text(reply, "nModified");
    };
    EXPECT_EQ(update(1, same), "1/0");
    EXPECT_EQ(update(1, same, R"(, "upsert": true)"), "1/0");
    update_old("test.c", R"({"_id": 1})", same, 1);
    EXPECT_EQ(text(run_old(R"({"getlasterror": 1})"), "updatedExisting"), "true");
    update_old("test.c", R"({"_id": 1})", R"({"_id": 1, "a.b": 2})", 1);
    EXPECT_EQ(last_error(), "57");
    const bson::Object found =
        run(R"({"findAndModify": "c", "query": {"_id": 1}, "update": )" + same + "}");
    EXPECT_EQ(code(found), 0);
    // An empty one modifies what it empties.
    EXPECT_EQ(update(2, "{}"), "1/0");
    EXPECT_EQ(update(2, R"({"_id": 2})"), "1/0");
    EXPECT_EQ(update(2, R"({"x": 1})"), "1/1");
    EXPECT_EQ(update(2, R"({"x": 1})"), "1/1");
    EXPECT_EQ(update(2, "{}"), "1/1");
    EXPECT_EQ(update(2, "{}"), "1/0");
}

TEST_P(RepliesOf26Test, TheProfilerKeepsEmptyQueriesAndItsOwnEnd) {
    insert_old("test.c", {R"({"_id": 1})"});
    EXPECT_EQ(code(run_old(R"({"profile": 2})")), 0);
    query("test.c", "{}", 0);
    update_old("test.c", "{}", R"({"$set": {"x": 1}})");
    query("test.c", "{}", 0);
    run_old(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})");
    EXPECT_EQ(text(run_old(R"({"profile": 0})"), "was"), "2");
    run_old(R"({"count": "c"})");
    std::string kept;
    for (const bson::Object& doc : query("test.system.profile", "{}", 0))
        kept += doc.doc().has("command") ? text(doc, "command") + "; "
                                         : text(doc, "op") + " " + text(doc, "query") + "; ";
    EXPECT_EQ(kept, "\"query\" {}; \"update\" {}; \"query\" {}; \"remove\" {}; { profile: 0 }; ");
    const bson::Object refused = run_old(R"({"profile": 3})");
    EXPECT_EQ(code(refused), 2);
    EXPECT_EQ(text(refused, "was"), "0");
    EXPECT_EQ(text(refused, "slowms"), "100");
}

TEST_P(RepliesOf26Test, DataSizeAddsUpRecords) {
    for (int i = 0; i < 10; ++i)
        insert_old("test.c", {fmt::format(R"({{"_id": {}, "s": "0123456789"}})", i)});
    const bson::Object whole = run(R"({"dataSize": "test.c"})");
    const int64_t each = whole["size"].to_int64() / 10;
    const auto size = [this](const std::string& more) {
        const bson::Object reply = run(R"({"dataSize": "test.c", )" + more + "}");
        return std::pair(reply["numObjects"].to_int64(), reply["size"].to_int64());
    };
    const std::string range = R"("keyPattern": {"_id": 1}, "min": {"_id": 2}, "max": {"_id": 8})";
    EXPECT_EQ(size(range), std::pair(int64_t{6}, 6 * each));
    EXPECT_EQ(size(range + R"(, "estimate": true)"), std::pair(int64_t{6}, 6 * each));
    EXPECT_EQ(size(range + R"(, "maxObjects": 2)"), std::pair(int64_t{3}, 3 * each));
    EXPECT_EQ(size(R"("maxObjects": 4)"), std::pair(int64_t{5}, 5 * each));
    EXPECT_EQ(size(R"("maxSize": 1)"), std::pair(int64_t{1}, each));
    EXPECT_EQ(size(R"("maxObjects": 10)"), std::pair(int64_t{10}, 10 * each));
    EXPECT_EQ(text(run(R"({"dataSize": "test.c", "maxObjects": 4})"), "maxReached"), "true");
    EXPECT_FALSE(run(R"({"dataSize": "test.c", "maxObjects": 10})").doc().has("maxReached"));
    EXPECT_FALSE(run_old(R"({"dataSize": "test.none"})").doc().has("estimate"));
    EXPECT_EQ(text(run_old("{\"dataSize\": \"test.c\", " + range + "}"), "estimate"), "false");
}

TEST_P(RepliesOf26Test, DataSizeTakesAnIndexThatBeginsAlike) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1, "b": -1}, "name": "ab"},
                                              {"key": {"l": 1}, "name": "l"}]})");
    for (int i = 0; i < 10; ++i)
        insert_old("test.c", {fmt::format(R"({{"_id": {}, "a": {}, "b": {}, "l": [1, 2]}})", i,
                                          i / 2, i % 2)});
    const auto objects = [this](const std::string& range) {
        const bson::Object reply = run_old(R"({"dataSize": "test.c", )" + range + "}");
        return code(reply) != 0 ? -code(reply) : reply["numObjects"].to_int64();
    };
    EXPECT_EQ(objects(R"("keyPattern": {"a": 1}, "min": {"a": 1}, "max": {"a": 3})"), 4);
    EXPECT_EQ(objects(R"("min": {"a": 1}, "max": {"a": 3})"), 4) << "ascending by itself";
    EXPECT_EQ(objects(R"("keyPattern": {"a": 1, "b": -1}, "min": {"a": 1, "b": 1},
                         "max": {"a": 2, "b": 0})"),
              3);
    EXPECT_EQ(objects(R"("keyPattern": {"a": 1}, "min": {"a": 2}, "max": {"a": 2})"), 0);
    EXPECT_EQ(objects(R"("keyPattern": {"a": 1}, "min": {"a": 3}, "max": {"a": 1})"), 0);
    EXPECT_EQ(objects(R"("keyPattern": {"a": 1}, "min": {"b": 1}, "max": {"b": 3})"), -16634);
    EXPECT_EQ(objects(R"("keyPattern": {"b": -1}, "min": {"b": 1}, "max": {"b": 3})"), -2);
    EXPECT_EQ(objects(R"("keyPattern": {"l": 1}, "min": {"l": 1}, "max": {"l": 3})"), -2)
        << "multikey";
}

TEST_P(RepliesOf26Test, HashesGoInTheOrderOfId) {
    const auto hash = [this](const std::string& collection, bool old) {
        const std::string command = R"({"dbHash": 1})";
        const bson::Object reply = old ? run_old(command) : run(command);
        return std::string(reply["collections"].as_doc()[collection].as_string());
    };
    run(R"({"create": "ring", "capped": true, "size": 4096})");
    run_old(R"({"create": "bare", "autoIndexId": false})");
    run_old(R"({"create": "other", "autoIndexId": false})");
    for (const char* ns : {"test.ring", "test.bare"})
        insert_old(ns, {R"({"_id": 2})", R"({"_id": 1})"});
    insert_old("test.c", {R"({"_id": 1})", R"({"_id": 2})"});
    for (const bool old : {true, false})
        EXPECT_EQ(hash("ring", old), hash("c", old));
    EXPECT_EQ(hash("bare", true), "no _id _index");
    EXPECT_EQ(hash("bare", true), hash("other", true));
    EXPECT_NE(hash("bare", false), hash("other", false));
    EXPECT_EQ(text(run_old(R"({"dbHash": 1, "collections": []})"), "collections"),
              text(run_old(R"({"dbHash": 1})"), "collections"));
}

TEST_P(RepliesOf26Test, RepairsNeedTheirOne) {
    insert_old("test.c", {"{}"});
    for (const char* odd : {"0", "2", "1.5", "true", "null", "\"x\""})
        EXPECT_EQ(code(run_old(fmt::format(R"({{"repairDatabase": {}}})", odd))), 2) << odd;
    EXPECT_EQ(code(run_old(R"({"repairDatabase": 1.0})")), 0);
    EXPECT_EQ(code(run_old(R"({"repairDatabase": 1, "preserveClonedFilesOnFailure": true,
                               "backupOriginalFiles": false})")),
              0);
    EXPECT_EQ(code(run_old(R"({"repairDatabase": 1, "backupOriginalFiles": true})")), 72);
}

TEST_P(RepliesOf26Test, CollectionsOfTheServerAreNotDropped) {
    for (const char* name : {"system.js", "system.users", "system.indexes", "system.namespaces"}) {
        const std::string drop = fmt::format(R"({{"drop": "{}"}})", name);
        EXPECT_EQ(code(run_old(drop)), 26) << name;
    }
    insert_old("test.system.js", {R"({"_id": "f"})"});
    insert_old("test.system.users", {R"({"user": "u", "pwd": "p"})"});
    for (const char* name : {"system.js", "system.users"}) {
        const std::string drop = fmt::format(R"({{"drop": "{}"}})", name);
        EXPECT_EQ(code(run_old(drop)), 20) << name;
        EXPECT_EQ(code(run(drop)), 20) << name;
    }
}

// It would have been a limit.
TEST_P(RepliesOf26Test, ACommandTakesNoModifierForItsTime) {
    const std::string count = R"({"$query": {"count": "c"}, "$maxTimeMS": 5000})";
    EXPECT_EQ(code(query("test.$cmd", count, -1)[0]), 2);
    EXPECT_EQ(code(query("test.$cmd", R"({"$query": {"count": "c", "maxTimeMS": 5000}})", -1)[0]),
              0);
}

// The old server took its upper end in, too, which it left out forwards.
TEST_P(RepliesOf26Test, ARangeReadBackwardsIsTheSame) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    for (int i = 0; i < 10; ++i)
        insert_old("test.c", {fmt::format(R"({{"_id": {}, "a": {}}})", i, i % 5)});
    const auto ids = [this](const std::string& modifiers) {
        std::string text;
        for (const bson::Object& doc : query("test.c", R"({"$query": {}, )" + modifiers + "}", 0))
            text += std::to_string(doc["_id"].to_int64());
        return text;
    };
    EXPECT_EQ(ids(R"("$min": {"_id": 5}, "$max": {"_id": 8}, "$orderby": {"_id": -1})"), "765");
    EXPECT_EQ(ids(R"("$min": {"_id": 5}, "$max": {"_id": 8}, "$orderby": {"_id": 1})"), "567");
    EXPECT_EQ(ids(R"("$min": {"a": 3}, "$orderby": {"a": -1})"), "9483");
    EXPECT_EQ(ids(R"("$max": {"a": 1}, "$orderby": {"a": -1})"), "50");
    const bson::Object reply = run(R"({"find": "c", "min": {"_id": 5}, "max": {"_id": 8},
                                       "sort": {"_id": -1}, "hint": {"_id": 1}})");
    EXPECT_EQ(reply.doc().at_path("cursor.firstBatch").as_doc().field_count(), 3);
}

TEST_P(RepliesOf26Test, ASortByAPathWithAnEmptyEndIsOneByTheField) {
    for (const char* doc : {R"({"_id": 1, "a": 3, "o": {"p": 1}})", R"({"_id": 2, "a": [1, 9]})",
                            R"({"_id": 3, "a": 2, "o": {"p": 2}})"})
        insert_old("test.c", {doc});
    const auto ids = [this](const std::string& sort) {
        std::string text;
        for (const bson::Object& doc :
             query("test.c", R"({"$query": {}, "$orderby": )" + sort + "}", 0))
            text += std::to_string(doc["_id"].to_int64());
        return text;
    };
    for (const bool indexed : {false, true}) {
        if (indexed) run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
        EXPECT_EQ(ids(R"({"a.": 1})"), "231");
        EXPECT_EQ(ids(R"({"a.": -1})"), "213");
        EXPECT_EQ(ids(R"({"o.p.": -1})"), "312");
    }
}

// One place has the options of an execution: each command that plans a query obeys.
TEST_P(RepliesOf26Test, NothingScansUnderNotablescan) {
    insert_old("test.c", {R"({"_id": 1, "a": 1})"});
    run(R"({"createIndexes": "c", "indexes": [{"key": {"b": 1}, "name": "b"}]})");
    const struct Restore {
        ~Restore() { options::no_table_scan.set(false); }
    } restore;
    options::no_table_scan.set(true);
    const struct {
        const char* command;
        int old_code;
    } cases[] = {
        {R"({"findAndModify": "c", "query": {"a": 1}, "remove": true})", 17384},
        {R"({"findAndModify": "c", "query": {"a": 1}, "update": {"a": 2}})", 17384},
        {R"({"findAndModify": "c", "query": {"a": 1}, "sort": {"c": 1}, "remove": true})", 13106},
        {R"({"count": "c", "query": {"a": 1}})", 2},
        {R"({"distinct": "c", "key": "b", "query": {"a": 1}})", 17216},
        {R"({"aggregate": "c", "pipeline": [{"$match": {"a": 1}}], "cursor": {}})", 2},
    };
    for (const auto& one : cases) {
        EXPECT_EQ(code(run_old(one.command)), one.old_code) << one.command;
        EXPECT_EQ(code(run(one.command)), 2) << one.command;
    }
    EXPECT_EQ(code(run(R"({"explain": {"find": "c", "filter": {"a": 1}}})")), 2);
    EXPECT_EQ(code(run(R"({"find": "c", "filter": {"a": 1}})")), 2);
    EXPECT_EQ(query("test.c", R"({"a": 1})", 0)[0]["code"].to_int64(), 17007);
    EXPECT_EQ(code(run(R"({"findAndModify": "c", "query": {"_id": 1}, "remove": true})")), 0);
}

TEST_P(RepliesOf26Test, DistinctValuesOfADocumentComeInTheirOrder) {
    insert_old("test.c", {R"({"a": [3, "x", 1, null], "b": [{"c": 9}, {"c": 7}]})",
                          R"({"a": [2, 1], "b": {"c": 8}})", R"({"a": 0})"});
    EXPECT_EQ(values(R"({"distinct": "c", "key": "a"})"), "[ null, 1, 3, \"x\", 2, 0 ]");
    EXPECT_EQ(values(R"({"distinct": "c", "key": "b.c"})"), "[ 7, 9, 8 ]");
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    EXPECT_EQ(text(run_old(R"({"distinct": "c", "key": "a"})"), "values"),
              "[ null, 1, 3, \"x\", 0, 2 ]");
    EXPECT_EQ(values(R"({"distinct": "c", "key": "a"})"), "[ null, 0, 1, 2, 3, \"x\" ]");
}

TEST_P(RepliesOf26Test, DistinctOfAnArrayPositionByAnIndex) {
    insert_old("test.c", {R"({"a": [5, 1]})", R"({"a": [[7, 6], 2]})", R"({"a": {"0": 4}})",
                          R"({"a": []})", R"({"b": 1})", R"({"a": 3})"});
    const std::string without = values(R"({"distinct": "c", "key": "a.0"})");
    EXPECT_EQ(without, "[ 5, 6, 7, 4 ]");
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a.0": 1}, "name": "a0"}]})");
    EXPECT_EQ(values(R"({"distinct": "c", "key": "a.0"})"), "[ 4, 5, 6, 7 ]");
    EXPECT_EQ(values(R"({"distinct": "c", "key": "a.0", "query": {"a.0": {"$gt": 4}}})"), "[ 5 ]");
}

TEST_P(RepliesOf26Test, HintsOfACount) {
    insert_old("test.c", {R"({"_id": 1})"});
    for (const char* hint : {R"("x_1")", R"({"x": 1})"}) {
        EXPECT_EQ(
            code(run(fmt::format(R"({{"count": "c", "query": {{"_id": 1}}, "hint": {}}})", hint))),
            2);
        const std::string all = fmt::format(R"({{"count": "c", "hint": {}}})", hint);
        EXPECT_EQ(text(run_old(all), "n"), "1");
        EXPECT_EQ(code(run(all)), 2);
        EXPECT_EQ(text(run(fmt::format(R"({{"count": "none", "query": {{"_id": 1}}, "hint": {}}})",
                                       hint)),
                       "n"),
                  "0");
    }
}

TEST_P(RepliesOf26Test, DropDupsRemovesNothingFromARing) {
    run(R"({"create": "ring", "capped": true, "size": 10000})");
    insert_old("test.ring", {R"({"_id": 1, "a": 1})", R"({"_id": 2, "a": 2})"});
    // It is refused also where it would have nothing to remove, or no index to remove for.
    for (const char* more : {R"("unique": true, "dropDups": true)", R"("dropDups": true)",
                             R"("unique": true, "dropDups": 1, "background": true)"}) {
        const bson::Object reply = run_old(fmt::format(
            R"({{"createIndexes": "ring", "indexes": [{{"key": {{"a": 1}}, "name": "a", {}}}]}})",
            more));
        EXPECT_EQ(code(reply), 67) << more;
    }
    for (const char* more : {R"("unique": true, "dropDups": false)", R"("dropDups": null)"}) {
        const bson::Object reply = run_old(fmt::format(
            R"({{"createIndexes": "ring", "indexes": [{{"key": {{"a": 1}}, "name": "a", {}}}]}})",
            more));
        EXPECT_EQ(code(reply), 0) << more;
        run(R"({"dropIndexes": "ring", "index": "a"})");
    }
}

TEST_P(RepliesOf26Test, NaturalOrderIsATableScan) {
    insert_old("test.c", {R"({"_id": 1, "a": 1})"});
    options::no_table_scan.set(true);
    const auto refused = [this](const char* json) {
        return query("test.c", json, 0).at(0)["code"].to_int32();
    };
    EXPECT_EQ(refused(R"({"$query": {"a": 1}, "$hint": {"$natural": 1}})"), 17007);
    EXPECT_EQ(refused(R"({"$query": {"a": 1}, "$orderby": {"$natural": -1}})"), 17007);
    EXPECT_EQ(refused(R"({"$query": {"_id": 1, "a": 1}, "$hint": {"$natural": 1}})"), 17007);
    EXPECT_EQ(query("test.c", R"({"$query": {}, "$hint": {"$natural": 1}})", 0).size(), 1U);
    EXPECT_EQ(code(run(R"({"parallelCollectionScan": "c", "numCursors": 1})")), 0);
    options::no_table_scan.set(false);
    EXPECT_EQ(query("test.c", R"({"$query": {"a": 1}, "$hint": {"$natural": 1}})", 0).size(), 1U);
}

TEST_P(RepliesOf26Test, ACollectionOfUsersCanBeRenamed) {
    insert_old("test.c", {R"({"_id": 1})"});
    const auto rename = [this](const char* from, const char* to) {
        return code(
            run(fmt::format(R"({{"renameCollection": "{}", "to": "{}"}})", from, to), "admin"));
    };
    EXPECT_EQ(rename("test.c", "test.system.users"), 0);
    EXPECT_EQ(rename("test.system.users", "test.system.js"), 0);
    EXPECT_EQ(rename("test.system.js", "test.c"), 0);
    for (const char* name : {"test.system.indexes", "test.system.namespaces", "test.system.profile",
                             "test.system.x"}) {
        EXPECT_EQ(rename("test.c", name), 20) << name;
        EXPECT_EQ(rename(name, "test.d"), 20) << name;
    }
    EXPECT_EQ(first("test.c", "{}").doc().has("_id"), true);
}

TEST_P(RepliesOf26Test, GodinsertNeedsAnIdWhereAnIndexDoes) {
    EXPECT_EQ(code(run(R"({"godinsert": "c", "obj": {"a": 1}})")), 1);
    EXPECT_EQ(code(run(R"({"godinsert": "c", "obj": {"_id": 1, "$a": 1}})")), 0);
    EXPECT_EQ(code(run(R"({"godinsert": "system.profile", "obj": {"_id": 1}})")), 2);
    EXPECT_EQ(text(first("test.c", "{}"), "$a"), "1");
    run_old(R"({"create": "ring", "capped": true, "size": 4096, "autoIndexId": false})");
    EXPECT_EQ(code(run(R"({"godinsert": "ring", "obj": {"a": 1}})")), 0);
}

TEST_P(RepliesOf26Test, FeaturesTellTheMachineBefore) {
    const bson::Object plain = run(R"({"features": 1})");
    EXPECT_FALSE(plain.doc().has("oidMachineOld"));
    const bson::Object reset = run(R"({"features": 1, "oidReset": 1})");
    EXPECT_EQ(text(reset, "oidMachineOld"), text(plain, "oidMachine"));
    EXPECT_EQ(text(reset, "oidMachine"), text(run(R"({"features": 1})"), "oidMachine"));
}

TEST_P(RepliesOf26Test, FileMd5NeedsItsIndex) {
    EXPECT_EQ(text(run(R"({"filemd5": 1})"), "numChunks"), "0");
    insert_old("test.fs.chunks", {R"({"_id": 1, "files_id": 1, "n": 0,
                                      "data": {"$binary": {"base64": "YQ==", "subType": "00"}}})"});
    EXPECT_EQ(code(run(R"({"filemd5": 1})")), 17241);
    const char* const kKeys[] = {R"({"files_id": 1})", R"({"files_id": 1, "n": 1})"};
    for (const char* key : kKeys) {
        run(fmt::format(R"({{"createIndexes": "fs.chunks",
                             "indexes": [{{"key": {}, "name": "x"}}]}})",
                        key));
        EXPECT_EQ(text(run(R"({"filemd5": 1})"), "md5"), "\"0cc175b9c0f1b6a831c399e269772661\"");
        run(R"({"dropIndexes": "fs.chunks", "index": "x"})");
    }
}

TEST_P(RepliesOf26Test, FieldPathsOfPipelinesHaveNoNul) {
    insert_old("test.c", {R"({"_id": 1})"});
    const char* const kStages[] = {
        R"({"$project": {"x": "$a\u0000b"}})",
        R"({"$project": {"x": "$$ROOT.a\u0000"}})",
        R"({"$group": {"_id": "$a.b\u0000"}})",
        R"({"$group": {"_id": 1, "x": {"$sum": "$\u0000"}}})",
        R"({"$unwind": "$a\u0000.b"})",
    };
    for (const char* stage : kStages)
        EXPECT_EQ(code(run(fmt::format(R"({{"aggregate": "c", "pipeline": [{}], "cursor": {{}}}})",
                                       stage))),
                  16411)
            << stage;
}

TEST_P(RepliesOf26Test, TailableCursorsComeInNaturalOrder) {
    run(R"({"create": "ring", "capped": true, "size": 4096})");
    insert_old("test.ring", {R"({"_id": 2})", R"({"_id": 1})"});
    const auto tail = [this](const char* sort) {
        const std::string asked = fmt::format(R"({{"$query": {{}}, "$orderby": {}}})", sort);
        return documents(query_bytes("test.ring", asked, 0, wire::kTailable)).at(0);
    };
    EXPECT_EQ(tail(R"({"_id": 1})")["code"].to_int32(), 17287);
    EXPECT_EQ(tail(R"({"$natural": 1})")["_id"].to_int32(), 2);
    EXPECT_EQ(tail(R"({"$natural": -1})")["code"].to_int32(), 17287);
    EXPECT_EQ(code(run(R"({"find": "ring", "tailable": true, "hint": {"$natural": -1}})")), 2);
    EXPECT_EQ(tail("{}")["_id"].to_int32(), 2);
    EXPECT_EQ(code(run(R"({"find": "ring", "tailable": true, "sort": {"_id": 1}})")), 2);
}

TEST_P(RepliesOf26Test, AReadReservesNoName) {
    EXPECT_TRUE(query("Upper.c", "{}", 0).empty());
    EXPECT_EQ(code(run(R"({"insert": "c", "documents": [{}]})", "upper")), 0);
    EXPECT_EQ(query("UPPER.c", "{}", 0).at(0)["code"].to_int32(), 13297);
}

INSTANTIATE_TEST_SUITE_P(engines, RepliesOf26Test, kTestEngines, engine_name);

}  // namespace
}  // namespace command

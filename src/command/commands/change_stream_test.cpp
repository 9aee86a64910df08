// Change streams on a set of one member: which events come, what they say, and how a client goes
// on.
#include <fmt/core.h>

#include <future>
#include <thread>

#include "base/error.h"
#include "command/commands/testing/replica_set.h"
#include "command/streams/stream_request.h"

namespace command {
namespace {

class ChangeStreamTest : public ReplicaSetTest, public catalog::EngineParam {
  protected:
    ChangeStreamTest() : ReplicaSetTest(false, GetParam()) { initiate(); }

    struct Stream {
        int64_t id = 0;
        std::string db, collection;
        std::vector<bson::Object> events;
        bson::Object token;
        bson::Object reply;
    };

    void keep(Stream& stream, const char* batch, const bson::Object& reply) {
        stream.reply = reply;
        stream.id = reply.doc().at_path("cursor.id").to_int64();
        if (code(reply) != 0) return;
        for (const bson::Element& e : reply.doc().at_path(fmt::format("cursor.{}", batch)).as_doc())
            stream.events.emplace_back(e.as_doc());
        stream.token = bson::Object(reply.doc().at_path("cursor.postBatchResumeToken").as_doc());
        EXPECT_FALSE(stream.token.empty());
    }
    // `target`: a name, or 1.
    Stream open_stream(const std::string& target, const bson::Object& spec = bson::from_json("{}"),
                       const std::string& behind = "[]", const std::string& db = "test") {
        Stream stream;
        stream.db = db;
        stream.collection = target == "1" ? "$cmd.aggregate" : target;
        bson::Builder command;
        if (target == "1")
            command.append("aggregate", 1);
        else
            command.append("aggregate", target);
        {
            bson::Builder stages = command.sub_array("pipeline");
            stages.push(bson::make("$changeStream", spec));
            const bson::Object more = bson::from_json(fmt::format(R"({{"a": {}}})", behind));
            for (const bson::Element& e : more["a"].as_doc())
                stages.push(e.as_doc());
        }
        command.append("cursor", bson::from_json("{}"));
        keep(stream, "firstBatch", run(command.object(), db));
        return stream;
    }
    bson::Object get_more(Stream& stream, int await_ms) {
        return run(fmt::format(R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "{}",
                                    "maxTimeMS": {}}})",
                               stream.id, stream.collection, await_ms),
                   stream.db);
    }
    // Reads until there are so many events.
    void read(Stream& stream, size_t count) {
        while (stream.events.size() < count && stream.id != 0 && code(stream.reply) == 0)
            keep(stream, "nextBatch", get_more(stream, 1000));
        EXPECT_EQ(stream.events.size(), count);
        if (stream.id != 0) keep(stream, "nextBatch", get_more(stream, 1));
        EXPECT_EQ(stream.events.size(), count);
    }
    static std::string kinds(const Stream& stream) {
        std::string text;
        for (const bson::Object& event : stream.events)
            text += fmt::format("{} ", event["operationType"].as_string());
        return text;
    }
    void do_all(std::initializer_list<const char*> commands, const std::string& db = "test") {
        for (const char* command : commands)
            EXPECT_EQ(code(run(command, db)), 0) << command;
    }
    static std::string fields(const bson::Object& event, std::initializer_list<const char*> names) {
        std::string text;
        for (const char* name : names)
            text += fmt::format("{} ", bson::to_text(event[name]));
        return text;
    }
    static bson::Object with(const char* field, const bson::Object& token) {
        return bson::make(field, token);
    }
};

TEST_P(ChangeStreamTest, EventsTellOfChanges) {
    Stream stream = open_stream("c");
    EXPECT_TRUE(stream.events.empty());
    EXPECT_NE(stream.id, 0);
    do_all({R"({"insert": "c", "documents": [{"_id": 1, "a": {"b": 1}, "l": [1, 2]}]})",
            R"({"insert": "other", "documents": [{"_id": 1}]})",
            R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a.b": 2, "n": 5},
                                                                   "$unset": {"l": 1}}}]})",
            R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"_id": 1, "x": 1}}]})",
            R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})"});
    read(stream, 4);
    EXPECT_EQ(kinds(stream), "insert update replace delete ");
    const bson::Object& inserted = stream.events[0];
    EXPECT_EQ(fields(inserted, {"fullDocument", "ns", "documentKey"}),
              "{ _id: 1, a: { b: 1 }, l: [ 1, 2 ] } { db: \"test\", coll: \"c\" } { _id: 1 } ");
    EXPECT_EQ(inserted["clusterTime"].type(), bson::Type::timestamp);
    EXPECT_EQ(inserted["wallTime"].type(), bson::Type::date);
    EXPECT_EQ(inserted["wallTime"].as_date() / 1000,
              static_cast<int64_t>(inserted["clusterTime"].as_timestamp() >> 32));
    std::string names;
    for (const bson::Element& e : inserted)
        names += fmt::format("{} ", e.name());
    EXPECT_EQ(names, "_id operationType clusterTime wallTime fullDocument ns documentKey ");
    EXPECT_EQ(fields(stream.events[1], {"documentKey", "updateDescription"}),
              "{ _id: 1 } { updatedFields: { a.b: 2, n: 5 }, removedFields: [ \"l\" ], "
              "truncatedArrays: [] } ");
    EXPECT_TRUE(stream.events[1]["fullDocument"].missing());
    EXPECT_EQ(fields(stream.events[2], {"fullDocument", "documentKey"}),
              "{ _id: 1, x: 1 } { _id: 1 } ");
    EXPECT_EQ(fields(stream.events[3], {"documentKey"}), "{ _id: 1 } ");
    EXPECT_TRUE(stream.events[3]["fullDocument"].missing());
    for (size_t i = 1; i < 4; ++i)
        EXPECT_LT(stream.events[i - 1].doc().at_path("_id._data").as_string(),
                  stream.events[i].doc().at_path("_id._data").as_string());
}

TEST_P(ChangeStreamTest, AnUpdateCanShowTheDocument) {
    Stream stream = open_stream("c", bson::from_json(R"({"fullDocument": "updateLookup"})"));
    do_all({R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})",
            R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}, "multi": true}]})",
            R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 2}}}]})",
            R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]})"});
    read(stream, 6);
    EXPECT_EQ(fields(stream.events[2], {"fullDocument"}), "{ _id: 1, a: 2 } ");
    EXPECT_EQ(fields(stream.events[3], {"fullDocument"}), "null ");
}

TEST_P(ChangeStreamTest, ADropEndsTheStreamOfACollection) {
    Stream stream = open_stream("c");
    Stream of_database = open_stream("1");
    do_all({R"({"insert": "c", "documents": [{"_id": 1}]})", R"({"drop": "c"})",
            R"({"insert": "c", "documents": [{"_id": 2}]})"});
    read(stream, 3);
    EXPECT_EQ(kinds(stream), "insert drop invalidate ");
    EXPECT_EQ(stream.id, 0);
    EXPECT_EQ(fields(stream.events[1], {"ns"}), "{ db: \"test\", coll: \"c\" } ");
    EXPECT_TRUE(stream.events[2]["ns"].missing());
    // Behind an invalidate only startAfter goes on.
    const bson::Object last(stream.events[2]["_id"].as_doc());
    EXPECT_EQ(code(open_stream("c", with("resumeAfter", last)).reply), base::kInvalidResumeToken);
    Stream again = open_stream("c", with("startAfter", last));
    read(again, 1);
    EXPECT_EQ(fields(again.events[0], {"documentKey"}), "{ _id: 2 } ");
    // Behind the drop it comes.
    Stream behind_drop =
        open_stream("c", with("resumeAfter", bson::Object(stream.events[1]["_id"].as_doc())));
    read(behind_drop, 1);
    EXPECT_EQ(kinds(behind_drop), "invalidate ");
    read(of_database, 3);
    EXPECT_EQ(kinds(of_database), "insert drop insert ");
    EXPECT_NE(of_database.id, 0);
}

TEST_P(ChangeStreamTest, RenamesAndDropsOfDatabases) {
    do_all({R"({"insert": "a", "documents": [{"_id": 1}]})",
            R"({"insert": "c", "documents": [{"_id": 1}]})"});
    Stream from = open_stream("a");
    Stream to = open_stream("b");
    Stream dropped = open_stream("c");
    Stream database = open_stream("1");
    Stream cluster =
        open_stream("1", bson::from_json(R"({"allChangesForCluster": true})"), "[]", "admin");
    do_all({R"({"renameCollection": "test.a", "to": "test.b"})"}, "admin");
    do_all({R"({"dropDatabase": 1})"});
    do_all({R"({"insert": "c", "documents": [{"_id": 1}]})"}, "more");
    for (Stream* each : {&from, &to}) {
        read(*each, 2);
        EXPECT_EQ(kinds(*each), "rename invalidate ");
        EXPECT_EQ(fields(each->events[0], {"ns", "to"}),
                  "{ db: \"test\", coll: \"a\" } { db: \"test\", coll: \"b\" } ");
    }
    read(dropped, 2);
    EXPECT_EQ(kinds(dropped), "drop invalidate ");
    read(database, 5);
    EXPECT_EQ(kinds(database), "rename drop drop dropDatabase invalidate ");
    EXPECT_EQ(database.id, 0);
    EXPECT_EQ(fields(database.events[3], {"ns"}), "{ db: \"test\" } ");
    read(cluster, 5);
    EXPECT_EQ(kinds(cluster), "rename drop drop dropDatabase insert ");
    // In the middle of an entry.
    Stream middle =
        open_stream("1", with("resumeAfter", bson::Object(database.events[1]["_id"].as_doc())));
    read(middle, 3);
    EXPECT_EQ(kinds(middle), "drop dropDatabase invalidate ");
}

TEST_P(ChangeStreamTest, GoesOnBehindAnyToken) {
    Stream whole = open_stream("c");
    const bson::Object start = whole.token;
    for (int i = 0; i < 20; ++i) {
        do_all({fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}}}]}})", i).c_str(),
                R"({"insert": "other", "documents": [{}]})"});
    }
    read(whole, 20);
    for (size_t i = 0; i < whole.events.size(); ++i) {
        Stream rest = open_stream("c", with(i % 2 == 0 ? "resumeAfter" : "startAfter",
                                            bson::Object(whole.events[i]["_id"].as_doc())));
        read(rest, 19 - i);
        if (!rest.events.empty()) {
            EXPECT_EQ(rest.events[0].doc().at_path("documentKey._id").to_int64(),
                      static_cast<int64_t>(i + 1));
        }
    }
    Stream from_start = open_stream("c", with("resumeAfter", start));
    read(from_start, 20);
    // The token of an empty batch is behind all that was scanned.
    Stream behind = open_stream("c", with("resumeAfter", whole.token));
    read(behind, 0);
    EXPECT_EQ(behind.token["_data"].as_string(), whole.token["_data"].as_string());
    const auto at_time = [&](uint64_t ts) {
        bson::Builder spec;
        spec.append_timestamp("startAtOperationTime", ts);
        return open_stream("c", spec.object());
    };
    Stream at = at_time(whole.events[5]["clusterTime"].as_timestamp());
    const bson::Object before = at.token;
    read(at, 15);
    Stream later = at_time(member_->last().ts + (uint64_t{1} << 32) * 1000);
    EXPECT_EQ(code(later.reply), 0);
    do_all({R"({"insert": "c", "documents": [{"_id": 100}]})"});
    read(at, 16);
    read(later, 0);
    EXPECT_EQ(code(at_time(1).reply), base::kChangeStreamHistoryLost);
}

TEST_P(ChangeStreamTest, AStageBehindChoosesAndChanges) {
    Stream stream = open_stream("c", bson::from_json("{}"),
                                R"([{"$match": {"operationType": "insert", "fullDocument.a": 2}},
                                    {"$project": {"fullDocument": 1}},
                                    {"$addFields": {"more": "$fullDocument.a"}}])");
    do_all({R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})",
            R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 2}}}]})",
            R"({"insert": "c", "documents": [{"_id": 3, "a": 2}]})"});
    read(stream, 2);
    EXPECT_EQ(fields(stream.events[0], {"fullDocument", "more"}), "{ _id: 2, a: 2 } 2 ");
    // A client that takes the token away cannot go on.
    Stream without = open_stream("c", bson::from_json("{}"), R"([{"$project": {"_id": 0}}])");
    do_all({R"({"insert": "c", "documents": [{"_id": 4}]})"});
    const bson::Object reply = get_more(without, 1000);
    EXPECT_EQ(code(reply), base::kChangeStreamFatalError);
    EXPECT_EQ(text(reply, "errorLabels"), "[ \"NonResumableChangeStreamError\" ]");
}

TEST_P(ChangeStreamTest, AWaitHoldsNoThreadAndEndsWithTheNextEvent) {
    Stream stream = open_stream("c");
    auto reply = std::async(std::launch::async, [&] { return get_more(stream, 600'000); });
    const auto waits = [this] {
        const storage::DatabaseLock lock(engine_->locks(), "local", false);
        return catalog_->collection(oplog::kSetLog)->waiters().size() > 0;
    };
    while (!waits())
        std::this_thread::yield();
    TestConnection other;
    other.open(*service_, 2);
    other.run(R"({"insert": "elsewhere", "documents": [{"_id": 1}]})");
    other.run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    keep(stream, "nextBatch", reply.get());
    EXPECT_EQ(kinds(stream), "insert ");
    const bson::Object empty = get_more(stream, 1);
    EXPECT_EQ(code(empty), 0);
    EXPECT_TRUE(empty.doc().at_path("cursor.nextBatch").as_doc().empty());
}

TEST_P(ChangeStreamTest, SmallBatchesLoseNothing) {
    Stream stream = open_stream("c");
    const std::string big(3 << 20, 'x');
    for (int i = 0; i < 12; ++i)
        do_all({fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}, "b": "{}"}}]}})", i,
                            big.substr(0, 60'000))
                    .c_str()});
    std::vector<int64_t> seen;
    while (seen.size() < 12) {
        const bson::Object reply =
            run(fmt::format(R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "c",
                                 "batchSize": 5, "maxTimeMS": 1000}})",
                            stream.id));
        ASSERT_EQ(code(reply), 0);
        const bson::Doc batch = reply.doc().at_path("cursor.nextBatch").as_doc();
        bson::Object last;
        for (const bson::Element& e : batch) {
            seen.push_back(e.as_doc().at_path("documentKey._id").to_int64());
            last = bson::Object(e.as_doc()["_id"].as_doc());
        }
        EXPECT_EQ(bson::to_text(last.doc()),
                  text(bson::Object(reply["cursor"].as_doc()), "postBatchResumeToken"));
    }
    for (size_t i = 0; i < seen.size(); ++i)
        EXPECT_EQ(seen[i], static_cast<int64_t>(i));
}

TEST_P(ChangeStreamTest, WhatTheLogHasNotIsRefusedForGood) {
    Stream stream = open_stream("c");
    do_all({R"({"insert": "c", "documents": [{"_id": 1}]})"});
    read(stream, 1);
    const bson::Object first(stream.events[0]["_id"].as_doc());
    // The same place by another history.
    std::string data(first["_data"].as_string());
    data[2 + 16 + 15] = '7';
    Stream unknown = open_stream("c", with("resumeAfter", bson::make("_data", data)));
    if (code(unknown.reply) == 0) unknown.reply = get_more(unknown, 1000);
    EXPECT_EQ(code(unknown.reply), base::kChangeStreamFatalError);
    // The log has a megabyte.
    const std::string big(100'000, 'x');
    for (int i = 0; i < 30; ++i)
        do_all({fmt::format(R"({{"insert": "c", "documents": [{{"b": "{}"}}]}})", big).c_str()});
    const Stream lost = open_stream("c", with("resumeAfter", first));
    EXPECT_EQ(code(lost.reply), base::kChangeStreamHistoryLost);
    EXPECT_EQ(text(lost.reply, "errorLabels"), "[ \"NonResumableChangeStreamError\" ]");
    const bson::Object overtaken = get_more(stream, 1000);
    EXPECT_EQ(code(overtaken), base::kChangeStreamHistoryLost);
    EXPECT_EQ(text(overtaken, "errorLabels"), "[ \"NonResumableChangeStreamError\" ]");
}

TEST_P(ChangeStreamTest, OddRequestsAreRefused) {
    const auto code_of = [&](const char* spec, const char* behind = "[]",
                             const std::string& target = "c", const std::string& db = "test") {
        return code(open_stream(target, bson::from_json(spec), behind, db).reply);
    };
    EXPECT_EQ(code_of(R"({"x": 1})"), 40415);
    EXPECT_EQ(code_of(R"({"fullDocument": "all"})"), base::kBadValue);
    EXPECT_EQ(code_of(R"({"fullDocument": 1})"), base::kTypeMismatch);
    for (const char* spec :
         {R"({"fullDocument": "required"})", R"({"fullDocument": "whenAvailable"})",
          R"({"fullDocumentBeforeChange": "required"})",
          R"({"fullDocumentBeforeChange": "whenAvailable"})", R"({"showExpandedEvents": true})",
          R"({"allChangesForCluster": true})"})
        EXPECT_EQ(code_of(spec), base::kInvalidOptions) << spec;
    EXPECT_EQ(code_of(R"({"fullDocumentBeforeChange": "off", "showExpandedEvents": false,
                          "fullDocument": "default", "allChangesForCluster": false})"),
              0);
    EXPECT_EQ(code_of(R"({"resumeAfter": 1})"), base::kTypeMismatch);
    EXPECT_EQ(code_of(R"({"resumeAfter": {}})"), 40649);
    for (const char* spec :
         {R"({"resumeAfter": {"_data": 1}})", R"({"resumeAfter": {"_data": "82"}})",
          R"({"resumeAfter": {"_data": "82000000000000000x00000000000000010000000"}})"})
        EXPECT_EQ(code_of(spec), base::kInvalidResumeToken) << spec;
    const std::string token = bson::to_json(open_stream("c").token.doc());
    EXPECT_EQ(code_of(fmt::format(R"({{"resumeAfter": {0}, "startAfter": {0}}})", token).c_str()),
              50674);
    bson::Builder both;
    both.append("resumeAfter", bson::from_json(token)).append_timestamp("startAtOperationTime", 7);
    EXPECT_EQ(code(open_stream("c", both.object()).reply), 40674);
    for (const char* behind : {R"([{"$group": {"_id": 1}}])", R"([{"$sort": {"_id": 1}}])",
                               R"([{"$lookup": {}}])", R"([{"$out": "x"}])", R"([{"$limit": 1}])"})
        EXPECT_EQ(code_of("{}", behind), base::kIllegalOperation) << behind;
    EXPECT_EQ(code_of("{}", R"([{"$changeStream": {}}])"), 40602);
    EXPECT_EQ(code_of("{}", R"([{"$noSuchStage": 1}])"), 40324);
    for (const auto& [level, expected] : {std::pair("majority", 0),
                                          {"local", base::kInvalidOptions},
                                          {"available", base::kInvalidOptions},
                                          {"snapshot", base::kInvalidOptions}})
        EXPECT_EQ(code(run(fmt::format(R"({{"aggregate": "c", "cursor": {{}},
                                            "pipeline": [{{"$changeStream": {{}}}}],
                                            "readConcern": {{"level": "{}"}}}})",
                                       level))),
                  expected)
            << level;
    EXPECT_EQ(code(run(R"({"aggregate": "c", "cursor": {},
                           "pipeline": [{"$match": {}}, {"$changeStream": {}}]})")),
              40602);
    for (const char* db : {"admin", "local", "config"})
        EXPECT_EQ(code_of("{}", "[]", "c", db), base::kInvalidNamespace) << db;
    EXPECT_EQ(code_of("{}", "[]", "system.users"), base::kInvalidNamespace);
    do_all({R"({"create": "v", "viewOn": "c", "pipeline": []})"});
    EXPECT_EQ(code_of("{}", "[]", "v"), base::kCommandNotSupportedOnView);
    EXPECT_EQ(code(run(R"({"aggregate": "c", "pipeline": [{"$changeStream": {}}],
                           "explain": true})")),
              base::kInvalidOptions);
    EXPECT_EQ(code(run(R"({"aggregate": "c", "pipeline": [{"$changeStream": {}}], "cursor": {},
                           "readConcern": {"level": "majority"}})")),
              0);
    EXPECT_EQ(code(run_old(R"({"aggregate": "c", "pipeline": [{"$changeStream": {}}],
                               "cursor": {}})")),
              40573);
}

TEST_P(ChangeStreamTest, OutsideOfASetThereIsNone) {
    context_.member = nullptr;
    Service alone(*catalog_, context_, all_families());
    TestConnection connection;
    connection.open(alone, 3);
    const bson::Object reply =
        connection.run(R"({"aggregate": "c", "pipeline": [{"$changeStream": {}}], "cursor": {}})");
    EXPECT_EQ(code(reply), 40573);
    EXPECT_EQ(reply["errmsg"].as_string(),
              "The $changeStream stage is only supported on replica sets");
}

INSTANTIATE_TEST_SUITE_P(engines, ChangeStreamTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

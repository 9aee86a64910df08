// Writes that wait for other members of the set, which the test plays: what their answers say, what
// ends the waits, and that a wait keeps nothing.
#include <fmt/core.h>

#include "base/error.h"
#include "base/testing/failure.h"
#include "command/commands/testing/set_of_three.h"
#include "dialect/dialect.h"

namespace command {
namespace {

constexpr const char* kTimedOut =
    "{ code: 64, codeName: \"WriteConcernFailed\", errmsg: \"waiting for replication timed out\", "
    "errInfo: { wtimeout: true } }";

class WriteWaitTest : public SetOfThreeTest {
  protected:
    explicit WriteWaitTest(bool journal = false) : SetOfThreeTest(journal) {}
    static std::string insert(const std::string& concern, const char* more = "") {
        return fmt::format(R"({{"insert": "c", "documents": [{{"a": 1}}], "writeConcern": {}{}}})",
                           concern, more);
    }
};

TEST_F(WriteWaitTest, AReplyComesOnceSoManyHaveIt) {
    auto two = begin(insert(R"({"w": 2})"));
    report("b:1", {1, member_->last().ts - 1}, {});
    EXPECT_TRUE(member_->progress().is_awaited());
    EXPECT_FALSE(is_ready(two));
    reports_all("b:1");
    const bson::Object reply = two.get();
    EXPECT_EQ(code(reply), 0);
    EXPECT_EQ(concern_error(reply), "");
    EXPECT_EQ(reply["n"].to_int32(), 1);
    auto three = begin(insert(R"({"w": 3})"));
    reports_all("b:1");
    EXPECT_TRUE(member_->progress().is_awaited());
    reports_all("c:1");
    EXPECT_EQ(concern_error(three.get()), "");
    auto both = begin(insert(R"({"w": "both"})"));
    reports_all("b:1");
    EXPECT_TRUE(member_->progress().is_awaited());
    reports_all("c:1");
    EXPECT_EQ(concern_error(both.get()), "");
    EXPECT_EQ(count(), 3);
    EXPECT_EQ(concern_error(run(insert(R"({"w": 1})"))), "");
}

TEST_F(WriteWaitTest, EachKindOfWriteWaits) {
    reports_all("b:1");
    for (const char* command :
         {R"({"create": "c", "writeConcern": {"w": 2}})",
          R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 2}})",
          R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}],
              "writeConcern": {"w": 2}})",
          R"({"findAndModify": "c", "query": {}, "update": {"$inc": {"a": 1}},
              "writeConcern": {"w": 2}})",
          R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}],
              "writeConcern": {"w": 2}})",
          R"({"aggregate": "c", "pipeline": [{"$out": "o"}], "cursor": {},
              "writeConcern": {"w": 2}})",
          R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}], "writeConcern": {"w": 2}})",
          R"({"dropIndexes": "c", "index": "a", "writeConcern": {"w": 2}})",
          R"({"drop": "c", "writeConcern": {"w": 2}})",
          R"({"dropDatabase": 1, "writeConcern": {"w": 2}})"}) {
        SCOPED_TRACE(command);
        auto waits = begin(std::string(command));
        reports_all("b:1");
        const bson::Object reply = waits.get();
        EXPECT_EQ(code(reply), 0);
        EXPECT_EQ(concern_error(reply), "");
    }
}

TEST_F(WriteWaitTest, ATimeEndsTheWaitAndTheWriteIsDone) {
    for (const dialect::Dialect dialect : {dialect::kToday, dialect::kV26}) {
        const std::string command = insert(R"({"w": 2, "wtimeout": 1})");
        const bson::Object reply = dialect.is_today() ? run(command) : run_old(command);
        EXPECT_EQ(concern_error(reply), kTimedOut);
        EXPECT_EQ(reply["n"].to_int32(), 1);
    }
    EXPECT_EQ(count(), 2);
    EXPECT_FALSE(member_->progress().is_awaited());
    const bson::Object status = run(R"({"serverStatus": 1})");
    const bson::Doc counts = status.doc().at_path("metrics.getLastError").as_doc();
    EXPECT_EQ(counts["wtimeouts"].to_int64(), 2);
    EXPECT_EQ(counts.at_path("wtime.num").to_int64(), 2);
    // A time that is not needed.
    auto in_time = begin(insert(R"({"w": 2, "wtimeout": 3600000})"));
    reports_all("c:1");
    EXPECT_EQ(concern_error(in_time.get()), "");
    // maxTimeMS ends it, too.
    const bson::Object late = run(insert(R"({"w": 3})", R"(, "maxTimeMS": 30)"));
    EXPECT_EQ(late.doc().at_path("writeConcernError.code").to_int32(), base::kExceededTimeLimit);
    EXPECT_TRUE(late.doc().at_path("writeConcernError.errInfo").missing());
}

TEST_F(WriteWaitTest, WhatEndsARequestEndsItsWait) {
    auto killed = begin(insert(R"({"w": 2})"));
    kill_all();
    const bson::Object reply = killed.get();
    EXPECT_EQ(reply.doc().at_path("writeConcernError.code").to_int32(), base::kInterrupted);
    EXPECT_EQ(reply["n"].to_int32(), 1);
    EXPECT_FALSE(member_->progress().is_awaited());
    EXPECT_EQ(count(), 1);
}

TEST_F(WriteWaitTest, AnotherStateEndsAllWaits) {
    constexpr const char* kNumbered =
        R"(, "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==", "subType": "04"}}},
           "txnNumber": {"$numberLong": "1"})";
    auto waits = begin(insert(R"({"w": "majority"})", kNumbered));
    hear_of_primary("b:1");
    const bson::Object reply = waits.get();
    EXPECT_EQ(reply.doc().at_path("writeConcernError.code").to_int32(), base::kPrimarySteppedDown);
    EXPECT_EQ(text(reply, "errorLabels"), "[ \"RetryableWriteError\" ]");
    EXPECT_EQ(base::failure([this] { reports_all("b:1"); }), base::kNotWritablePrimary);
}

TEST_F(WriteWaitTest, AConfigurationWithoutSuchMembersEndsIt) {
    auto waits = begin(insert(R"({"w": 3})"));
    const std::string one = R"({"_id": "rs0", "version": 2, "members":
        [{"_id": 0, "host": "here:27017"}, {"_id": 1, "host": "b:1", "priority": 0}]})";
    member_->reconfigure(bson::from_json(one), false);
    const bson::Object reply = waits.get();
    EXPECT_EQ(reply.doc().at_path("writeConcernError.code").to_int32(),
              base::kUnsatisfiableWriteConcern);
}

// The writes of the first try may be on no other member yet.
TEST_F(WriteWaitTest, ARetryWaitsAsWell) {
    constexpr const char* kNumbered =
        R"(, "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==", "subType": "04"}}},
           "txnNumber": {"$numberLong": "1"})";
    EXPECT_EQ(concern_error(run(insert(R"({"w": 2, "wtimeout": 1})", kNumbered))), kTimedOut);
    auto again = begin(insert(R"({"w": 2})", kNumbered));
    reports_all("b:1");
    const bson::Object reply = again.get();
    EXPECT_EQ(concern_error(reply), "");
    EXPECT_EQ(reply["n"].to_int32(), 1);
    EXPECT_EQ(count(), 1);
}

// The documents that are there already may be on no other member yet, either.
TEST_F(WriteWaitTest, WhoChangesNothingWaitsForWhatIsThere) {
    EXPECT_EQ(code(run(insert("{}"))), 0);
    constexpr const char* kUpdate =
        R"({"update": "c", "updates": [{"q": {"a": 1}, "u": {"$set": {"a": 1}}}],
            "writeConcern": {"w": 2}})";
    auto waits = begin(std::string(kUpdate));
    reports_all("b:1");
    EXPECT_EQ(concern_error(waits.get()), "");
    EXPECT_EQ(concern_error(run(kUpdate)), "");
}

TEST_F(WriteWaitTest, GetLastErrorWaitsForTheLastWriteOfItsConnection) {
    constexpr const char* kTwo = R"({"getlasterror": 1, "w": 2})";
    // This connection has written nothing.
    EXPECT_EQ(code(run_old(kTwo)), 0);
    insert_old("test.c", {R"({"_id": 1})"});
    auto waits = begin([this] { return run_old(kTwo); });
    reports_all("b:1");
    const bson::Object reply = waits.get();
    EXPECT_EQ(code(reply), 0);
    EXPECT_EQ(reply["err"].type(), bson::Type::null);
    EXPECT_TRUE(reply["wtimeout"].missing());
    EXPECT_TRUE(reply["wtime"].is_number());
    const bson::Doc written = reply["writtenTo"].as_doc();
    EXPECT_EQ(written.field_count(), 2);
    EXPECT_EQ(written.at_path("0.host").as_string(), "here:27017");
    EXPECT_EQ(written.at_path("1.host").as_string(), "b:1");
    EXPECT_EQ(written.at_path("1.optime").as_timestamp(), member_->last().ts);
    // Its write is there, whatever others write.
    EXPECT_EQ(code(run_old(kTwo)), 0);
    insert_old("test.c", {R"({"_id": 2})"});
    const bson::Object late = run_old(R"({"getlasterror": 1, "w": 2, "wtimeout": 1})");
    EXPECT_EQ(late["ok"].to_double(), 1);
    EXPECT_EQ(late["err"].as_string(), "timeout");
    EXPECT_TRUE(late["wtimeout"].as_bool());
    EXPECT_GE(late["waited"].to_int32(), 1);
    EXPECT_EQ(late["writtenTo"].type(), bson::Type::null);
    EXPECT_EQ(late["n"].to_int32(), 0);
    // A write that failed is nothing to wait for.
    insert_old("test.c", {R"({"_id": 1})"});
    EXPECT_EQ(run_old(kTwo)["code"].to_int32(), base::kDuplicateKey);
    // Another write of that time.
    bson::Builder asked;
    asked.append("getlasterror", 1).append("w", 2).append("wtimeout", 1);
    asked.append_timestamp("wOpTime", member_->last().ts);
    EXPECT_EQ(run_old(bson::to_json(asked.object()))["err"].as_string(), "timeout");
    reports_all("b:1");
    insert_old("test.c", {R"({"_id": 3})"});
    auto killed = begin([this] { return run_old(kTwo); });
    kill_all();
    EXPECT_EQ(code(killed.get()), base::kInterrupted);
}

TEST_F(WriteWaitTest, TheSetHasAWriteConcernForWritesThatNameNone) {
    const std::string defaults = config(2, R"(, "getLastErrorDefaults": {"w": 2, "wtimeout": 1})");
    const auto told = [this] {
        return text(run(R"({"getDefaultRWConcern": 1})", "admin"), "defaultWriteConcern");
    };
    EXPECT_EQ(told(), "{ w: 1, wtimeout: 0 }");
    EXPECT_EQ(code(run_old(R"({"getDefaultRWConcern": 1})", "admin")), base::kCommandNotFound);
    member_->reconfigure(bson::from_json(defaults), false);
    EXPECT_EQ(told(), "{ w: 2, wtimeout: 1 }");
    EXPECT_EQ(concern_error(run(R"({"insert": "c", "documents": [{"a": 1}]})")), kTimedOut);
    EXPECT_EQ(concern_error(run(insert("{}"))), kTimedOut);
    EXPECT_EQ(concern_error(run_old(insert("{}"))), kTimedOut);
    EXPECT_EQ(concern_error(run(insert(R"({"w": 1})"))), "");
    EXPECT_EQ(concern_error(run(insert(R"({"j": false})"))), "");
    insert_old("test.c", {R"({"_id": 1})"});
    EXPECT_EQ(run_old(R"({"getlasterror": 1})")["err"].as_string(), "timeout");
    EXPECT_EQ(run_old(R"({"getlasterror": 1, "w": 1})")["err"].type(), bson::Type::null);
    EXPECT_EQ(concern_error(run(R"({"insert": "c", "documents": [{"a": 1}]})", "local")), "");
}

class JournaledWaitTest : public WriteWaitTest {
  protected:
    JournaledWaitTest() : WriteWaitTest(true) {}
};

TEST_F(JournaledWaitTest, JIsOfTheJournalsOfSoMany) {
    for (const char* concern : {R"({"w": 2, "j": true})", R"({"w": "majority"})"}) {
        auto waits = begin(insert(concern));
        report("b:1", member_->last(), {});
        EXPECT_TRUE(member_->progress().is_awaited()) << concern;
        EXPECT_FALSE(is_ready(waits));
        reports_all("b:1");
        EXPECT_EQ(concern_error(waits.get()), "") << concern;
        EXPECT_GE(member_->durable(), member_->progress().reached_by("b:1").durable) << concern;
    }
    auto applied = begin(insert(R"({"w": "majority", "j": false})"));
    report("b:1", member_->last(), {});
    EXPECT_EQ(concern_error(applied.get()), "");
    insert_old("test.c", {R"({"_id": 1})"});
    auto by_old = begin([this] { return run_old(R"({"getlasterror": 1, "w": 2, "j": true})"); });
    report("b:1", member_->last(), {});
    EXPECT_FALSE(is_ready(by_old));
    reports_all("b:1");
    EXPECT_EQ(by_old.get()["err"].type(), bson::Type::null);
}

// Other members are given only what this one cannot lose.
TEST_F(JournaledWaitTest, ReadersOfTheLogGetWhatTheJournalHas) {
    const bson::Object opened = run(
        R"({"find": "oplog.rs", "tailable": true, "awaitData": true, "batchSize": 1})", "local");
    const int64_t cursor = opened.doc().at_path("cursor.id").to_int64();
    ASSERT_NE(cursor, 0);
    const std::string more = fmt::format(
        R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "oplog.rs", "durable": true}})",
        cursor);
    EXPECT_EQ(code(run(insert("{}"))), 0);
    const bson::Object reply = run(more, "local");
    const bson::Doc batch = reply.doc().at_path("cursor.nextBatch").as_doc();
    EXPECT_FALSE(batch.empty());
    EXPECT_GE(member_->durable(), member_->last());
    // The position is known for no other collection.
    const bson::Object other = run(R"({"find": "c", "batchSize": 0})");
    EXPECT_EQ(code(run(fmt::format(R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "c",
                                       "durable": true}})",
                                   other.doc().at_path("cursor.id").to_int64()))),
              base::kInvalidOptions);
}

}  // namespace
}  // namespace command

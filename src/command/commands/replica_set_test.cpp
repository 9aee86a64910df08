// A member of a replica set of one: what it refuses before it is initiated, what it says of itself,
// and which write concerns it satisfies.
#include "command/commands/testing/replica_set.h"

#include <fmt/core.h>

#include "base/error.h"
#include "dialect/dialect.h"
#include "sched/testing/shutdown.h"

namespace command {
namespace {

TEST_F(ReplicaSetTest, BeforeItIsInitiatedItTakesNoWrites) {
    for (const char* command :
         {R"({"insert": "c", "documents": [{"_id": 1}]})",
          R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})",
          R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})",
          R"({"findAndModify": "c", "remove": true, "query": {}})", R"({"create": "c"})",
          R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})",
          R"({"drop": "c"})", R"({"dropDatabase": 1})"})
        expect_codes(command, base::kNotWritablePrimary, base::kNotWritablePrimary);
    EXPECT_EQ(run(R"({"create": "c"})")["errmsg"].as_string(), "not primary");
    EXPECT_EQ(run_old(R"({"create": "c"})")["errmsg"].as_string(), "not master");
    expect_codes(R"({"renameCollection": "test.c", "to": "test.d"})", base::kNotWritablePrimary,
                 base::kNotWritablePrimary, "admin");
    insert_old("test.c", {R"({"_id": 1})"});
    EXPECT_EQ(last_error(), 10058);
    update_old("test.c", "{}", R"({"a": 1})");
    EXPECT_EQ(last_error(), 10054);
    delete_old("test.c", "{}");
    EXPECT_EQ(last_error(), 10056);
    // `local` is its own.
    expect_codes(R"({"insert": "own", "documents": [{"a": 1}]})", 0, 0, "local");
    insert_old("local.own", {R"({"a": 2})"});
    EXPECT_EQ(last_error(), 0);
    EXPECT_EQ(query("local.own", "{}", 0).size(), 3U);
}

TEST_F(ReplicaSetTest, BeforeItIsInitiatedItTakesNoReads) {
    for (const char* command :
         {R"({"find": "c"})", R"({"count": "c"})", R"({"distinct": "c", "key": "a"})",
          R"({"aggregate": "c", "pipeline": [], "cursor": {}})", R"({"listCollections": 1})"})
        expect_codes(command, base::kNotPrimaryNoSecondaryOk, base::kNotPrimaryNoSecondaryOk);
    EXPECT_EQ(code(run(R"({"find": "c", "$readPreference": {"mode": "primaryPreferred"}})")),
              base::kNotPrimaryOrSecondary);
    EXPECT_EQ(code(run(R"({"find": "c", "$readPreference": {"mode": "primary"}})")),
              base::kNotPrimaryNoSecondaryOk);
    EXPECT_EQ(query("test.c", "{}", 0).at(0)["code"].to_int32(), base::kNotPrimaryNoSecondaryOk);
    EXPECT_EQ(documents(query_bytes("test.c", "{}", 0, wire::kSlaveOk)).at(0)["code"].to_int32(),
              base::kNotPrimaryOrSecondary);
    EXPECT_EQ(documents(query_bytes("test.$cmd", R"({"count": "c"})", -1, wire::kSlaveOk))
                  .at(0)["code"]
                  .to_int32(),
              base::kNotPrimaryOrSecondary);
    // Commands about the server itself are answered.
    for (const char* command :
         {R"({"ping": 1})", R"({"serverStatus": 1})", R"({"hello": 1})", R"({"getLastError": 1})",
          R"({"buildInfo": 1})", R"({"currentOp": 1})", R"({"top": 1})"})
        expect_codes(command, 0, 0, "admin");
    expect_codes(R"({"profile": 0})", 0, 0);
    expect_codes(R"({"find": "startup_log"})", 0, 0, "local");
}

TEST_F(ReplicaSetTest, BeforeItIsInitiatedItSaysSo) {
    for (const char* name : {"isMaster", "hello"}) {
        const bson::Object hello = run(fmt::format(R"({{"{}": 1}})", name));
        const bool old = std::string_view(name) == "isMaster";
        EXPECT_FALSE(hello[old ? "ismaster" : "isWritablePrimary"].as_bool());
        EXPECT_FALSE(hello["secondary"].as_bool());
        EXPECT_TRUE(hello["isreplicaset"].as_bool());
        EXPECT_EQ(hello["info"].as_string(), "Does not have a valid replica set config");
        EXPECT_TRUE(hello["setName"].missing());
        EXPECT_EQ(hello["logicalSessionTimeoutMinutes"].to_int32(), 30);
    }
    for (const char* command : {R"({"replSetGetStatus": 1})", R"({"replSetGetConfig": 1})",
                                R"({"replSetReconfig": {"_id": "rs0"}})", R"({"replSetFreeze": 1})",
                                R"({"replSetMaintenance": 1})", R"({"replSetSyncFrom": "h:1"})"})
        expect_codes(command, base::kNotYetInitialized, base::kNotYetInitialized, "admin");
    expect_codes(R"({"replSetStepDown": 1})", base::kNotWritablePrimary, base::kNotWritablePrimary,
                 "admin");
    const bson::Object repl = bson::Object(run(R"({"serverStatus": 1})")["repl"].as_doc());
    EXPECT_FALSE(repl["ismaster"].as_bool());
    EXPECT_TRUE(repl["isreplicaset"].as_bool());
}

TEST_F(ReplicaSetTest, OnceInitiatedItIsThePrimary) {
    const bson::Object reply = run(R"({"replSetInitiate": null})", "admin");
    EXPECT_EQ(code(reply), 0);
    EXPECT_EQ(reply["me"].as_string(), "here:27017");
    EXPECT_EQ(code(run(R"({"replSetInitiate": {}})", "admin")), base::kAlreadyInitialized);
    expect_codes(R"({"insert": "c", "documents": [{"a": 1}]})", 0, 0);
    EXPECT_EQ(query("test.c", "{}", 0).size(), 2U);
    const bson::Object hello = run(R"({"hello": 1})");
    EXPECT_EQ(hello["setName"].as_string(), "rs0");
    EXPECT_EQ(hello["setVersion"].as_int32(), 1);
    EXPECT_TRUE(hello["isWritablePrimary"].as_bool());
    EXPECT_FALSE(hello["secondary"].as_bool());
    EXPECT_EQ(text(hello, "hosts"), "[ \"here:27017\" ]");
    EXPECT_EQ(hello["primary"].as_string(), "here:27017");
    EXPECT_EQ(hello["me"].as_string(), "here:27017");
    EXPECT_EQ(text(hello, "electionId"), "ObjectId('7fffffff0000000000000001')");
    const bson::Doc write = hello["lastWrite"].as_doc();
    EXPECT_EQ(write.at_path("opTime.ts").as_timestamp(), member_->last().ts);
    EXPECT_EQ(write.at_path("opTime.t").as_int64(), 1);
    EXPECT_EQ(write["lastWriteDate"].as_date() / 1000,
              static_cast<int64_t>(member_->last().ts >> 32));
    EXPECT_TRUE(hello["isreplicaset"].missing());
    EXPECT_EQ(hello["logicalSessionTimeoutMinutes"].to_int32(), 30);
    EXPECT_TRUE(run_old(R"({"isMaster": 1})")["ismaster"].as_bool());
    const bson::Object status = run(R"({"serverStatus": 1})");
    EXPECT_EQ(status["repl"].as_doc()["setName"].as_string(), "rs0");
    EXPECT_TRUE(run(R"({"serverStatus": 1, "repl": 0})")["repl"].missing());
}

TEST_F(ReplicaSetTest, TellsItsStateAndItsConfiguration) {
    initiate();
    for (const dialect::Dialect dialect : {dialect::kToday, dialect::kV26}) {
        constexpr const char* kCommand = R"({"replSetGetStatus": 1})";
        const bson::Object status =
            dialect.is_today() ? run(kCommand, "admin") : run_old(kCommand, "admin");
        EXPECT_EQ(code(status), 0);
        EXPECT_EQ(status["set"].as_string(), "rs0");
        EXPECT_EQ(status["myState"].as_int32(), 1);
        const bson::Doc self = status.doc().at_path("members.0").as_doc();
        EXPECT_EQ(self["stateStr"].as_string(), "PRIMARY");
        EXPECT_EQ(self["name"].as_string(), "here:27017");
        EXPECT_TRUE(self["self"].as_bool());
        const bson::Element time =
            dialect.is_today() ? self["optime"].as_doc()["ts"] : self["optime"];
        EXPECT_EQ(time.as_timestamp(), member_->last().ts);
    }
    const bson::Object reply = run(R"({"replSetGetConfig": 1})", "admin");
    EXPECT_EQ(reply.doc().at_path("config.members.0.host").as_string(), "here:27017");
    const std::vector<bson::Object> stored = query("local.system.replset", "{}", 0);
    ASSERT_EQ(stored.size(), 1U);
    EXPECT_EQ(text(reply, "config"), bson::to_text(stored[0].doc()));
    bson::Builder command;
    {
        bson::Builder changed = command.sub_object("replSetReconfig");
        for (const bson::Element& e : stored[0])
            if (e.name() == "version")
                changed.append("version", 2);
            else
                changed.append(e);
    }
    const bson::Object reconfigure = command.object();
    EXPECT_EQ(code(run(reconfigure, "admin")), 0);
    EXPECT_EQ(run(R"({"hello": 1})")["setVersion"].as_int32(), 2);
    EXPECT_EQ(code(run(reconfigure, "admin")), base::kNewReplicaSetConfigurationIncompatible);
}

TEST_F(ReplicaSetTest, RefusesWhatNeedsOtherMembers) {
    initiate();
    for (const auto& [command, expected] : std::vector<std::pair<const char*, int>>{
             {R"({"replSetStepDown": 60})", base::kExceededTimeLimit},
             {R"({"replSetStepDown": 60, "force": true})", base::kIllegalOperation},
             {R"({"replSetStepDown": "x"})", base::kTypeMismatch},
             {R"({"replSetStepDown": -1})", base::kBadValue},
             {R"({"replSetStepDown": 5, "secondaryCatchUpPeriodSecs": 6})", base::kBadValue},
             {R"({"replSetFreeze": 60})", base::kNotSecondary},
             {R"({"replSetMaintenance": true})", base::kNotSecondary},
             {R"({"replSetSyncFrom": "h:1"})", base::kNotSecondary},
             {R"({"replSetHeartbeat": "rs9"})", base::kInconsistentReplicaSetNames},
             {R"({"replSetHeartbeat": 1})", base::kInconsistentReplicaSetNames},
             {R"({"replSetHeartbeat": "rs0"})", 0},
             {R"({"replSetUpdatePosition": 1})", base::kInconsistentReplicaSetNames},
             {R"({"replSetElect": 1})", base::kCommandNotSupported},
             {R"({"replSetFresh": 1})", base::kCommandNotSupported},
             {R"({"replSetGetRBID": 1})", 0}})
        expect_codes(command, expected, expected, "admin");
    EXPECT_TRUE(member_->role().is_primary());
}

TEST_F(ReplicaSetTest, KnowsByNameWhatItRefuses) {
    initiate();
    for (const char* command :
         {R"({"replSetStepUp": 1})", R"({"replSetAbortPrimaryCatchUp": 1})",
          R"({"replSetRequestVotes": 1})", R"({"replSetResizeOplog": 1, "size": 990})"}) {
        const bson::Object reply = run(command, "admin");
        EXPECT_EQ(code(reply), base::kCommandNotSupported) << command;
        EXPECT_NE(reply["errmsg"].as_string().find("is not supported"), std::string::npos);
    }
}

TEST_F(ReplicaSetTest, NothingMovesBetweenLocalAndOthers) {
    initiate();
    EXPECT_EQ(code(run(R"({"create": "own"})", "local")), 0);
    EXPECT_EQ(code(run(R"({"create": "c"})")), 0);
    for (const auto& [from, to] : {std::pair("local.own", "test.own"), {"test.c", "local.c"}})
        expect_codes(fmt::format(R"({{"renameCollection": "{}", "to": "{}"}})", from, to),
                     base::kIllegalOperation, base::kIllegalOperation, "admin");
    expect_codes(R"({"renameCollection": "local.own", "to": "local.other"})", 0,
                 base::kNamespaceNotFound, "admin");
}

// The command was let in while this server was the primary.
TEST_F(ReplicaSetTest, AWriteThatMeetsTheEndOfAPrimaryFailsAsAWhole) {
    initiate();
    EXPECT_EQ(code(run(R"({"insert": "c", "documents": [{"_id": 1}]})")), 0);
    {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        log_->follow();
    }
    for (const char* command : {R"({"insert": "c", "documents": [{"_id": 2}, {"_id": 3}]})",
                                R"({"insert": "c", "documents": [{"_id": 2}], "ordered": false})",
                                R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"a": 1}}]})",
                                R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})"}) {
        const bson::Object reply = run(command);
        EXPECT_EQ(code(reply), base::kInterruptedDueToReplStateChange) << command;
        EXPECT_EQ(reply["ok"].to_double(), 0.0) << command;
        EXPECT_TRUE(reply["errorLabels"].missing()) << command;
        // 2.6 answers in this way.
        const bson::Object by_old = run_old(command);
        EXPECT_EQ(by_old["ok"].to_double(), 1.0) << command;
        EXPECT_EQ(by_old.doc().at_path("writeErrors.0.code").to_int32(),
                  base::kInterruptedDueToReplStateChange);
    }
    const bson::Object numbered = run(
        R"({"insert": "c", "documents": [{"_id": 2}], "txnNumber": {"$numberLong": "1"}, "lsid":
            {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==", "subType": "04"}}}})");
    EXPECT_EQ(code(numbered), base::kInterruptedDueToReplStateChange);
    EXPECT_EQ(text(numbered, "errorLabels"), "[ \"RetryableWriteError\" ]");
}

TEST_F(ReplicaSetTest, AReadPreferenceHasAModeThatIsKnown) {
    initiate();
    for (const auto& [preference, expected] :
         std::vector<std::pair<const char*, int>>{{R"({"mode": "primary"})", 0},
                                                  {R"({"mode": "primaryPreferred"})", 0},
                                                  {R"({"mode": "secondary"})", 0},
                                                  {R"({"mode": "secondaryPreferred"})", 0},
                                                  {R"({"mode": "nearest", "tags": [{}]})", 0},
                                                  {R"({"mode": "any"})", base::kFailedToParse},
                                                  {R"({"mode": "Primary"})", base::kFailedToParse},
                                                  {R"({"mode": ""})", base::kFailedToParse},
                                                  {R"({"mode": 1})", base::kTypeMismatch}})
        EXPECT_EQ(code(run(fmt::format(R"({{"find": "c", "$readPreference": {}}})", preference))),
                  expected)
            << preference;
}

// This test of a member beside others does not need them: it becomes a secondary by an answer to a
// heartbeat.
TEST_F(ReplicaSetTest, ASecondaryTakesReadsOfThoseWhoAreContentWithOne) {
    initiate();
    EXPECT_EQ(code(run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})")),
              0);
    const bson::Object first =
        run(R"({"find": "c", "batchSize": 1, "$readPreference": {"mode": "secondary"}})");
    const int64_t cursor = first["cursor"].as_doc()["id"].to_int64();
    hear_of_primary("there:27017");
    ASSERT_EQ(member_->role().state(), replica::State::secondary);

    expect_codes(R"({"insert": "c", "documents": [{"a": 1}]})", base::kNotWritablePrimary,
                 base::kNotWritablePrimary);
    expect_codes(R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {},
                     "$readPreference": {"mode": "secondary"}})",
                 base::kNotWritablePrimary, base::kNotWritablePrimary);
    expect_codes(R"({"find": "c"})", base::kNotPrimaryNoSecondaryOk,
                 base::kNotPrimaryNoSecondaryOk);
    for (const char* mode : {"secondary", "secondaryPreferred", "nearest", "primaryPreferred"})
        EXPECT_EQ(
            code(run(fmt::format(R"({{"find": "c", "$readPreference": {{"mode": "{}"}}}})", mode))),
            0)
            << mode;
    EXPECT_EQ(query("test.c", "{}", 0).at(0)["code"].to_int32(), base::kNotPrimaryNoSecondaryOk);
    EXPECT_EQ(documents(query_bytes("test.c", "{}", 0, wire::kSlaveOk)).size(), 3U);
    // A cursor goes on.
    EXPECT_EQ(code(run(fmt::format(R"({{"getMore": {}, "collection": "c"}})", cursor))), 0);
    const bson::Object hello = run(R"({"hello": 1})");
    EXPECT_FALSE(hello["isWritablePrimary"].as_bool());
    EXPECT_TRUE(hello["secondary"].as_bool());
    EXPECT_TRUE(hello["passive"].as_bool());
    EXPECT_EQ(text(hello, "hosts"), "[ \"there:27017\" ]");
    EXPECT_EQ(text(hello, "passives"), "[ \"here:27017\" ]");
    EXPECT_EQ(hello["primary"].as_string(), "there:27017");
    EXPECT_TRUE(hello["electionId"].missing());
    const bson::Object status = run(R"({"replSetGetStatus": 1})", "admin");
    EXPECT_EQ(status["myState"].to_int32(), 2);
    EXPECT_EQ(status["members"].as_doc().field_count(), 2);

    member_->set_following(replica::State::recovering, "", "as the test wants it");
    EXPECT_EQ(code(run(R"({"find": "c", "$readPreference": {"mode": "secondary"}})")),
              base::kNotPrimaryOrSecondary);
    EXPECT_FALSE(run(R"({"hello": 1})")["secondary"].as_bool());
}

TEST_F(ReplicaSetTest, AWriteConcernOfOneMemberIsSatisfied) {
    initiate();
    for (const char* concern : {"{}", R"({"w": 0})", R"({"w": 1, "wtimeout": 1})",
                                R"({"w": "majority"})", R"({"w": "majority", "wtimeout": 5})"}) {
        const std::string command = fmt::format(
            R"({{"insert": "c", "documents": [{{"a": 1}}], "writeConcern": {}}})", concern);
        EXPECT_TRUE(run(command)["writeConcernError"].missing()) << concern;
        EXPECT_TRUE(run_old(command)["writeConcernError"].missing()) << concern;
        EXPECT_TRUE(run(R"({"find": "c", "limit": 1})")["writeConcernError"].missing());
    }
}

TEST_F(ReplicaSetTest, AWriteConcernOfMoreIsRefusedWhenTheWriteIsDone) {
    initiate();
    const std::string two = R"({"insert": "c", "documents": [{"a": 1}], "writeConcern": {"w": 2}})";
    constexpr const char* kTooFew =
        "{ code: 100, codeName: \"UnsatisfiableWriteConcern\", errmsg: \"Not enough data-bearing "
        "nodes\" }";
    const bson::Object reply = run(two);
    EXPECT_EQ(concern_error(reply), kTooFew);
    EXPECT_EQ(reply["n"].to_int32(), 1);
    EXPECT_EQ(concern_error(run_old(two)), kTooFew);
    EXPECT_EQ(query("test.c", "{}", 0).size(), 2U);
    // Today's clients need not wait for what cannot come.
    EXPECT_EQ(concern_error(run(R"({"insert": "c", "documents": [{"a": 1}],
                                    "writeConcern": {"w": 2, "wtimeout": 3600000}})")),
              kTooFew);
    const bson::Object unknown = run(
        R"({"delete": "c", "deletes": [{"q": {}, "limit": 1}], "writeConcern": {"w": "east"}})");
    EXPECT_EQ(unknown["writeConcernError"].as_doc()["code"].to_int32(),
              base::kUnknownReplWriteConcern);
    EXPECT_EQ(concern_error(run(R"({"create": "d", "writeConcern": {"w": 2}})")), kTooFew);
    EXPECT_EQ(concern_error(run(R"({"aggregate": "c", "pipeline": [{"$out": "o"}], "cursor": {},
                                    "writeConcern": {"w": 2}})")),
              kTooFew);
    EXPECT_EQ(concern_error(run(R"({"findAndModify": "c", "query": {}, "remove": true,
                                    "writeConcern": {"w": 2}})")),
              kTooFew);
    EXPECT_EQ(concern_error(run(R"({"findAndModify": "c", "query": {"_id": "none"},
                                    "remove": true, "writeConcern": {"w": 2}})")),
              kTooFew);
    // No write was done; or none that others would have.
    EXPECT_EQ(concern_error(run(R"({"insert": "own", "documents": [{"a": 1}],
                                    "writeConcern": {"w": 2}})",
                                "local")),
              "");
    const bson::Object failed = run(R"({"insert": "c", "documents": [{"_id": 7}, {"_id": 7}],
                                        "writeConcern": {"w": 2}})");
    EXPECT_EQ(concern_error(failed), kTooFew);
    EXPECT_EQ(concern_error(run(R"({"insert": "c", "documents": [{"_id": 7}],
                                    "writeConcern": {"w": 2}})")),
              "");
}

TEST_F(ReplicaSetTest, ByOldMessagesATimeIsWaitedFor) {
    initiate();
    const auto started = std::chrono::steady_clock::now();
    const bson::Object reply = run_old(
        R"({"insert": "c", "documents": [{"a": 1}], "writeConcern": {"w": 2, "wtimeout": 40}})");
    EXPECT_GE(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(40));
    EXPECT_EQ(concern_error(reply),
              "{ code: 64, codeName: \"WriteConcernFailed\", errmsg: \"waiting for replication "
              "timed out\", errInfo: { wtimeout: true } }");
    insert_old("test.c", {R"({"_id": 1})"});
    const auto asked = std::chrono::steady_clock::now();
    const bson::Object error = run_old(R"({"getlasterror": 1, "w": 2, "wtimeout": 30})");
    EXPECT_GE(std::chrono::steady_clock::now() - asked, std::chrono::milliseconds(30));
    EXPECT_EQ(error["ok"].to_double(), 1.0);
    EXPECT_EQ(error["err"].as_string(), "timeout");
    EXPECT_TRUE(error["wtimeout"].as_bool());
    EXPECT_GE(error["waited"].to_int32(), 30);
    // A wait without a time would be for ever.
    const bson::Object at_once = run_old(R"({"getlasterror": 1, "w": 2})");
    EXPECT_EQ(code(at_once), base::kUnsatisfiableWriteConcern);
    EXPECT_EQ(code(run_old(R"({"getlasterror": 1, "w": "east", "wtimeout": 5})")),
              base::kUnknownReplWriteConcern);
    EXPECT_EQ(code(run_old(R"({"getlasterror": 1, "w": "majority"})")), 0);
    const bson::Object election =
        bson::make("getlasterror", 1, "wElectionId", member_->election_id());
    EXPECT_EQ(code(run(election)), 0);
    EXPECT_EQ(code(run(R"({"getlasterror": 1,
                           "wElectionId": {"$oid": "7fffffff0000000000000009"}})")),
              base::kWriteConcernFailed);
}

// A driver asks once, and hears of each change.
TEST_F(ReplicaSetTest, AHelloIsStreamed) {
    initiate();
    const bson::Object first = run(R"({"hello": 1})");
    bson::Builder asked;
    asked.append("hello", 1)
        .append_as("topologyVersion", first["topologyVersion"])
        .append("maxAwaitTimeMS", int64_t{3'600'000});
    const bson::Buffer message =
        message_of(asked.object(), "admin", wire::MsgMessage::kExhaustAllowed);
    bson::Buffer reply;
    wire::Step step = session_->serve({message.data(), message.size()}, reply);
    ASSERT_EQ(step.kind, wire::Step::Kind::suspend);
    hear_of_primary("there:27017");
    ASSERT_EQ(member_->role().state(), replica::State::secondary);
    int32_t previous = 77;
    const auto next = [&] {
        reply.clear();
        step = session_->resume(reply);
        return bson::Doc(reply.data() + wire::MsgWriter::kBodyAt);
    };
    bson::Doc told = next();
    for (;; told = next()) {
        ASSERT_EQ(step.kind, wire::Step::Kind::more);
        const wire::Header header = wire::read_header(reply.data());
        EXPECT_EQ(bson::load<uint32_t>(reply.data() + wire::kHeaderBytes),
                  wire::MsgMessage::kMoreToCome);
        EXPECT_EQ(header.response_to, previous);
        previous = header.request_id;
        if (told["secondary"].as_bool()) break;
    }
    EXPECT_EQ(told["primary"].as_string(), "there:27017");
    next();
    EXPECT_EQ(step.kind, wire::Step::Kind::suspend);
    EXPECT_EQ(reply.size(), 0U);
    sched::Operation::interrupt_all();
    told = next();
    sched::test::end_shutdown();
    EXPECT_EQ(step.kind, wire::Step::Kind::reply);
    EXPECT_EQ(told["code"].to_int32(), base::kInterruptedAtShutdown);
    EXPECT_EQ(bson::load<uint32_t>(reply.data() + wire::kHeaderBytes), 0U);
}

TEST_F(ReplicaSetTest, WhatASetWouldHaveToPromiseIsRefused) {
    initiate();
    const auto level = [this](const char* name) {
        return code(run(fmt::format(R"({{"find": "c", "readConcern": {{"level": "{}"}}}})", name)));
    };
    EXPECT_EQ(level("local"), 0);
    EXPECT_EQ(level("available"), 0);
    EXPECT_EQ(level("majority"), base::kReadConcernMajorityNotEnabled) << "without a journal";
    EXPECT_EQ(level("linearizable"), base::kReadConcernMajorityNotEnabled);
    EXPECT_EQ(level("snapshot"), base::kInvalidOptions);
}

class JournaledSetTest : public ReplicaSetTest {
  protected:
    JournaledSetTest() : ReplicaSetTest(true) {}

    // Whether the reply to an insert waits for a commit.
    bool waits(const char* concern, dialect::Dialect dialect = dialect::kToday) {
        const std::string command = fmt::format(
            R"({{"insert": "c", "documents": [{{"a": 1}}], "writeConcern": {}}})", concern);
        suspensions_ = 0;
        EXPECT_EQ(code(dialect.is_today() ? run(command) : run_old(command)), 0);
        return suspensions_ > 0;
    }
};

// A majority of one is this server, and what it has only in memory it may lose.
TEST_F(JournaledSetTest, AMajorityHasItInTheJournal) {
    initiate();
    EXPECT_TRUE(waits(R"({"w": "majority"})"));
    EXPECT_FALSE(waits(R"({"w": "majority", "j": false})"));
    EXPECT_FALSE(waits(R"({"w": 1})"));
    EXPECT_TRUE(waits(R"({"w": 1, "j": true})"));
    EXPECT_FALSE(waits(R"({"w": "majority"})", dialect::kV26));
    EXPECT_TRUE(waits(R"({"w": 2, "wtimeout": 5, "j": true})", dialect::kV26));
    const bson::Object next = run(R"({"replSetGetConfig": 1})", "admin");
    const replica::Config changed =
        replica::Config::parse(next["config"].as_doc(), {.set_name = "rs0"}).with_version(2);
    bson::Builder command;
    {
        bson::Builder config = command.sub_object("replSetReconfig");
        for (const bson::Element& e : changed.document)
            if (e.name() == "writeConcernMajorityJournalDefault")
                config.append(e.name(), false);
            else
                config.append(e);
    }
    EXPECT_EQ(code(run(command.object(), "admin")), 0);
    EXPECT_FALSE(waits(R"({"w": "majority"})"));
}

}  // namespace
}  // namespace command

// Logical sessions as clients see them, over each engine (wire spec 2.6).
#include "command/context/logical_sessions.h"

#include <thread>

#include "command/commands/testing/service.h"
#include "command/cursor/session_ends.h"

namespace command {
namespace {

class SessionsTest : public EachEngineTest {
  protected:
    void SetUp() override {
        other_.open(*service_, 2);
        run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}, {"_id": 4}]})");
    }

    static bson::Object in(const SessionId& id, const std::string& json) {
        bson::Builder out;
        out.append_all(bson::from_json(json));
        id.append_to(out, "lsid");
        return out.object();
    }
    static bson::Object list(std::string_view command, const std::vector<SessionId>& ids) {
        bson::Builder out;
        {
            bson::Builder array = out.sub_array(command);
            for (const SessionId& id : ids)
                id.append_to(array, array.next().view());
        }
        return out.object();
    }
    // Returns the id of the cursor that a command has replied with.
    static int64_t cursor_of(const bson::Object& reply) {
        return reply.doc().at_path("cursor.id").as_int64();
    }
    int64_t open_cursor(const SessionId& id) {
        return cursor_of(run(in(id, R"({"find": "c", "batchSize": 1})")));
    }
    static bson::Object more(int64_t cursor, const std::string& collection = "c") {
        return bson::make("getMore", cursor, "collection", collection, "batchSize", 1);
    }
    static bson::Object more_in(const SessionId& id, int64_t cursor) {
        bson::Builder out;
        out.append_all(more(cursor));
        id.append_to(out, "lsid");
        return out.object();
    }
    int64_t open_cursors() const { return service_->cursors().counts().open; }

    const SessionId one_ = SessionId::random();
    const SessionId two_ = SessionId::random();
    TestConnection other_;
};

TEST_P(SessionsTest, AreAnnouncedToWhoKnowsThem) {
    EXPECT_EQ(text(run(R"({"hello": 1})"), "logicalSessionTimeoutMinutes"), "30");
    EXPECT_EQ(text(run_old(R"({"isMaster": 1})"), "logicalSessionTimeoutMinutes"), "30");
    context_.max_wire_version = 6;
    EXPECT_EQ(text(run(R"({"hello": 1})"), "logicalSessionTimeoutMinutes"), "30");
    context_.max_wire_version = 5;
    EXPECT_FALSE(run(R"({"hello": 1})")["logicalSessionTimeoutMinutes"]);
    EXPECT_FALSE(run_old(R"({"isMaster": 1})")["logicalSessionTimeoutMinutes"]);
}

TEST_P(SessionsTest, BeginWithAnyCommandThatNamesThem) {
    EXPECT_EQ(service_->sessions().count(), 0u);
    run(in(one_, R"({"ping": 1})"));
    EXPECT_TRUE(service_->sessions().contains(one_));
    other_.run(in(one_, R"({"count": "c"})"));
    other_.run(in(two_, R"({"insert": "c", "documents": [{}]})"));
    EXPECT_EQ(service_->sessions().count(), 2u);
    run(in(SessionId::random(), R"({"hello": 1})"));
    EXPECT_EQ(service_->sessions().count(), 2u);
    const bson::Object status = run(R"({"serverStatus": 1})");
    EXPECT_EQ(text(status, "logicalSessionRecordCache"), "{ activeSessionsCount: 2 }");
    const bson::Object listed =
        run(R"({"aggregate": 1, "pipeline": [{"$listLocalSessions": {}}], "cursor": {}})", "admin");
    EXPECT_EQ(listed.doc().at_path("cursor.firstBatch").as_doc().field_count(), 2);
}

TEST_P(SessionsTest, MustBeNamedByAUuid) {
    const std::pair<const char*, int> malformed[] = {{"5", base::kTypeMismatch},
                                                     {"null", base::kTypeMismatch},
                                                     {"[]", base::kTypeMismatch},
                                                     {R"({"id": 1})", base::kTypeMismatch},
                                                     {R"({"uid": 1})", base::kTypeMismatch},
                                                     {"{}", 40414},
                                                     {R"({"what": 1})", 40415}};
    // Whatever the command, and in either dialect.
    for (const char* command : {"ping", "hello", "isMaster", "buildInfo", "serverStatus", "find"})
        for (const auto& [lsid, wanted] : malformed) {
            const std::string request = fmt::format(R"({{"{}": 1, "lsid": {}}})", command, lsid);
            EXPECT_EQ(code(run(request)), wanted) << request;
            EXPECT_EQ(code(run_old(request)), wanted) << request;
        }
    EXPECT_EQ(code(run(R"({"insert": "c", "documents": [{"_id": 9}], "lsid": {}})")), 40414);
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "4");
    EXPECT_EQ(service_->sessions().count(), 0u);
}

TEST_P(SessionsTest, OwnTheirCursors) {
    for (const char* opening : {R"({"find": "c", "batchSize": 1})",
                                R"({"aggregate": "c", "pipeline": [], "cursor": {"batchSize": 1}})",
                                R"({"parallelCollectionScan": "c", "numCursors": 1})"}) {
        bson::Object opened = run(in(one_, opening));
        const bson::Element list = opened["cursors"];
        const int64_t cursor =
            list ? opened.doc().at_path("cursors.0.cursor.id").as_int64() : cursor_of(opened);
        ASSERT_NE(cursor, 0) << opening;
        EXPECT_EQ(code(run(more(cursor))), 50737) << opening;
        EXPECT_EQ(code(run(more_in(two_, cursor))), 50738);
        // Another connection of the client may go on with it.
        EXPECT_EQ(code(other_.run(more_in(one_, cursor))), 0);
    }
    EXPECT_EQ(open_cursors(), 3);
    const int64_t outside = cursor_of(run(R"({"find": "c", "batchSize": 1})"));
    EXPECT_EQ(code(run(more_in(one_, outside))), 50736);
    EXPECT_EQ(code(run(more(outside))), 0);
}

TEST_P(SessionsTest, OwnTheCursorsOfListsToo) {
    for (int i = 0; i < 3; ++i)
        run(bson::make("create", "made" + std::to_string(i)));
    const bson::Object opened =
        run(in(one_, R"({"listCollections": 1, "cursor": {"batchSize": 1}})"));
    const int64_t cursor = cursor_of(opened);
    ASSERT_NE(cursor, 0);
    EXPECT_EQ(code(run(more(cursor, "$cmd.listCollections"))), 50737);
    run(list("endSessions", {one_}));
    EXPECT_EQ(open_cursors(), 0);
}

TEST_P(SessionsTest, AnOldMessageDoesNotGoOnWithACursorOfOne) {
    cursor_ = open_cursor(one_);
    const std::vector<bson::Object> documents = get_more("test.c", 1);
    EXPECT_EQ(reply_flags_ & wire::ReplyWriter::kQueryFailure, wire::ReplyWriter::kQueryFailure);
    EXPECT_EQ(documents.at(0)["code"].to_int32(), 50737);
    EXPECT_EQ(open_cursors(), 1);
}

TEST_P(SessionsTest, EndWithTheirCursors) {
    open_cursor(one_);
    open_cursor(one_);
    const int64_t left = open_cursor(two_);
    run(R"({"find": "c", "batchSize": 1})");
    EXPECT_EQ(code(other_.run(list("endSessions", {one_, SessionId::random()}))), 0);
    EXPECT_EQ(open_cursors(), 2);
    EXPECT_FALSE(service_->sessions().contains(one_));
    EXPECT_EQ(code(run(more_in(two_, left))), 0);
    // The same connection may go on with the id: it begins anew.
    run(in(one_, R"({"ping": 1})"));
    EXPECT_TRUE(service_->sessions().contains(one_));
}

TEST_P(SessionsTest, EndHalfAnHourAfterTheirLastUse) {
    open_cursor(one_);
    const auto now = LogicalSessions::Clock::now();
    service_->session_ends().expire(now + std::chrono::minutes(29));
    EXPECT_EQ(open_cursors(), 1);
    run(list("refreshSessions", {two_}));
    service_->session_ends().expire(now + std::chrono::minutes(30));
    EXPECT_EQ(open_cursors(), 0);
    EXPECT_EQ(service_->sessions().count(), 1u);
    EXPECT_TRUE(service_->sessions().contains(two_));
}

TEST_P(SessionsTest, StayWhileSomethingRunsInThem) {
    std::thread sleeper(
        [&] { other_.run(in(one_, R"({"sleep": 1, "millis": 600000, "w": false})"), "admin"); });
    while (!service_->sessions().contains(one_))
        std::this_thread::yield();
    while (text(run(R"({"currentOp": 1})", "admin"), "inprog").find("600000") == std::string::npos)
        std::this_thread::yield();
    const auto now = LogicalSessions::Clock::now();
    service_->session_ends().expire(now + std::chrono::hours(5));
    EXPECT_TRUE(service_->sessions().contains(one_));
    // Killing the session ends the operation, and with it this test.
    EXPECT_EQ(code(run(list("killSessions", {one_}))), 0);
    sleeper.join();
    EXPECT_FALSE(service_->sessions().contains(one_));
}

TEST_P(SessionsTest, AreKilledByName) {
    open_cursor(one_);
    open_cursor(two_);
    run(R"({"find": "c", "batchSize": 1})");
    EXPECT_EQ(code(run(list("killSessions", {one_}))), 0);
    EXPECT_EQ(open_cursors(), 2);
    EXPECT_EQ(code(run(R"({"killAllSessions": [{"user": "u", "db": "admin"}]})")), 0);
    EXPECT_EQ(open_cursors(), 2);
    EXPECT_EQ(code(run(R"({"killAllSessionsByPattern": [{"users": [{"user": "u", "db": "a"}]}]})")),
              0);
    EXPECT_EQ(open_cursors(), 2);
    EXPECT_EQ(code(run(R"({"killAllSessions": []})")), 0);
    EXPECT_EQ(open_cursors(), 1);
    for (const char* everything : {"killSessions", "killAllSessionsByPattern"}) {
        open_cursor(one_);
        EXPECT_EQ(code(run(list(everything, {}))), 0);
        EXPECT_EQ(open_cursors(), 1) << everything;
    }
    open_cursor(one_);
    open_cursor(two_);
    bson::Builder pattern;
    {
        bson::Builder array = pattern.sub_array("killAllSessionsByPattern");
        bson::Builder first = array.sub_object(array.next().view());
        bson::Builder lsid = first.sub_object("lsid");
        two_.append_fields(lsid);
    }
    EXPECT_EQ(code(run(pattern.object())), 0);
    EXPECT_EQ(open_cursors(), 2);
    EXPECT_TRUE(service_->sessions().contains(one_));
}

TEST_P(SessionsTest, CommandsAboutThemCheckWhatTheyAreGiven) {
    for (const char* name : {"endSessions", "refreshSessions", "killSessions", "killAllSessions",
                             "killAllSessionsByPattern"}) {
        EXPECT_EQ(code(run(bson::make(name, 1))), base::kTypeMismatch) << name;
        const auto with = [&](const char* one) {
            return run(bson::from_json(std::string("{\"") + name + "\": [" + one + "]}"));
        };
        EXPECT_EQ(code(with("1")), base::kTypeMismatch) << name;
        EXPECT_NE(code(with(R"({"id": 1})")), 0) << name;
        EXPECT_NE(code(with(R"({"user": 1, "db": "x"})")), 0) << name;
        EXPECT_NE(code(with(R"({"user": "u"})")), 0) << name;
        EXPECT_NE(code(with(R"({"user": "", "db": "x"})")), 0) << name;
        EXPECT_NE(code(with(R"({"users": [1]})")), 0) << name;
        EXPECT_NE(code(with(R"({"uid": 1})")), 0) << name;
    }
}

TEST_P(SessionsTest, AreStartedByTheServerToo) {
    const bson::Object reply = run(R"({"startSession": 1})");
    EXPECT_EQ(text(reply, "timeoutMinutes"), "30");
    EXPECT_TRUE(service_->sessions().contains(SessionId::parse(reply["id"], "id")));
}

TEST_P(SessionsTest, TransactionsAndWritesToRepeatAreRefused) {
    for (const char* more :
         {R"("txnNumber": 1)", R"("startTransaction": true, "autocommit": false)",
          R"("autocommit": false)"}) {
        const bson::Object reply = run(
            in(one_, std::string(R"({"insert": "c", "documents": [{"_id": 9}], )") + more + "}"));
        EXPECT_EQ(code(reply), base::kIllegalOperation) << more;
        EXPECT_EQ(text(reply, "errmsg"),
                  "\"Transaction numbers are only allowed on a replica set member or mongos\"");
    }
    EXPECT_EQ(code(run(in(one_, R"({"commitTransaction": 1})"), "admin")), base::kIllegalOperation);
    EXPECT_EQ(code(run(in(one_, R"({"abortTransaction": 1})"), "admin")), base::kIllegalOperation);
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "4");
}

TEST_P(SessionsTest, TimesOfAClusterAreNotPromised) {
    EXPECT_EQ(code(run(R"({"ping": 1, "$clusterTime": 1})")), base::kTypeMismatch);
    bson::Builder with_time;
    with_time.append("count", "c").sub_object("$clusterTime").append_timestamp("clusterTime", 1);
    EXPECT_EQ(code(run(with_time.object())), 0);
    bson::Builder after;
    after.append("count", "c").sub_object("readConcern").append_timestamp("afterClusterTime", 1);
    EXPECT_EQ(code(run(after.object())), base::kInvalidOptions);
}

TEST_P(SessionsTest, AreOnlySoMany) {
    Service small(*catalog_, context_, all_families());
    small.sessions().set_open_max(1);
    TestConnection connection;
    connection.open(small, 3);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(code(connection.run(R"({"insert": "c", "documents": [{}]})")), 0);
    // A cursor keeps the session that it belongs to.
    EXPECT_EQ(code(connection.run(in(one_, R"({"find": "c", "batchSize": 1})"))), 0);
    const bson::Object refused = connection.run(in(two_, R"({"ping": 1})"));
    EXPECT_EQ(code(refused), base::kTooManyLogicalSessions);
    EXPECT_EQ(text(refused, "codeName"), R"("TooManyLogicalSessions")");
    EXPECT_EQ(code(connection.run(R"({"startSession": 1})")), base::kTooManyLogicalSessions);
    // Clients without a session, with one, and that end one are served.
    EXPECT_EQ(code(connection.run(R"({"ping": 1})")), 0);
    EXPECT_EQ(code(connection.run(in(one_, R"({"ping": 1})"))), 0);
    EXPECT_EQ(code(connection.run(in(two_, R"({"hello": 1})"))), 0);
    EXPECT_EQ(code(connection.run(list("endSessions", {one_}))), 0);
    EXPECT_EQ(code(connection.run(in(two_, R"({"ping": 1})"))), 0);
    // It has nothing open: another one takes its place.
    EXPECT_EQ(code(connection.run(in(one_, R"({"ping": 1})"))), 0);
    EXPECT_EQ(small.sessions().count(), 1u);
}

INSTANTIATE_TEST_SUITE_P(engines, SessionsTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

// Rights with --auth: the check before commands and old opcodes, logging in, users.
#include <set>
#include <thread>

#include "base/error.h"
#include "command/commands/testing/access_control.h"
#include "command/context/logical_sessions.h"

namespace command {
namespace {

TEST_F(AccessControlTest, EveryCommandSaysWhatItNeeds) {
    for (const Command* one : service_->commands().sorted()) {
        EXPECT_NE(one->need.on, Need::On::undeclared) << one->name;
        EXPECT_EQ(one->need.on == Need::On::decided, one->need.decide != nullptr) << one->name;
    }
}

TEST_F(AccessControlTest, WithoutALoginOnlyHelloAndLoginAreAllowed) {
    make_root();
    const std::set<std::string_view> open_to_all = {
        "isMaster",  "hello",        "ping",         "buildInfo",    "whatsmyuri",
        "logout",    "getnonce",     "saslStart",    "saslContinue", "connectionStatus",
        "handshake", "getLastError", "getPrevError", "resetError",   "authenticate"};
    for (const Command* one : service_->commands().sorted()) {
        TestConnection anonymous;
        anonymous.open(*service_, 3);
        bson::Builder request;
        request.append(one->name, 1);
        for (const char* db : {"admin", "test"}) {
            const bson::Object reply = anonymous.run(request.object(), db);
            if (open_to_all.contains(one->name)) {
                EXPECT_NE(code(reply), base::kUnauthorized) << one->name;
            } else {
                EXPECT_EQ(code(reply), base::kUnauthorized) << one->name;
            }
        }
    }
}

TEST_F(AccessControlTest, OldOpcodesAreRefusedBeforeALogin) {
    make_root();
    ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
    const int64_t cursor =
        run(R"({"find": "c", "batchSize": 1})")["cursor"].as_doc()["id"].as_int64();
    ASSERT_NE(cursor, 0);

    TestConnection anonymous;
    anonymous.open(*service_, 3);
    EXPECT_EQ(anonymous.query("test.c", "{}", 0).at(0)["code"].to_int32(), base::kUnauthorized);
    EXPECT_EQ(anonymous.query("admin.$cmd.sys.inprog", "{}", 1).at(0)["code"].to_int32(),
              base::kUnauthorized);
    anonymous.insert_old("test.c", {R"({"_id": 4})"});
    EXPECT_EQ(anonymous.run(R"({"getLastError": 1})")["code"].to_int32(), base::kUnauthorized);
    anonymous.update_old("test.c", "{}", R"({"$set": {"a": 1}})");
    EXPECT_EQ(anonymous.run(R"({"getLastError": 1})")["code"].to_int32(), base::kUnauthorized);
    anonymous.delete_old("test.c", "{}");
    EXPECT_EQ(anonymous.run(R"({"getLastError": 1})")["code"].to_int32(), base::kUnauthorized);
    anonymous.cursor_ = cursor;
    EXPECT_EQ(anonymous.get_more("test.c", 0).at(0)["code"].to_int32(), base::kUnauthorized);
    anonymous.kill_old(cursor);
    EXPECT_TRUE(ok(run(bson::make("getMore", cursor, "collection", "c"))));
    EXPECT_EQ(run(R"({"count": "c"})")["n"].to_int32(), 3);
    EXPECT_EQ(code(anonymous.run(R"({"getLastError": 1, "j": true})")), base::kUnauthorized);
}

TEST_F(AccessControlTest, TheWayInClosesWithTheFirstUser) {
    EXPECT_EQ(code(run(R"({"insert": "c", "documents": [{}]})")), base::kUnauthorized);
    EXPECT_EQ(code(run(R"({"createUser": "a", "pwd": "x", "roles": []})", "test")),
              base::kUnauthorized);
    make_root();
    EXPECT_EQ(code(run(R"({"createUser": "b", "pwd": "x", "roles": ["root"]})", "admin")),
              base::kUnauthorized);
    EXPECT_EQ(code(run(R"({"usersInfo": 1})", "admin")), base::kUnauthorized);
    ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
    EXPECT_TRUE(ok(run(R"({"dropUser": "root"})", "admin")));
    // Not even without any user does it open again.
    EXPECT_EQ(code(run(R"({"createUser": "b", "pwd": "x", "roles": ["root"]})", "admin")),
              base::kUnauthorized);
}

TEST_F(AccessControlTest, WhoComesFromElsewhereHasNoWayIn) {
    TestConnection far;
    far.open(*service_, 3, false);
    EXPECT_EQ(code(far.run(R"({"createUser": "a", "pwd": "x", "roles": ["root"]})", "admin")),
              base::kUnauthorized);
    make_root();
}

TEST_F(AccessControlTest, PasswordsAreCheckedByBothMechanisms) {
    make_root();
    for (const auth::Mechanism mechanism : auth::kMechanisms) {
        TestConnection client;
        client.open(*service_, 3);
        EXPECT_EQ(log_in(client, "root", "wrong", "admin", mechanism), base::kAuthenticationFailed);
        EXPECT_EQ(log_in(client, "unknown", "secret", "admin", mechanism),
                  base::kAuthenticationFailed);
        EXPECT_EQ(log_in(client, "root", "secret", "test", mechanism), base::kAuthenticationFailed);
        EXPECT_EQ(code(client.run(R"({"find": "c"})")), base::kUnauthorized);
        EXPECT_EQ(log_in(client, "root", "secret", "admin", mechanism), 0);
        EXPECT_TRUE(ok(client.run(R"({"find": "c"})")));
        client.run(R"({"logout": 1})", "admin");
        EXPECT_EQ(code(client.run(R"({"find": "c"})")), base::kUnauthorized);
    }
}

TEST_F(AccessControlTest, AConversationIsGoodForOneLogin) {
    make_root();
    TestConnection client;
    client.open(*service_, 3);
    auth::ScramClient scram(auth::Mechanism::sha256, "root", "secret");
    const std::string first = scram.first();
    const bson::Object begun = sasl(client, "saslStart", "SCRAM-SHA-256", first, 0, "admin");
    const std::string proof = scram.final(payload(begun));
    const int32_t id = begun["conversationId"].to_int32();

    TestConnection other;
    other.open(*service_, 4);
    EXPECT_EQ(code(sasl(other, "saslContinue", "", proof, id, "admin")), base::kProtocolError);
    sasl(other, "saslStart", "SCRAM-SHA-256", first, 0, "admin");
    EXPECT_EQ(code(sasl(other, "saslContinue", "", proof, 1, "admin")),
              base::kAuthenticationFailed);

    EXPECT_EQ(code(sasl(client, "saslContinue", "", proof, id + 1, "admin")), base::kProtocolError);
    EXPECT_TRUE(ok(sasl(client, "saslContinue", "", proof, id, "admin")));
    EXPECT_EQ(code(sasl(client, "saslContinue", "", proof, id, "admin")), base::kProtocolError);
}

TEST_F(AccessControlTest, RolesSayWhatIsAllowed) {
    make_root();
    ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
    make_user("reader", R"(["read"])");
    make_user("writer", R"(["readWrite"])");
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");

    TestConnection reader;
    reader.open(*service_, 3);
    ASSERT_EQ(log_in(reader, "reader", "pw"), 0);
    EXPECT_TRUE(ok(reader.run(R"({"find": "c"})")));
    EXPECT_TRUE(ok(reader.run(R"({"aggregate": "c", "pipeline": [], "cursor": {}})")));
    EXPECT_TRUE(ok(reader.run(R"({"explain": {"find": "c"}})")));
    for (const char* refused :
         {R"({"insert": "c", "documents": [{}]})",
          R"({"update": "c", "updates": [{"q": {}, "u": {"a": 1}}]})",
          R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})",
          R"({"findAndModify": "c", "query": {}, "remove": true})",
          R"({"findAndModify": "c", "query": {}, "update": {"a": 1}, "upsert": true})",
          R"({"explain": {"delete": "c", "deletes": [{"q": {}, "limit": 0}]}})",
          R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}})",
          R"({"aggregate": "system.users", "pipeline": [], "cursor": {}})",
          R"({"insert": "system.indexes",
              "documents": [{"ns": "test.c", "key": {"a": 1}, "name": "a"}]})",
          R"({"drop": "c"})", R"({"dropDatabase": 1})", R"({"usersInfo": 1})",
          R"({"createUser": "x", "pwd": "x", "roles": []})", R"({"find": "system.users"})"})
        EXPECT_EQ(code(reader.run(refused)), base::kUnauthorized) << refused;
    EXPECT_EQ(code(reader.run(R"({"find": "c"})", "other")), base::kUnauthorized);
    EXPECT_EQ(code(reader.run(R"({"serverStatus": 1})", "admin")), base::kUnauthorized);
    EXPECT_EQ(code(reader.run(R"({"dataSize": "other.c"})")), base::kUnauthorized);

    TestConnection writer;
    writer.open(*service_, 4);
    ASSERT_EQ(log_in(writer, "writer", "pw"), 0);
    EXPECT_TRUE(ok(writer.run(R"({"insert": "c", "documents": [{"_id": 2}]})")));
    EXPECT_TRUE(ok(writer.run(R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}})")));
    EXPECT_EQ(code(writer.run(R"({"insert": "c", "documents": [{}]})", "other")),
              base::kUnauthorized);
    EXPECT_EQ(code(writer.run(R"({"renameCollection": "test.c", "to": "other.c"})", "admin")),
              base::kUnauthorized);
}

// Two fields of one name: what is checked must be what is done.
TEST_F(AccessControlTest, FieldsThatComeTwice) {
    make_root();
    ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
    make_user("reader", R"(["read"])");
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    TestConnection reader;
    reader.open(*service_, 3);
    ASSERT_EQ(log_in(reader, "reader", "pw"), 0);
    bson::Builder twice;
    twice.append("aggregate", "c");
    { bson::Builder harmless = twice.sub_array("pipeline"); }
    {
        bson::Builder writes = twice.sub_array("pipeline");
        writes.push(bson::make("$out", "d"));
    }
    twice.append("cursor", bson::Object());
    EXPECT_EQ(code(reader.run(twice.object())), base::kUnauthorized);
}

// Wherever the stage that reads it stands, and whichever of two fields of one name counts.
TEST_F(AccessControlTest, StagesReadNoCollectionThatIsClosed) {
    make_root();
    ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
    make_user("reader", R"(["read"])", "admin");
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})", "admin");
    TestConnection reader;
    reader.open(*service_, 3);
    ASSERT_EQ(log_in(reader, "reader", "pw", "admin"), 0);
    const std::string lookup = R"({"$lookup": {"from": "%", "pipeline": [], "as": "x"}})";
    const std::string stages[] = {
        lookup,
        R"({"$match": {}}, )" + lookup,
        R"({"$lookup": {"from": "c", "as": "x", "pipeline": [)" + lookup + "]}}",
        R"({"$facet": {"x": [)" + lookup + "]}}",
        R"({"$facet": {"x": [{"$lookup": {"from": "c", "as": "x", "pipeline": [)" + lookup +
            "]}}]}}",
        R"({"$lookup": {"from": "c", "from": "%", "pipeline": [], "as": "x"}})",
        R"({"$lookup": {"from": "%", "from": "c", "pipeline": [], "as": "x"}})",
        R"({"$graphLookup": {"from": "%", "startWith": 1, "connectFromField": "a",
                             "connectToField": "_id", "as": "x"}})"};
    for (const std::string& stage : stages) {
        const auto reply_for = [&](std::string from) {
            std::string text = R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + stage + "]}";
            return code(reader.run(text.replace(text.find('%'), 1, from), "admin"));
        };
        EXPECT_EQ(reply_for("c"), 0) << stage;
        EXPECT_EQ(reply_for("system.users"), base::kUnauthorized) << stage;
    }
}

// The maker of a view may read what it shows; its readers need to be allowed no more than that.
TEST_F(AccessControlTest, AViewShowsWhatItsMakerMayRead) {
    TestConnection one, two;
    make_two_users(one, two);
    const std::string view = R"({"create": "v", "viewOn": "%", "pipeline": []})";
    const std::string joined = R"({"create": "v", "viewOn": "c", "pipeline": [
        {"$lookup": {"from": "%", "pipeline": [], "as": "x"}}]})";
    const auto made = [](TestConnection& by, std::string text, const char* of) {
        return code(by.run(text.replace(text.find('%'), 1, of)));
    };
    EXPECT_EQ(made(one, view, "c"), base::kUnauthorized);
    for (const std::string& form : {view, joined}) {
        EXPECT_EQ(made(two, form, "system.profile"), base::kUnauthorized) << form;
        EXPECT_EQ(made(two, form, "d"), 0) << form;
        EXPECT_EQ(code(one.run(R"({"find": "v"})")), 0);
        EXPECT_EQ(code(one.run(R"({"drop": "v"})")), base::kUnauthorized);
        EXPECT_EQ(code(two.run(R"({"drop": "v"})")), 0);
    }
    EXPECT_NE(code(two.run(R"({"insert": "system.views", "documents": [
        {"_id": "test.v", "viewOn": "system.profile", "pipeline": []}]})")),
              0);
    run(R"({"profile": 0})");
    ASSERT_TRUE(ok(run(R"({"create": "system.profile", "capped": true, "size": 10000})")));
    ASSERT_EQ(made(*this, view, "system.profile"), 0);
    EXPECT_EQ(code(one.run(R"({"find": "system.profile"})")), base::kUnauthorized);
    const bson::Object first = one.run(R"({"find": "v", "batchSize": 0})");
    EXPECT_EQ(code(first), 0);
    const int64_t id = first.doc().at_path("cursor.id").to_int64();
    EXPECT_EQ(code(one.run(bson::make("getMore", id, "collection", "v"))), 0);
}

// The cursor ends also between two batches, if the right has been taken away since the first one.
TEST_F(AccessControlTest, ACursorReadsNoOtherCollectionThatIsClosed) {
    TestConnection one, two;
    make_two_users(one, two);
    const bson::Object reply = one.run(R"({"aggregate": 1, "cursor": {"batchSize": 0},
        "pipeline": [{"$listLocalSessions": {}},
                     {"$lookup": {"from": "c", "pipeline": [], "as": "x"}}]})");
    const int64_t id = reply.doc().at_path("cursor.id").to_int64();
    ASSERT_NE(id, 0) << bson::to_text(reply);
    ASSERT_TRUE(ok(run(R"({"revokeRolesFromUser": "one", "roles": ["read"]})")));
    EXPECT_EQ(code(one.run(bson::make("getMore", id, "collection", "$cmd.aggregate"))),
              base::kUnauthorized);
}

TEST_F(AccessControlTest, AFieldThatComesAgainNeedsNoLessRights) {
    make_root();
    ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    make_user("reader", R"(["read"])");
    TestConnection reader;
    reader.open(*service_, 3);
    ASSERT_EQ(log_in(reader, "reader", "pw", "test"), 0);
    for (const char* command :
         {R"({"findAndModify": "c", "query": {"_id": 1}, "remove": null, "remove": true})",
          R"({"findAndModify": "c", "query": {"_id": 1}, "update": null, "update": {"a": 1}})",
          R"({"findAndModify": "c", "query": {"_id": 2}, "update": {}, "upsert": null,
              "upsert": true})"})
        EXPECT_NE(code(reader.run(command)), 0) << command;
    EXPECT_EQ(bson::to_text(run(R"({"find": "c"})").doc().at_path("cursor.firstBatch")),
              "[ { _id: 1 } ]");
}

TEST_F(AccessControlTest, UsersAreNoOrdinaryDocuments) {
    make_root();
    ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
    for (const char* refused :
         {R"({"insert": "system.users", "documents": [{"_id": "admin.x"}]})",
          R"({"update": "system.users", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})",
          R"({"delete": "system.users", "deletes": [{"q": {}, "limit": 0}]})",
          R"({"findAndModify": "system.users", "query": {}, "remove": true})",
          R"({"drop": "system.users"})", R"({"create": "system.users"})",
          R"({"convertToCapped": "system.users", "size": 4096})",
          R"({"createIndexes": "system.users", "indexes": [{"key": {"a": 1}, "name": "a"}]})",
          R"({"dropIndexes": "system.users", "index": "*"})",
          R"({"collMod": "system.users", "usePowerOf2Sizes": true})",
          R"({"renameCollection": "admin.system.users", "to": "admin.x"})",
          R"({"renameCollection": "admin.x", "to": "admin.system.users"})",
          R"({"cloneCollectionAsCapped": "x", "toCollection": "system.users", "size": 4096})",
          R"({"godinsert": "system.users", "obj": {"_id": 1}})"})
        for (const char* db : {"admin", "test"}) {
            if (db == std::string("test") && std::string(refused).find("rename") == 2) continue;
            EXPECT_EQ(code(run(refused, db)), base::kUnauthorized) << refused;
        }
    insert_old("admin.system.users", {R"({"_id": "admin.x"})"});
    EXPECT_EQ(run(R"({"getLastError": 1})")["code"].to_int32(), base::kUnauthorized);
    EXPECT_EQ(run(R"({"find": "system.users"})", "admin")["cursor"]
                  .as_doc()["firstBatch"]
                  .as_doc()
                  .field_count(),
              1);
}

TEST_F(AccessControlTest, CursorsBelongToWhoOpenedThem) {
    TestConnection one;
    TestConnection two;
    ASSERT_NO_FATAL_FAILURE(make_two_users(one, two));
    TestConnection again;
    again.open(*service_, 5);
    ASSERT_EQ(log_in(again, "one", "pw"), 0);
    const auto open_cursor = [&] {
        return one.run(R"({"find": "c", "batchSize": 1})")["cursor"].as_doc()["id"].as_int64();
    };
    const int64_t id = open_cursor();
    const bson::Object more = bson::make("getMore", id, "collection", "c", "batchSize", 1);
    EXPECT_EQ(code(two.run(more)), base::kUnauthorized);
    two.cursor_ = id;
    EXPECT_EQ(two.get_more("test.c", 1).at(0)["code"].to_int32(), base::kUnauthorized);
    bson::Builder kill;
    kill.append("killCursors", "c");
    {
        bson::Builder ids = kill.sub_array("cursors");
        ids.push(id);
    }
    const bson::Object killing = kill.object();
    EXPECT_EQ(code(two.run(killing)), base::kUnauthorized);
    two.kill_old(id);
    EXPECT_TRUE(ok(again.run(more)));
    // Administrators end cursors of others, but do not read them.
    EXPECT_EQ(code(run(more)), base::kUnauthorized);
    EXPECT_TRUE(ok(run(killing)));
    EXPECT_EQ(code(one.run(more)), base::kCursorNotFound);

    // Without the role the cursor is closed to its owner too.
    const bson::Object late = bson::make("getMore", open_cursor(), "collection", "c");
    EXPECT_TRUE(ok(run(R"({"revokeRolesFromUser": "one", "roles": ["read"]})")));
    EXPECT_EQ(code(one.run(late)), base::kUnauthorized);
}

TEST_F(AccessControlTest, ExistenceIsShownOnlyWithTheRightToRead) {
    TestConnection one, two;
    make_two_users(one, two);
    run(R"({"insert": "c", "documents": [{"_id": 1}]})", "other");
    const auto answer = [](TestConnection& client, const std::string& ns, int64_t cursor) {
        client.cursor_ = cursor;
        const auto documents = client.get_more(ns, 1);
        return documents.empty() ? 0 : documents[0]["code"].to_int32();
    };
    const int64_t own =
        one.run(R"({"find": "c", "batchSize": 1})")["cursor"].as_doc()["id"].as_int64();
    for (const int64_t cursor : {int64_t{4711}, own}) {
        for (const char* ns : {"other.c", "other.nothing", "nowhere.c", "admin.system.users"})
            EXPECT_EQ(answer(one, ns, cursor), base::kUnauthorized) << ns;
    }
    constexpr int kCollectionDropped = 17356, kOtherNamespace = 17011;
    EXPECT_EQ(answer(one, "test.nothing", own), kCollectionDropped);
    EXPECT_EQ(answer(one, "test.c", 4711), 0);
    EXPECT_EQ(one.reply_flags_ & wire::ReplyWriter::kCursorNotFound,
              wire::ReplyWriter::kCursorNotFound);
    run(R"({"insert": "d", "documents": [{"_id": 1}]})");
    EXPECT_EQ(answer(one, "test.d", own), kOtherNamespace);
    one.cursor_ = own;
    EXPECT_EQ(one.get_more("test.c", 1).at(0)["_id"].to_int32(), 2);
}

// The users are read under a lock, and a wait for it may end early.
TEST_F(AccessControlTest, WhoIsInterruptedStaysLoggedIn) {
    TestConnection one, two;
    make_two_users(one, two);
    ASSERT_TRUE(ok(run(R"({"updateUser": "two", "customData": {}})")));
    {
        std::mutex mutex;
        std::condition_variable changed;
        bool held = false, over = false;
        std::thread holder([&] {
            const storage::DatabaseLock lock(engine_->locks(), "admin", true);
            std::unique_lock guard(mutex);
            held = true;
            changed.notify_all();
            changed.wait(guard, [&] { return over; });
        });
        {
            std::unique_lock guard(mutex);
            changed.wait(guard, [&] { return held; });
        }
        EXPECT_EQ(code(one.run(R"({"find": "c", "maxTimeMS": 20})")), base::kExceededTimeLimit);
        {
            const std::lock_guard guard(mutex);
            over = true;
            changed.notify_all();
        }
        holder.join();
    }
    EXPECT_EQ(code(one.run(R"({"find": "c"})")), 0);
}

TEST_F(AccessControlTest, ChangesReachOpenConnections) {
    make_root();
    ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
    make_user("bob", R"([])");
    TestConnection bob;
    bob.open(*service_, 3);
    ASSERT_EQ(log_in(bob, "bob", "pw"), 0);
    EXPECT_EQ(code(bob.run(R"({"find": "c"})")), base::kUnauthorized);
    EXPECT_TRUE(ok(run(R"({"grantRolesToUser": "bob", "roles": ["read"]})")));
    EXPECT_TRUE(ok(bob.run(R"({"find": "c"})")));
    EXPECT_TRUE(ok(run(R"({"updateUser": "bob", "roles": []})")));
    EXPECT_EQ(code(bob.run(R"({"find": "c"})")), base::kUnauthorized);
    EXPECT_TRUE(ok(run(R"({"updateUser": "bob", "pwd": "new", "roles": ["read"]})")));
    EXPECT_TRUE(ok(bob.run(R"({"find": "c"})")));
    TestConnection late;
    late.open(*service_, 4);
    EXPECT_EQ(log_in(late, "bob", "pw"), base::kAuthenticationFailed);
    EXPECT_EQ(log_in(late, "bob", "new"), 0);
    // Another one of that name is another one.
    EXPECT_TRUE(ok(run(R"({"dropUser": "bob"})")));
    make_user("bob", R"(["read"])");
    EXPECT_EQ(code(bob.run(R"({"find": "c"})")), base::kUnauthorized);
    EXPECT_EQ(log_in(bob, "bob", "pw"), 0);
    EXPECT_TRUE(ok(bob.run(R"({"find": "c"})")));
    EXPECT_EQ(run(R"({"dropAllUsersFromDatabase": 1})")["n"].to_int32(), 1);
    EXPECT_EQ(code(bob.run(R"({"find": "c"})")), base::kUnauthorized);
}

TEST_F(AccessControlTest, NoUserGrantsRightsItDoesNotHave) {
    make_root();
    ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
    make_user("keeper", R"(["userAdmin"])");
    make_user("cleaner", R"(["dbAdmin"])", "admin");
    TestConnection keeper;
    keeper.open(*service_, 3);
    ASSERT_EQ(log_in(keeper, "keeper", "pw"), 0);
    EXPECT_TRUE(ok(keeper.run(R"({"createUser": "x", "pwd": "x", "roles": ["read"]})")));
    for (const char* refused :
         {R"({"createUser": "y", "pwd": "x", "roles": [{"role": "root", "db": "admin"}]})",
          R"({"grantRolesToUser": "keeper", "roles": [{"role": "read", "db": "other"}]})",
          R"({"updateUser": "keeper", "roles": [{"role": "root", "db": "admin"}]})",
          R"({"updateUser": {"user": "root", "db": "admin"}, "pwd": "mine"})",
          R"({"dropUser": {"user": "root", "db": "admin"}})",
          R"({"usersInfo": {"forAllDBs": true}})",
          R"({"usersInfo": {"user": "root", "db": "admin"}})"})
        EXPECT_EQ(code(keeper.run(refused)), base::kUnauthorized) << refused;
    // Dropping admin would drop the users, and allow the localhost exception again.
    TestConnection cleaner;
    cleaner.open(*service_, 4);
    ASSERT_EQ(log_in(cleaner, "cleaner", "pw", "admin"), 0);
    EXPECT_EQ(code(cleaner.run(R"({"dropDatabase": 1})", "admin")), base::kUnauthorized);
    EXPECT_TRUE(ok(run(R"({"dropDatabase": 1})", "admin")));
    EXPECT_EQ(code(keeper.run(R"({"usersInfo": 1})")), base::kUnauthorized);
}

TEST_F(AccessControlTest, UsersAreShownWithoutTheirSecrets) {
    make_root();
    ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
    make_user("bob", R"(["read"])");
    const bson::Object shown = run(R"({"usersInfo": "bob"})");
    const bson::Doc bob = shown["users"].as_doc().first().as_doc();
    EXPECT_EQ(bob["_id"].as_string(), "test.bob");
    EXPECT_FALSE(bob.has("credentials"));
    EXPECT_EQ(bson::to_text(bob["mechanisms"]), "[ \"SCRAM-SHA-1\", \"SCRAM-SHA-256\" ]");
    EXPECT_EQ(bson::to_text(bob["roles"]), "[ { role: \"read\", db: \"test\" } ]");
    EXPECT_EQ(code(run(R"({"createUser": "bob", "pwd": "x", "roles": []})")), 51003);
    EXPECT_EQ(code(run(R"({"dropUser": "alice"})")), base::kUserNotFound);
    EXPECT_EQ(code(run(R"({"createUser": "z", "pwd": "x", "roles": ["root"]})")),
              base::kRoleNotFound);
    const std::string refused =
        bson::to_text(run(R"({"createUser": "z", "pwd": "hush", "roles": []})", "local").doc());
    EXPECT_EQ(refused.find("hush"), std::string::npos);
    TestConnection anonymous;
    anonymous.open(*service_, 3);
    const bson::Object reply = anonymous.run(R"({"createUser": "z", "pwd": "hush", "roles": []})");
    EXPECT_EQ(reply["errmsg"].as_string(),
              "not authorized on test to execute command { createUser: \"z\" }");
    EXPECT_EQ(
        anonymous.run(R"({"explain": {"createUser": "z", "pwd": "hush"}})")["errmsg"].as_string(),
        "not authorized on test to execute command { explain: { createUser: \"z\" } }");
    EXPECT_EQ(
        anonymous.run(R"({"find": "system.users", "filter": {"x": "hush"}})")["errmsg"].as_string(),
        "not authorized on test to execute command { find: \"system.users\" }");
}

// One user's sessions are not listed to another, nor ended by another, whatever UUIDs are known.
TEST_F(AccessControlTest, SessionsBelongToWhoBeganThem) {
    TestConnection one;
    TestConnection two;
    ASSERT_NO_FATAL_FAILURE(make_two_users(one, two));
    const SessionId id = SessionId::random();
    const auto in_session = [&id](bson::Doc command) {
        bson::Builder out;
        out.append_all(command);
        id.append_to(out, "lsid");
        return out.object();
    };
    const auto open_cursor = [&] {
        return one.run(in_session(bson::make("find", "c", "batchSize", 1)))["cursor"]
            .as_doc()["id"]
            .as_int64();
    };
    const auto more_of = [&](int64_t cursor) {
        return code(
            one.run(in_session(bson::make("getMore", cursor, "collection", "c", "batchSize", 1))));
    };
    const auto ended_by_list = [&id](const char* command) {
        bson::Builder out;
        {
            bson::Builder list = out.sub_array(command);
            id.append_to(list, "0");
        }
        return out.object();
    };
    const auto listed = [](TestConnection& client, const char* spec) {
        const bson::Object reply =
            client.run(std::string(R"({"aggregate": 1, "cursor": {}, "pipeline": [)"
                                   R"({"$listLocalSessions": )") +
                           spec + "}]}",
                       "admin");
        if (!ok(reply)) return -code(reply);
        return static_cast<int>(reply["cursor"].as_doc()["firstBatch"].as_doc().field_count());
    };

    const int64_t cursor = open_cursor();
    EXPECT_EQ(listed(one, "{}"), 1);
    EXPECT_EQ(listed(two, "{}"), 0);
    EXPECT_EQ(listed(two, R"({"allUsers": true})"), -base::kUnauthorized);
    EXPECT_EQ(listed(two, R"({"users": [{"user": "one", "db": "test"}]})"), -base::kUnauthorized);
    EXPECT_EQ(listed(*this, R"({"allUsers": true})"), 1);
    EXPECT_EQ(listed(*this, R"({"users": [{"user": "one", "db": "test"}]})"), 1);
    EXPECT_EQ(listed(*this, R"({"users": [{"user": "two", "db": "test"}]})"), 0);
    for (const char* command : {"endSessions", "killSessions", "refreshSessions"})
        EXPECT_EQ(code(two.run(ended_by_list(command))), 0) << command;
    EXPECT_EQ(code(two.run(R"({"killSessions": []})")), 0);
    EXPECT_EQ(code(two.run(R"({"killAllSessions": []})")), base::kUnauthorized);
    EXPECT_EQ(code(two.run(R"({"killAllSessionsByPattern": []})")), base::kUnauthorized);
    run(R"({"killAllSessions": [{"user": "two", "db": "test"}]})");
    EXPECT_EQ(more_of(cursor), 0);
    // Whose it is cannot be claimed.
    bson::Builder claimed;
    claimed.append("ping", 1);
    {
        bson::Builder lsid = claimed.sub_object("lsid");
        id.append_fields(lsid);
    }
    EXPECT_EQ(code(two.run(claimed.object())), base::kUnauthorized);

    EXPECT_EQ(code(one.run(ended_by_list("endSessions"))), 0);
    EXPECT_NE(more_of(cursor), 0);
    for (const char* command : {R"({"killAllSessions": [{"user": "one", "db": "test"}]})",
                                R"({"killAllSessions": []})"}) {
        const int64_t again = open_cursor();
        EXPECT_EQ(code(run(command)), 0) << command;
        EXPECT_NE(more_of(again), 0) << command;
    }
    const int64_t last = open_cursor();
    EXPECT_EQ(code(one.run(R"({"killSessions": []})")), 0);
    EXPECT_NE(more_of(last), 0);
}

// "a@b" of c and "a" of "b@c" read alike, and are two.
TEST_F(AccessControlTest, NamesThatReadAlikeAreNotTheSame) {
    make_root();
    ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
    make_user("a@b", R"([{"role": "read", "db": "test"}])", "c");
    make_user("a", R"([{"role": "read", "db": "test"}])", "b@c");
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
    TestConnection one;
    TestConnection two;
    one.open(*service_, 3);
    two.open(*service_, 4);
    ASSERT_EQ(log_in(one, "a@b", "pw", "c"), 0);
    ASSERT_EQ(log_in(two, "a", "pw", "b@c"), 0);
    const int64_t cursor =
        one.run(R"({"find": "c", "batchSize": 1})")["cursor"].as_doc()["id"].as_int64();
    EXPECT_EQ(code(two.run(bson::make("getMore", cursor, "collection", "c"))), base::kUnauthorized);
    EXPECT_EQ(code(two.run(R"({"usersInfo": {"user": "a@b", "db": "c"}})")), base::kUnauthorized);
    EXPECT_EQ(code(two.run(R"({"usersInfo": {"user": "a", "db": "b@c"}})")), 0);
    EXPECT_EQ(code(one.run(bson::make("getMore", cursor, "collection", "c"))), 0);
}

TEST_F(AccessControlTest, GreetingsTellWhatIsAskedAndNoMore) {
    make_root();
    TestConnection client;
    client.open(*service_, 3);
    EXPECT_FALSE(client.run(R"({"hello": 1})").doc().has("saslSupportedMechs"));
    for (const char* user : {"admin.root", "admin.unknown"}) {
        const bson::Object reply =
            client.run(bson::make("hello", 1, "saslSupportedMechs", user), "admin");
        EXPECT_EQ(bson::to_text(reply["saslSupportedMechs"]),
                  "[ \"SCRAM-SHA-1\", \"SCRAM-SHA-256\" ]");
    }
    auth::ScramClient scram(auth::Mechanism::sha256, "root", "secret");
    const std::string first = scram.first();
    bson::Builder early;
    early.append("saslStart", 1)
        .append("mechanism", "SCRAM-SHA-256")
        .append("db", "admin")
        .append_binary("payload", 0,
                       {reinterpret_cast<const uint8_t*>(first.data()), first.size()});
    const bson::Object hello =
        client.run(bson::make("hello", 1, "speculativeAuthenticate", early.doc()), "admin");
    ASSERT_TRUE(hello["speculativeAuthenticate"].is_object());
    const bson::Object begun(hello["speculativeAuthenticate"].as_doc());
    const bson::Object end = sasl(client, "saslContinue", "", scram.final(payload(begun)),
                                  begun["conversationId"].to_int32(), "admin");
    EXPECT_TRUE(ok(end));
    EXPECT_FALSE(end["done"].as_bool());
    EXPECT_EQ(code(client.run(R"({"find": "c"})")), base::kUnauthorized);
    EXPECT_TRUE(
        ok(sasl(client, "saslContinue", "", "", begun["conversationId"].to_int32(), "admin")));
    EXPECT_TRUE(ok(client.run(R"({"find": "c"})")));
    const bson::Object nonsense = client.run(
        bson::make("hello", 1, "speculativeAuthenticate", bson::make("saslStart", 1, "db", "x")));
    EXPECT_TRUE(ok(nonsense));
    EXPECT_FALSE(nonsense.doc().has("speculativeAuthenticate"));
}

// The memory for dropped users is bounded; no client stays logged in because of that.
TEST_F(AccessControlTest, HoweverManyUsersAreDroppedTheyAreOut) {
    UserStore& users = service_->access_control().users;
    const auth::UserName first{"first", "test"}, never{"never", "test"};
    const uint64_t logged_in = users.generation();
    users.dropped(first);
    for (size_t i = 1; i < UserStore::kDropsMax; ++i)
        users.dropped({fmt::format("user{}", i), "test"});
    EXPECT_FALSE(users.incarnation(first, logged_in));
    EXPECT_TRUE(users.incarnation(never, logged_in));
    users.dropped(first);
    EXPECT_TRUE(users.incarnation(never, logged_in)) << "a name again is no more to remember";
    users.dropped({"one more", "test"});
    EXPECT_FALSE(users.incarnation(first, logged_in));
    EXPECT_FALSE(users.incarnation(never, logged_in)) << "all have to log in again";
    const uint64_t again = users.generation();
    EXPECT_TRUE(users.incarnation(never, again));
    users.dropped(never);
    EXPECT_FALSE(users.incarnation(never, again));
}

}  // namespace
}  // namespace command

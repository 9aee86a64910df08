// Roles of one's own: what they give, how they are changed, what is refused of them.
#include <set>

#include "auth/own_role.h"
#include "base/error.h"
#include "command/commands/testing/access_control.h"

namespace command {
namespace {

class OwnRolesTest : public AccessControlTest {
  protected:
    OwnRolesTest() { begin(); }
    void begin() {
        make_root();
        ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
    }
    void done(const std::string& command, const std::string& db = "test") {
        const bson::Object reply = run(command, db);
        ASSERT_TRUE(ok(reply)) << command << bson::to_text(reply.doc());
    }
    // Its only privileges from now on.
    void set_privileges(const std::string& role, const auth::Privileges& privileges) {
        bson::Builder command;
        command.append("updateRole", role);
        {
            bson::Builder list = command.sub_array("privileges");
            privileges.append_to(list);
        }
        const bson::Object reply = run(command.object(), "admin");
        ASSERT_TRUE(ok(reply)) << bson::to_text(reply.doc());
    }
    bson::Object stored(const std::string& id) {
        const bson::Object reply =
            run(bson::make("find", "system.roles", "filter", bson::make("_id", id)), "admin");
        const bson::Element first = reply.doc().at_path("cursor.firstBatch").as_doc().first();
        return first ? bson::Object(first.as_doc()) : bson::Object();
    }
    // Puts a document there as a restored dump would.
    void store(const std::string& json) {
        service_->access_control().enabled = false;
        done(R"({"insert": "system.roles", "documents": [)" + json + "]}", "admin");
        service_->access_control().enabled = true;
        service_->access_control().users.changed();
    }
};

using Kind = auth::Resource::Kind;
namespace act = auth::action;

struct Needed {
    auth::Resource resource;
    auth::Actions actions;
};

struct Row {
    const char* db;
    const char* command;
    std::vector<Needed> needs;
};

const auth::Resource kC{Kind::collection, "test", "c"};
const auth::Resource kD{Kind::collection, "test", "d"};
const auth::Resource kTest{Kind::database, "test", ""};
const auth::Resource kAll{Kind::any_database, "", ""};
const auth::Resource kServer{Kind::cluster, "", ""};

// A command, and all that a client needs to run it.
const Row kTable[] = {
    {"test", R"({"find": "c"})", {{kC, act::find}}},
    {"test", R"({"count": "c"})", {{kC, act::find}}},
    {"test", R"({"distinct": "c", "key": "a"})", {{kC, act::find}}},
    {"test", R"({"aggregate": "c", "pipeline": [], "cursor": {}})", {{kC, act::find}}},
    {"test", R"({"explain": {"find": "c"}})", {{kC, act::find}}},
    {"test",
     R"({"aggregate": "c", "cursor": {},
         "pipeline": [{"$lookup": {"from": "d", "pipeline": [], "as": "d"}}]})",
     {{kC, act::find}, {kD, act::find}}},
    {"test",
     R"({"aggregate": "c", "pipeline": [{"$unionWith": "d"}], "cursor": {}})",
     {{kC, act::find}, {kD, act::find}}},
    {"test",
     R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}})",
     {{kC, act::find}, {kD, act::insert | act::remove}}},
    {"test",
     R"({"aggregate": "c", "pipeline": [{"$merge": "d"}], "cursor": {}})",
     {{kC, act::find}, {kD, act::insert | act::update}}},
    {"test",
     R"({"aggregate": "c", "pipeline": [{"$collStats": {"count": {}}}], "cursor": {}})",
     {{kC, act::collStats}}},
    {"test",
     R"({"aggregate": "c", "pipeline": [{"$indexStats": {}}], "cursor": {}})",
     {{kC, act::indexStats}}},
    {"test",
     R"({"aggregate": "c", "pipeline": [{"$changeStream": {}}], "cursor": {}})",
     {{kC, act::find | act::changeStream}}},
    {"test",
     R"({"aggregate": 1, "pipeline": [{"$changeStream": {}}], "cursor": {}})",
     {{kTest, act::find | act::changeStream}}},
    {"admin",
     R"({"aggregate": 1, "pipeline": [{"$changeStream": {"allChangesForCluster": true}}],
         "cursor": {}})",
     {{kAll, act::find | act::changeStream}}},
    {"test", R"({"insert": "c", "documents": [{}]})", {{kC, act::insert}}},
    {"test",
     R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})",
     {{kC, act::update}}},
    {"test",
     R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}, "upsert": true}]})",
     {{kC, act::update | act::insert}}},
    {"test", R"({"delete": "c", "deletes": [{"q": {"a": 5}, "limit": 1}]})", {{kC, act::remove}}},
    {"test",
     R"({"findAndModify": "c", "query": {"a": 5}, "remove": true})",
     {{kC, act::find | act::remove}}},
    {"test",
     R"({"findAndModify": "c", "query": {}, "update": {"a": 1}})",
     {{kC, act::find | act::update}}},
    {"admin",
     R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": [{"ns": "test.c"}]})",
     {{kC, act::insert}}},
    {"test", R"({"collStats": "c"})", {{kC, act::collStats}}},
    {"test", R"({"validate": "c"})", {{kC, act::validate}}},
    {"test", R"({"compact": "c"})", {{kC, act::compact}}},
    {"test", R"({"reIndex": "c"})", {{kC, act::reIndex}}},
    {"test", R"({"collMod": "c"})", {{kC, act::collMod}}},
    {"test",
     R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})",
     {{kC, act::createIndex}}},
    {"test", R"({"listIndexes": "c"})", {{kC, act::listIndexes}}},
    {"test", R"({"dropIndexes": "c", "index": "a"})", {{kC, act::dropIndex}}},
    {"test", R"({"create": "d"})", {{kD, act::createCollection}}},
    {"test", R"({"drop": "d"})", {{kD, act::dropCollection}}},
    {"test", R"({"convertToCapped": "c", "size": 4096})", {{kC, act::convertToCapped}}},
    {"test", R"({"listCollections": 1})", {{kTest, act::listCollections}}},
    {"test", R"({"dbStats": 1})", {{kTest, act::dbStats}}},
    {"test", R"({"dbHash": 1})", {{kTest, act::dbHash}}},
    {"test", R"({"profile": 0})", {{kTest, act::enableProfiler}}},
    {"test", R"({"createUser": "x", "pwd": "x", "roles": []})", {{kTest, act::createUser}}},
    {"test",
     R"({"createUser": "y", "pwd": "x", "roles": ["read"]})",
     {{kTest, act::createUser | act::grantRole}}},
    {"test", R"({"grantRolesToUser": "x", "roles": ["read"]})", {{kTest, act::grantRole}}},
    {"test", R"({"revokeRolesFromUser": "x", "roles": ["read"]})", {{kTest, act::revokeRole}}},
    {"test", R"({"updateUser": "x", "pwd": "y"})", {{kTest, act::changePassword}}},
    {"test", R"({"updateUser": "x", "customData": {}})", {{kTest, act::changeCustomData}}},
    {"test",
     R"({"updateUser": "x", "roles": ["read"]})",
     {{kAll, act::revokeRole | act::grantRole}}},
    {"test", R"({"usersInfo": "x"})", {{kTest, act::viewUser}}},
    {"test", R"({"dropUser": "x"})", {{kTest, act::dropUser}}},
    {"test", R"({"createRole": "p", "privileges": [], "roles": []})", {{kTest, act::createRole}}},
    {"test",
     R"({"createRole": "q", "roles": ["read"], "privileges": [
         {"resource": {"db": "test", "collection": "c"}, "actions": ["find"]}]})",
     {{kTest, act::createRole | act::grantRole}}},
    {"test",
     R"({"updateRole": "p", "roles": ["read"]})",
     {{kAll, act::revokeRole | act::grantRole}}},
    {"test",
     R"({"grantPrivilegesToRole": "p", "privileges": [
         {"resource": {"db": "test", "collection": ""}, "actions": ["find"]}]})",
     {{kTest, act::grantRole}}},
    {"test",
     R"({"revokePrivilegesFromRole": "p", "privileges": [
         {"resource": {"db": "test", "collection": ""}, "actions": ["find"]}]})",
     {{kTest, act::revokeRole}}},
    {"test", R"({"grantRolesToRole": "p", "roles": ["read"]})", {{kTest, act::grantRole}}},
    {"test", R"({"revokeRolesFromRole": "p", "roles": ["read"]})", {{kTest, act::revokeRole}}},
    {"test", R"({"rolesInfo": "p"})", {{kTest, act::viewRole}}},
    {"test", R"({"rolesInfo": 1, "showBuiltinRoles": true})", {{kTest, act::viewRole}}},
    {"test", R"({"dropRole": "p"})", {{kTest, act::dropRole}}},
    {"test", R"({"dropAllRolesFromDatabase": 1})", {{kTest, act::dropRole}}},
    {"test", R"({"dropAllUsersFromDatabase": 1})", {{kTest, act::dropUser}}},
    {"test", R"({"dropDatabase": 1})", {{kTest, act::dropDatabase}}},
    {"admin", R"({"serverStatus": 1})", {{kServer, act::serverStatus}}},
    {"admin", R"({"top": 1})", {{kServer, act::top}}},
    {"admin", R"({"hostInfo": 1})", {{kServer, act::hostInfo}}},
    {"admin", R"({"getLog": "global"})", {{kServer, act::getLog}}},
    {"admin", R"({"getParameter": 1, "logLevel": 1})", {{kServer, act::getParameter}}},
    {"admin", R"({"setParameter": 1, "logLevel": 0})", {{kServer, act::setParameter}}},
    {"admin", R"({"fsync": 1})", {{kServer, act::fsync}}},
    {"admin",
     R"({"aggregate": 1, "pipeline": [{"$currentOp": {}}], "cursor": {}})",
     {{kServer, act::inprog}}},
    {"admin", R"({"killOp": 1, "op": 0})", {{kServer, act::killop}}},
    {"admin", R"({"replSetGetStatus": 1})", {{kServer, act::replSetGetStatus}}},
};

// Each command is allowed to who has just what it needs, and refused to who has all but one action
// of that. What a role gives changes under a user who stays logged in.
TEST_F(OwnRolesTest, EachCommandNeedsWhatItNeeds) {
    done(R"({"createRole": "r", "privileges": [], "roles": []})", "admin");
    done(R"({"createUser": "u", "pwd": "pw", "roles": ["r"]})", "admin");
    done(R"({"insert": "c", "documents": [{"a": 1}]})");
    TestConnection user;
    user.open(*service_, 3);
    ASSERT_EQ(log_in(user, "u", "pw", "admin"), 0);
    int refusals = 0;
    for (const Row& row : kTable) {
        for (const Needed& spared : row.needs) {
            for (int i = 0; i < static_cast<int>(auth::ActionNumber::count); ++i) {
                const auth::Actions one = auth::Actions{1} << i;
                if ((spared.actions & one) == 0) continue;
                auth::Privileges all_but_one;
                for (const Needed& needed : row.needs) {
                    const bool is_it = &needed == &spared;
                    all_but_one.add(needed.resource,
                                    auth::kAnyAction & ~(is_it ? one : auth::Actions{0}));
                }
                set_privileges("r", all_but_one);
                EXPECT_EQ(code(user.run(row.command, row.db)), base::kUnauthorized)
                    << row.command << " without " << auth::kActionNames[i];
                ++refusals;
            }
        }
        auth::Privileges just;
        for (const Needed& needed : row.needs)
            just.add(needed.resource, needed.actions);
        set_privileges("r", just);
        const bson::Object reply = user.run(row.command, row.db);
        EXPECT_NE(code(reply), base::kUnauthorized)
            << row.command << " " << bson::to_text(reply.doc());
    }
    EXPECT_GT(refusals, static_cast<int>(std::size(kTable)));
}

TEST_F(OwnRolesTest, StoredAsOldServersStoreThem) {
    done(R"({"createRole": "r", "roles": ["read", {"role": "readWrite", "db": "test"}],
             "privileges": [{"resource": {"db": "test", "collection": "c"},
                             "actions": ["update", "find"]},
                            {"resource": {"db": "test", "collection": "c"},
                             "actions": ["insert"]}]})");
    EXPECT_EQ(bson::to_text(stored("test.r").doc()),
              "{ _id: \"test.r\", role: \"r\", db: \"test\", privileges: [ { resource: { db: "
              "\"test\", collection: \"c\" }, actions: [ \"find\", \"insert\", \"update\" ] } ], "
              "roles: [ { role: \"read\", db: \"test\" }, { role: \"readWrite\", db: \"test\" } "
              "] }");
    const bson::Object indexes = run(R"({"listIndexes": "system.roles"})", "admin");
    EXPECT_NE(bson::to_text(indexes.doc()).find("role_1_db_1"), std::string::npos);
    const bson::Object version = run(R"({"find": "system.version"})", "admin");
    EXPECT_NE(bson::to_text(version.doc()).find("currentVersion: 3"), std::string::npos);
}

TEST_F(OwnRolesTest, ChangedAndShown) {
    done(R"({"createRole": "inner", "roles": [], "privileges": [
             {"resource": {"db": "test", "collection": "c"}, "actions": ["find"]}]})");
    done(R"({"createRole": "outer", "roles": ["inner"], "privileges": []})");
    done(R"({"grantPrivilegesToRole": "outer", "privileges": [
             {"resource": {"db": "test", "collection": "c"}, "actions": ["insert", "remove"]},
             {"resource": {"db": "test", "collection": ""}, "actions": ["dbStats"]}]})");
    done(R"({"revokePrivilegesFromRole": "outer", "privileges": [
             {"resource": {"db": "test", "collection": "c"}, "actions": ["remove", "update"]},
             {"resource": {"db": "test", "collection": ""}, "actions": ["dbStats"]}]})");
    const auto shown = [this](const std::string& more) {
        const bson::Object reply = run(R"({"rolesInfo": "outer")" + more + "}");
        return bson::to_text(reply["roles"]);
    };
    EXPECT_EQ(shown(""),
              "[ { role: \"outer\", db: \"test\", isBuiltin: false, roles: [ { role: \"inner\", "
              "db: \"test\" } ], inheritedRoles: [ { role: \"inner\", db: \"test\" } ] } ]");
    const std::string whole = shown(R"(, "showPrivileges": true)");
    EXPECT_NE(whole.find("privileges: [ { resource: { db: \"test\", collection: \"c\" }, actions: "
                         "[ \"insert\" ] } ], inheritedPrivileges: [ { resource: { db: \"test\", "
                         "collection: \"c\" }, actions: [ \"find\", \"insert\" ] } ]"),
              std::string::npos)
        << whole;
    done(R"({"grantRolesToRole": "outer", "roles": ["read", "inner"]})");
    done(R"({"revokeRolesFromRole": "outer", "roles": ["inner"]})");
    EXPECT_NE(shown("").find("roles: [ { role: \"read\", db: \"test\" } ], inheritedRoles"),
              std::string::npos);
    const bson::Object all = run(R"({"rolesInfo": 1})");
    EXPECT_EQ(all["roles"].as_doc().field_count(), 2);
    EXPECT_EQ(run(R"({"rolesInfo": 1})", "other")["roles"].as_doc().field_count(), 0);
    EXPECT_EQ(run(R"({"rolesInfo": [{"role": "inner", "db": "test"}, "read", "none"]})")["roles"]
                  .as_doc()
                  .field_count(),
              2);
}

// What becomes of a role reaches who has it, directly or not, and who is logged in.
TEST_F(OwnRolesTest, ChangesReachOpenConnections) {
    done(R"({"createRole": "inner", "privileges": [], "roles": []})");
    done(R"({"createRole": "outer", "privileges": [], "roles": ["inner"]})");
    make_user("bob", R"(["outer"])");
    TestConnection bob;
    bob.open(*service_, 3);
    ASSERT_EQ(log_in(bob, "bob", "pw"), 0);
    const auto may_find = [&bob] { return code(bob.run(R"({"find": "c"})")) == 0; };
    const std::string privileges =
        R"("privileges": [{"resource": {"db": "test", "collection": "c"}, "actions": ["find"]}]})";
    EXPECT_FALSE(may_find());
    done(R"({"grantPrivilegesToRole": "inner", )" + privileges);
    EXPECT_TRUE(may_find());
    done(R"({"revokeRolesFromRole": "outer", "roles": ["inner"]})");
    EXPECT_FALSE(may_find());
    done(R"({"grantRolesToRole": "outer", "roles": ["inner"]})");
    EXPECT_TRUE(may_find());
    EXPECT_EQ(
        bson::to_text(
            bob.run(R"({"connectionStatus": 1})").doc().at_path("authInfo.authenticatedUserRoles")),
        "[ { role: \"outer\", db: \"test\" }, { role: \"inner\", db: \"test\" } ]");
    EXPECT_EQ(code(bob.run(R"({"rolesInfo": ["outer", "inner"]})")), 0);
    EXPECT_EQ(code(bob.run(R"({"rolesInfo": "read"})")), base::kUnauthorized);
    done(R"({"dropRole": "inner"})");
    EXPECT_FALSE(may_find());
    EXPECT_EQ(bson::to_text(stored("test.outer")["roles"]), "[]");
    // One of that name is another one.
    done(R"({"createRole": "inner", "roles": [], )" + privileges);
    EXPECT_FALSE(may_find());
    done(R"({"grantRolesToUser": "bob", "roles": ["inner"]})");
    EXPECT_TRUE(may_find());
    EXPECT_EQ(run(R"({"dropAllRolesFromDatabase": 1})")["n"].to_int32(), 2);
    EXPECT_FALSE(may_find());
    const bson::Object user = run(R"({"usersInfo": "bob"})");
    EXPECT_EQ(bson::to_text(user["users"].as_doc().first().as_doc()["roles"]), "[]");
}

TEST_F(OwnRolesTest, AUserMayChangeItsOwnPasswordWhereARoleSaysSo) {
    done(R"({"createRole": "self", "roles": [], "privileges": [
             {"resource": {"db": "", "collection": ""},
              "actions": ["changeOwnPassword", "changeOwnCustomData"]}]})",
         "admin");
    make_user("bob", R"([{"role": "self", "db": "admin"}])");
    make_user("eve", R"([])");
    TestConnection bob;
    bob.open(*service_, 3);
    ASSERT_EQ(log_in(bob, "bob", "pw"), 0);
    EXPECT_EQ(code(bob.run(R"({"updateUser": "bob", "pwd": "new", "customData": {"a": 1}})")), 0);
    EXPECT_EQ(code(bob.run(R"({"updateUser": "eve", "pwd": "new"})")), base::kUnauthorized);
    EXPECT_EQ(code(bob.run(R"({"updateUser": "bob", "roles": []})")), base::kUnauthorized);
    TestConnection again;
    again.open(*service_, 4);
    EXPECT_EQ(log_in(again, "bob", "new"), 0);
}

TEST_F(OwnRolesTest, RefusedByCodeAndSentence) {
    done(R"({"createRole": "a", "privileges": [], "roles": []})");
    done(R"({"createRole": "b", "privileges": [], "roles": ["a"]})");
    done(R"({"createRole": "c", "privileges": [], "roles": ["b"]})");
    struct Case {
        const char* command;
        int code;
        const char* text;
    };
    const Case cases[] = {
        {R"({"createRole": "a", "privileges": [], "roles": []})", 51002,
         "Role \"a@test\" already exists"},
        {R"({"createRole": "read", "privileges": [], "roles": []})", 2,
         "Cannot create roles with the same name as a built-in role"},
        {R"({"createRole": "", "privileges": [], "roles": []})", 2,
         "the name of a role must not be empty, nor contain NUL"},
        {R"({"createRole": "x", "roles": []})", 2,
         "\"createRole\" command requires a \"privileges\" array"},
        {R"({"createRole": "x", "privileges": []})", 2,
         "\"createRole\" command requires a \"roles\" array"},
        {R"({"createRole": "x", "privileges": [], "roles": ["none"]})", 31,
         "No role named none@test"},
        {R"({"createRole": "x", "privileges": [], "roles": ["x"]})", 31, "No role named x@test"},
        {R"({"createRole": "x", "privileges": [], "roles": ["root"]})", 31,
         "No role named root@test"},
        {R"({"createRole": "x", "privileges": [], "roles": [{"role": "root", "db": "admin"}]})", 80,
         "Roles on the 'test' database cannot be granted roles from other databases"},
        {R"({"createRole": "x", "roles": [], "privileges": [
             {"resource": {"db": "other", "collection": ""}, "actions": ["find"]}]})",
         80,
         "Roles on the 'test' database cannot be granted privileges that target other databases "
         "or the cluster"},
        {R"({"createRole": "x", "roles": [], "privileges": [
             {"resource": {"cluster": true}, "actions": ["top"]}]})",
         80,
         "Roles on the 'test' database cannot be granted privileges that target other databases "
         "or the cluster"},
        {R"({"createRole": "x", "roles": [], "privileges": [
             {"resource": {"db": "test", "collection": ""}, "actions": ["find", "fly", "swim"]}]})",
         2, "Unrecognized action privilege strings: fly,swim"},
        {R"({"createRole": "x", "roles": [], "privileges": [
             {"resource": {"db": "test"}, "actions": ["find"]}]})",
         9,
         "the resource of a privilege must be { db, collection }, { cluster: true } or { "
         "anyResource: true }"},
        {R"({"createRole": "x", "roles": [], "privileges": [{"resource": 1, "actions": []}]})", 14,
         "the resource of a privilege must be { db, collection }, { cluster: true } or { "
         "anyResource: true }"},
        {R"({"createRole": "x", "roles": [], "privileges": [1]})", 14,
         "a privilege must be a document { resource, actions }"},
        {R"({"createRole": "x", "roles": [], "privileges": [], "unknown": 1})", 40415, nullptr},
        {R"({"grantRolesToRole": "a", "roles": ["a"]})", 80, "Cannot grant role a@test to itself."},
        {R"({"grantRolesToRole": "a", "roles": ["c"]})", 80,
         "Granting c@test to a@test would introduce a cycle in the role graph."},
        {R"({"updateRole": "a", "roles": ["b"]})", 80,
         "Granting b@test to a@test would introduce a cycle in the role graph."},
        {R"({"updateRole": "a"})", 2, "Must specify at least one field to update in updateRole"},
        {R"({"updateRole": "none", "roles": []})", 31, "No role named none@test"},
        {R"({"updateRole": "read", "roles": []})", 80,
         "read@test is a built-in role and cannot be modified"},
        {R"({"dropRole": "read"})", 80, "read@test is a built-in role and cannot be modified"},
        {R"({"dropRole": "none"})", 31, "No role named none@test"},
        {R"({"dropRole": 1})", 14, "the name of a role must be a string"},
        {R"({"grantPrivilegesToRole": "a", "privileges": []})", 2,
         "grantPrivilegesToRole command requires a non-empty \"privileges\" array"},
        {R"({"revokePrivilegesFromRole": "a"})", 2,
         "revokePrivilegesFromRole command requires a non-empty \"privileges\" array"},
        {R"({"grantRolesToRole": "a", "roles": []})", 2,
         "grantRolesToRole needs one role at least"},
        {R"({"createUser": "x", "pwd": "x", "roles": ["none"]})", 31, "No role named none@test"},
        {R"({"createUser": "x", "pwd": "x", "roles": [{"role": "__system", "db": "admin"}]})", 31,
         "No role named __system@admin"},
    };
    for (const Case& each : cases) {
        const bson::Object reply = run(each.command);
        EXPECT_EQ(code(reply), each.code) << each.command << bson::to_text(reply.doc());
        if (each.text != nullptr) {
            EXPECT_EQ(reply["errmsg"].as_string(), each.text) << each.command;
        }
    }
    for (const char* db : {"local", "$external"})
        EXPECT_EQ(code(run(R"({"createRole": "x", "privileges": [], "roles": []})", db)), 2) << db;
    EXPECT_EQ(
        run(R"({"createRole": "read", "privileges": [], "roles": []})")["codeName"].as_string(),
        "BadValue");
    EXPECT_EQ(run(R"({"dropRole": "read"})")["codeName"].as_string(), "InvalidRoleModification");
}

TEST_F(OwnRolesTest, LimitsAreSaid) {
    std::string many;
    for (size_t i = 0; i <= auth::kPrivilegesMax; ++i)
        many += fmt::format(R"({}{{"resource": {{"db": "test", "collection": "c{}"}},
                                "actions": ["find"]}})",
                            i == 0 ? "" : ",", i);
    EXPECT_EQ(code(run(R"({"createRole": "x", "roles": [], "privileges": [)" + many + "]}")), 2);
}

// A document that is none of a role gives nothing, and says so to who asks for it.
TEST_F(OwnRolesTest, DamagedDocuments) {
    const char* const damaged[] = {
        R"({"_id": "test.bad", "role": "bad", "db": "test", "roles": []})",
        R"({"_id": "test.bad", "role": "bad", "db": "test", "roles": [],
            "privileges": [{"resource": {"db": "test"}, "actions": ["find"]}]})",
        R"({"_id": "test.bad", "role": "bad", "db": "test", "roles": [],
            "privileges": [{"resource": {"db": "test", "collection": "c"}, "actions": "find"}]})",
        R"({"_id": "test.bad", "role": "bad", "db": "test", "privileges": [], "roles": [1]})",
        R"({"_id": "test.bad", "role": "bad", "db": "other", "privileges": [], "roles": []})",
        R"({"_id": "test.bad", "role": 1, "db": "test", "privileges": [], "roles": []})",
    };
    make_user("bob", R"([])");
    TestConnection bob;
    bob.open(*service_, 3);
    ASSERT_EQ(log_in(bob, "bob", "pw"), 0);
    for (const char* document : damaged) {
        done(R"({"createRole": "good", "roles": [], "privileges": [
                 {"resource": {"db": "test", "collection": "c"}, "actions": ["find"]}]})");
        done(R"({"createRole": "bad", "privileges": [], "roles": ["good"]})");
        done(R"({"updateUser": "bob", "roles": ["bad"]})");
        EXPECT_EQ(code(bob.run(R"({"find": "c"})")), 0);
        service_->access_control().enabled = false;
        done(R"({"delete": "system.roles", "deletes": [{"q": {"_id": "test.bad"}, "limit": 1}]})",
             "admin");
        service_->access_control().enabled = true;
        store(document);
        EXPECT_EQ(code(bob.run(R"({"find": "c"})")), base::kUnauthorized) << document;
        for (const char* refused :
             {R"({"rolesInfo": "bad"})", R"({"grantRolesToUser": "bob", "roles": ["bad"]})",
              R"({"createRole": "y", "privileges": [], "roles": ["bad"]})",
              R"({"grantRolesToRole": "bad", "roles": ["read"]})",
              R"({"updateRole": "bad", "roles": []})"}) {
            const bson::Object reply = run(refused);
            EXPECT_EQ(code(reply), 81) << refused << document << bson::to_text(reply.doc());
            EXPECT_EQ(reply["codeName"].as_string(), "RoleDataInconsistent");
            EXPECT_TRUE(reply["errmsg"].as_string().starts_with(
                "the document of role test.bad in admin.system.roles is damaged: "));
        }
        done(R"({"dropRole": "bad"})");
        done(R"({"dropRole": "good"})");
    }
}

// As another server may have left them: a cycle ends, an unknown action and a role that has gone
// give nothing, and no client gets what members of a set have.
TEST_F(OwnRolesTest, DocumentsOfOtherServers) {
    store(R"({"_id": "test.x", "role": "x", "db": "test", "roles": [{"role": "y", "db": "test"}],
              "privileges": [{"resource": {"db": "test", "collection": "c"},
                              "actions": ["find", "flyAway"]}]})");
    store(R"({"_id": "test.y", "role": "y", "db": "test", "privileges": [],
              "roles": [{"role": "x", "db": "test"}, {"role": "gone", "db": "test"},
                        {"role": "__system", "db": "admin"}]})");
    make_user("bob", R"(["y"])");
    TestConnection bob;
    bob.open(*service_, 3);
    ASSERT_EQ(log_in(bob, "bob", "pw"), 0);
    EXPECT_EQ(code(bob.run(R"({"find": "c"})")), 0);
    EXPECT_EQ(code(bob.run(R"({"insert": "c", "documents": [{}]})")), base::kUnauthorized);
    EXPECT_EQ(code(bob.run(R"({"serverStatus": 1})", "admin")), base::kUnauthorized);
    EXPECT_EQ(code(run(R"({"rolesInfo": "x", "showPrivileges": true})")), 0);
}

// Their documents are changed by no other command, whatever a role says.
TEST_F(OwnRolesTest, NoRoleWritesUsersAndRolesAsDocuments) {
    done(R"({"createRole": "all", "roles": [], "privileges": [
             {"resource": {"anyResource": true}, "actions": ["anyAction"]}]})",
         "admin");
    make_user("boss", R"(["all"])", "admin");
    TestConnection boss;
    boss.open(*service_, 3);
    ASSERT_EQ(log_in(boss, "boss", "pw", "admin"), 0);
    EXPECT_EQ(code(boss.run(R"({"serverStatus": 1})", "admin")), 0);
    EXPECT_EQ(code(boss.run(R"({"insert": "c", "documents": [{}]})")), 0);
    EXPECT_EQ(code(boss.run(R"({"createUser": "x", "pwd": "x", "roles": ["read"]})")), 0);
    for (const char* ns : {"system.users", "system.roles"}) {
        EXPECT_EQ(code(boss.run(bson::make("find", ns), "admin")), 0) << ns;
        for (const char* command :
             {R"({"insert": "%", "documents": [{"_id": "test.x"}]})",
              R"({"update": "%", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})",
              R"({"delete": "%", "deletes": [{"q": {}, "limit": 0}]})",
              R"({"findAndModify": "%", "query": {}, "remove": true})", R"({"drop": "%"})",
              R"({"createIndexes": "%", "indexes": [{"key": {"a": 1}, "name": "a"}]})",
              R"({"aggregate": "c", "pipeline": [{"$merge": "%"}], "cursor": {}})"}) {
            std::string text = command;
            text.replace(text.find('%'), 1, ns);
            const int refused = code(boss.run(text, "admin"));
            EXPECT_NE(refused, 0) << text;
        }
    }
    EXPECT_EQ(bson::to_text(run(R"({"rolesInfo": "all", "showPrivileges": true})", "admin")["roles"]
                                .as_doc()
                                .first()
                                .as_doc()["privileges"]),
              "[ { resource: { anyResource: true }, actions: [ \"anyAction\" ] } ]");
}

}  // namespace
}  // namespace command

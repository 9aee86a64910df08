#include "auth/roles.h"

#include <gtest/gtest.h>

#include "bson/json.h"

namespace auth {
namespace {

using namespace action;

bool allows(const Role& role, std::string_view db, std::string_view collection, Actions actions) {
    return privileges_of(role).allow(db, collection, actions);
}

TEST(Roles, ThoseOfADatabaseEndThere) {
    for (const char* name : {"read", "readWrite", "dbAdmin", "userAdmin", "dbOwner"}) {
        const Privileges of_test = privileges_of({name, "test"});
        EXPECT_FALSE(of_test.list().empty()) << name;
        for (const Privilege& privilege : of_test.list()) {
            EXPECT_NE(privilege.resource.kind, Resource::Kind::cluster) << name;
            EXPECT_FALSE(privilege.resource.covers("other", "c")) << name;
            EXPECT_FALSE(privilege.resource.covers("tes", "c")) << name;
            EXPECT_FALSE(privilege.resource.covers("test2", "")) << name;
        }
        EXPECT_FALSE(of_test.know_database("other"));
        EXPECT_TRUE(of_test.know_database("test"));
    }
}

TEST(Roles, WhoReadsDoesNotWrite) {
    const Role read{"read", "test"};
    EXPECT_TRUE(allows(read, "test", "c", find | collStats | listIndexes | killCursors));
    EXPECT_TRUE(allows(read, "test", "", listCollections | dbStats));
    EXPECT_TRUE(allows(read, "test", "system.indexes", find));
    EXPECT_TRUE(allows(read, "test", "system.js", find));
    for (const Actions one : {insert, update, remove, dropCollection, createIndex, collMod,
                              createUser, viewUser, dropDatabase, enableProfiler, validate})
        EXPECT_FALSE(allows(read, "test", "c", one));
    EXPECT_FALSE(allows(read, "test", "system.js", insert));
    EXPECT_FALSE(allows(read, "test", "system.profile", find));
}

TEST(Roles, WhoWritesDoesNotAdminister) {
    const Role role{"readWrite", "test"};
    EXPECT_TRUE(allows(role, "test", "c",
                       find | insert | update | remove | createIndex | dropIndex |
                           createCollection | dropCollection));
    EXPECT_TRUE(allows(role, "test", "system.js", insert | remove));
    EXPECT_FALSE(allows(role, "test", "system.indexes", insert));
    EXPECT_FALSE(allows(role, "test", "", dropDatabase));
    EXPECT_FALSE(allows(role, "test", "", createUser));
    EXPECT_FALSE(allows(role, "test", "c", collMod));
}

TEST(Roles, WhoAdministersADatabaseDoesNotReadIt) {
    const Role role{"dbAdmin", "test"};
    EXPECT_FALSE(allows(role, "test", "c", find));
    EXPECT_FALSE(allows(role, "test", "c", insert));
    EXPECT_TRUE(allows(role, "test", "c", collMod | compact | validate | reIndex));
    EXPECT_TRUE(allows(role, "test", "", dropDatabase | repairDatabase | enableProfiler));
    EXPECT_TRUE(allows(role, "test", "system.profile", find | dropCollection));
    EXPECT_FALSE(allows(role, "test", "", createUser));
}

TEST(Roles, UsersAreNotWrittenAsDocuments) {
    constexpr Actions kWrites = insert | update | remove | dropCollection | createIndex |
                                dropIndex | collMod | convertToCapped | createCollection |
                                renameCollectionSameDB | compact | reIndex;
    for (const std::string_view name : role_names("admin")) {
        const Privileges privileges = privileges_of({std::string(name), "admin"});
        for (const Privilege& privilege : privileges.list()) {
            for (const char* db : {"admin", "test"}) {
                if (!privilege.resource.covers(db, "system.users")) continue;
                EXPECT_EQ(privilege.actions & kWrites, 0u) << name << " " << db;
            }
        }
        for (const Privilege& privilege : privileges.list())
            EXPECT_EQ(privilege.actions & internal, 0u) << name;
    }
    EXPECT_TRUE(allows({"root", "admin"}, "admin", "system.users", find));
    EXPECT_TRUE(allows({"userAdminAnyDatabase", "admin"}, "admin", "system.users", find));
    EXPECT_TRUE(allows({"backup", "admin"}, "admin", "system.users", find));
    for (const char* name : {"readAnyDatabase", "readWriteAnyDatabase", "dbAdminAnyDatabase",
                             "clusterAdmin", "read", "readWrite", "dbAdmin", "userAdmin"})
        EXPECT_FALSE(allows({name, "admin"}, "admin", "system.users", find)) << name;
}

TEST(Roles, ThatOfMembersMayEverythingAndCannotBeGiven) {
    const Privileges member = privileges_of(kMemberRole);
    EXPECT_TRUE(member.allow_on_cluster(kEveryAction));
    for (const char* name : {"c", "system.users", "oplog.rs", ""})
        EXPECT_TRUE(member.allow("local", name, kEveryAction)) << name;
    EXPECT_FALSE(is_built_in(kMemberRole));
}

TEST(Roles, ThoseForAllDatabases) {
    EXPECT_TRUE(allows({"readAnyDatabase", "admin"}, "x", "c", find));
    EXPECT_TRUE(allows({"readWriteAnyDatabase", "admin"}, "x", "c", find | insert));
    EXPECT_TRUE(allows({"dbAdminAnyDatabase", "admin"}, "x", "", dropDatabase));
    EXPECT_TRUE(allows({"userAdminAnyDatabase", "admin"}, "x", "", createUser | grantRole));
    EXPECT_TRUE(privileges_of({"readAnyDatabase", "admin"}).allow_on_cluster(listDatabases));
    EXPECT_FALSE(privileges_of({"readAnyDatabase", "admin"}).allow_on_cluster(shutdown));
    EXPECT_FALSE(privileges_of({"userAdminAnyDatabase", "admin"}).allow("x", "c", find));
    const Privileges cluster = privileges_of({"clusterAdmin", "admin"});
    EXPECT_TRUE(cluster.allow_on_cluster(shutdown | fsync | inprog | killop | setParameter | top));
    EXPECT_FALSE(cluster.allow("x", "c", find));
    const Privileges root = privileges_of({"root", "admin"});
    EXPECT_TRUE(root.allow("x", "c", find | insert | collMod | createUser | dropDatabase));
    EXPECT_TRUE(root.allow_on_cluster(shutdown | serverStatus | listDatabases));
    EXPECT_TRUE(root.allow_anywhere(viewUser));
}

TEST(Roles, ThoseOfAdminExistNowhereElse) {
    EXPECT_TRUE(is_built_in({"root", "admin"}));
    EXPECT_TRUE(is_built_in({"read", "admin"}));
    EXPECT_TRUE(is_built_in({"read", "test"}));
    EXPECT_FALSE(is_built_in({"root", "test"}));
    EXPECT_FALSE(is_built_in({"readAnyDatabase", "test"}));
    EXPECT_FALSE(is_built_in({"reader", "test"}));
    EXPECT_FALSE(is_built_in({"", "admin"}));
    EXPECT_TRUE(privileges_of({"root", "test"}).list().empty());
}

TEST(Privileges, SeveralRolesAddUp) {
    Privileges both = privileges_of({"read", "a"});
    both.add(privileges_of({"dbAdmin", "a"}));
    both.add(privileges_of({"read", "b"}));
    EXPECT_TRUE(both.allow("a", "c", find | collMod));
    EXPECT_FALSE(both.allow("b", "c", find | collMod));
    EXPECT_FALSE(both.allow_anywhere(find));
    EXPECT_FALSE(Privileges().allow("a", "c", find));
    EXPECT_FALSE(Privileges().allow_on_cluster(inprog));
}

TEST(Privileges, ShownAsClientsKnowThem) {
    Privileges some;
    some.add({Resource::Kind::cluster, "", ""}, listDatabases);
    some.add({Resource::Kind::database, "test", ""}, find | collStats);
    some.add({Resource::Kind::collection, "test", "system.js"}, find);
    some.add({Resource::Kind::any_database, "", ""}, find);
    some.add({Resource::Kind::everything, "", ""}, find);
    bson::Builder out;
    {
        bson::Builder list = out.sub_array("p");
        some.append_to(list);
    }
    EXPECT_EQ(
        bson::to_text(out.doc()),
        "{ p: [ { resource: { cluster: true }, actions: [ \"listDatabases\" ] }, "
        "{ resource: { db: \"test\", collection: \"\" }, actions: [ \"collStats\", \"find\" ] }, "
        "{ resource: { db: \"test\", collection: \"system.js\" }, actions: [ \"find\" ] }, "
        "{ resource: { db: \"\", collection: \"\" }, actions: [ \"find\" ] }, "
        "{ resource: { anyResource: true }, actions: [ \"find\" ] } ] }");
}

}  // namespace
}  // namespace auth

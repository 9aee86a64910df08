#include "auth/roles.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace auth {

namespace {

using namespace action;

constexpr Actions kRead = kReadCatalogue | changeStream;
constexpr Actions kReadWrite = kRead | insert | update | remove | convertToCapped |
                               createCollection | createIndex | dropCollection | dropIndex |
                               renameCollectionSameDB;
// Looks after collections without looking into them.
constexpr Actions kDbAdmin =
    collMod | collStats | compact | convertToCapped | createCollection | createIndex | dbHash |
    dbStats | dropCollection | dropDatabase | dropIndex | enableProfiler | indexStats |
    killCursors | listCollections | listIndexes | planCacheIndexFilter | planCacheRead |
    planCacheWrite | reIndex | renameCollectionSameDB | repairDatabase | validate;
constexpr Actions kUserAdmin = changeCustomData | changePassword | createRole | createUser |
                               dropRole | dropUser | grantRole | revokeRole | viewRole | viewUser;
constexpr Actions kProfile =
    kReadCatalogue | convertToCapped | createCollection | dropCollection | compact | validate;

constexpr Actions kMonitorCluster = connPoolStats | cursorInfo | getCmdLineOpts | getLog |
                                    getParameter | getShardMap | hostInfo | inprog | listDatabases |
                                    replSetGetStatus | serverStatus | shardingState | top;
constexpr Actions kMonitorDatabase =
    collStats | dbStats | indexStats | listCollections | listIndexes;
constexpr Actions kManageHost = closeAllDatabases | connPoolSync | diagLogging | fsync |
                                invalidateUserCache | killop | logRotate | rotateCertificates |
                                setParameter | shutdown | touch | unlock;
constexpr Actions kManageDatabase = killCursors | killAnyCursor | repairDatabase;

constexpr std::string_view kCatalogues[] = {"system.indexes", "system.namespaces"};

// One database, or all: the collections whose names begin with "system." have to be named.
class Scope {
  public:
    Scope(Privileges& out, std::string_view db) : out_(out), db_(db) {}
    explicit Scope(Privileges& out) : out_(out), all_(true) {}

    void normal(Actions actions) {
        out_.add({all_ ? Resource::Kind::any_database : Resource::Kind::database, db_, ""},
                 actions);
    }
    void system(std::string_view name, Actions actions) {
        out_.add({all_ ? Resource::Kind::system_collection : Resource::Kind::collection, db_,
                  std::string(name)},
                 actions);
    }

  private:
    Privileges& out_;
    const std::string db_;
    const bool all_ = false;
};

void add_cluster(Privileges& out, Actions actions) {
    out.add({Resource::Kind::cluster, "", ""}, actions);
}

void add_read(Scope scope, Actions actions) {
    scope.normal(actions);
    for (const std::string_view name : kCatalogues)
        scope.system(name, kReadCatalogue);
    scope.system("system.js", actions & (kRead | insert | update | remove));
}

void add_db_admin(Scope scope) {
    scope.normal(kDbAdmin);
    for (const std::string_view name : kCatalogues)
        scope.system(name, kReadCatalogue);
    scope.system("system.profile", kProfile);
}

void add_user_admin(Scope scope) {
    scope.normal(kUserAdmin);
}

// User documents are readable only with the right to see all users.
void add_users_as_documents(Privileges& out) {
    for (const char* name : {"system.users", "system.roles", "system.version"})
        out.add({Resource::Kind::collection, "admin", name}, kReadCatalogue);
}

void read(Privileges& out, std::string_view db) {
    add_read(Scope(out, db), kRead);
}

void read_write(Privileges& out, std::string_view db) {
    add_read(Scope(out, db), kReadWrite);
}

void db_admin(Privileges& out, std::string_view db) {
    add_db_admin(Scope(out, db));
}

void user_admin(Privileges& out, std::string_view db) {
    add_user_admin(Scope(out, db));
}

void db_owner(Privileges& out, std::string_view db) {
    read_write(out, db);
    db_admin(out, db);
    user_admin(out, db);
}

void read_any(Privileges& out, std::string_view) {
    add_read(Scope(out), kRead);
    add_cluster(out, listDatabases);
}

void read_write_any(Privileges& out, std::string_view) {
    add_read(Scope(out), kReadWrite);
    add_cluster(out, listDatabases);
}

void db_admin_any(Privileges& out, std::string_view) {
    add_db_admin(Scope(out));
    add_cluster(out, listDatabases);
}

void user_admin_any(Privileges& out, std::string_view) {
    add_user_admin(Scope(out));
    add_users_as_documents(out);
    add_cluster(out, listDatabases | invalidateUserCache);
}

void cluster_monitor(Privileges& out, std::string_view) {
    add_cluster(out, kMonitorCluster);
    Scope scope(out);
    scope.normal(kMonitorDatabase);
    for (const std::string_view name : kCatalogues)
        scope.system(name, kReadCatalogue);
    scope.system("system.profile", kReadCatalogue);
}

void host_manager(Privileges& out, std::string_view) {
    add_cluster(out, kManageHost);
    Scope(out).normal(kManageDatabase);
}

void cluster_manager(Privileges& out, std::string_view) {
    add_cluster(out, replSetConfigure | replSetGetStatus | replSetStateChange | getShardMap |
                         shardingState);
}

void cluster_admin(Privileges& out, std::string_view db) {
    cluster_monitor(out, db);
    host_manager(out, db);
    cluster_manager(out, db);
    Scope(out).normal(dropDatabase);
}

// Everything that mongodump reads.
void backup(Privileges& out, std::string_view) {
    out.add({Resource::Kind::everything, "", ""}, kReadCatalogue);
    add_cluster(out, listDatabases | getParameter | serverStatus);
}

// The rights to write what mongorestore writes, users apart: those are made by commands.
void restore(Privileges& out, std::string_view) {
    constexpr Actions kRestored = insert | update | remove | createCollection | createIndex |
                                  dropCollection | dropIndex | collMod | convertToCapped |
                                  listCollections | listIndexes;
    Scope scope(out);
    scope.normal(kRestored);
    scope.system("system.js", kRestored);
    scope.system("system.namespaces", find);
    scope.system("system.indexes", find);
    add_cluster(out, listDatabases | getParameter);
}

void root(Privileges& out, std::string_view db) {
    read_write_any(out, db);
    db_admin_any(out, db);
    user_admin_any(out, db);
    cluster_admin(out, db);
    backup(out, db);
    restore(out, db);
}

void member(Privileges& out) {
    out.add({Resource::Kind::everything, "", ""}, kEveryAction);
    add_cluster(out, kEveryAction);
}

struct Entry {
    std::string_view name;
    void (*add)(Privileges& out, std::string_view db);
};

// The roles of every database come first; the others are admin's.
constexpr Entry kRoles[] = {
    {"dbAdmin", db_admin},
    {"dbOwner", db_owner},
    {"read", read},
    {"readWrite", read_write},
    {"userAdmin", user_admin},
    {"backup", backup},
    {"clusterAdmin", cluster_admin},
    {"clusterManager", cluster_manager},
    {"clusterMonitor", cluster_monitor},
    {"dbAdminAnyDatabase", db_admin_any},
    {"hostManager", host_manager},
    {"readAnyDatabase", read_any},
    {"readWriteAnyDatabase", read_write_any},
    {"restore", restore},
    {"root", root},
    {"userAdminAnyDatabase", user_admin_any},
};
constexpr size_t kOfEveryDatabase = 5;

constexpr auto kNames = [] {
    std::array<std::string_view, std::size(kRoles)> names;
    std::ranges::transform(kRoles, names.begin(), &Entry::name);
    return names;
}();

}  // namespace

std::span<const std::string_view> role_names(std::string_view db) {
    return std::span(kNames).first(db == "admin" ? kNames.size() : kOfEveryDatabase);
}

bool is_built_in(const Role& role) {
    const auto names = role_names(role.db);
    return std::ranges::find(names, role.name) != names.end();
}

Privileges privileges_of(const Role& role) {
    Privileges out;
    if (role == kMemberRole)
        member(out);
    else if (is_built_in(role))
        std::ranges::find(kRoles, role.name, &Entry::name)->add(out, role.db);
    return out;
}

}  // namespace auth

// auth/actions.h - the names of the actions that a role can grant. The names are those of the old
// server, as showPrivileges lists them.
#pragma once

#include <cstdint>
#include <string_view>

namespace auth {

// A set of actions, as bits; and one action, as the set of it alone.
using Actions = uint64_t;

// clang-format off
#define AUTH_ACTIONS(X)                                                                          \
    /* On collections, or on the database that they lie in. */                                     \
    X(find) X(insert) X(update) X(remove) X(collMod) X(collStats) X(compact) X(convertToCapped)    \
    X(createCollection) X(createIndex) X(dropCollection) X(dropIndex) X(indexStats) X(killCursors) \
    X(killAnyCursor) X(listIndexes) X(planCacheIndexFilter) X(planCacheRead) X(planCacheWrite)     \
    X(reIndex) X(renameCollectionSameDB) X(validate)                                               \
    /* On databases. */                                                                            \
    X(changeCustomData) X(changePassword) X(createUser) X(dbHash) X(dbStats) X(dropDatabase)       \
    X(dropUser) X(enableProfiler) X(grantRole) X(listCollections) X(repairDatabase) X(revokeRole)  \
    X(viewRole) X(viewUser)                                                                        \
    /* On the server as a whole. */                                                                \
    X(closeAllDatabases) X(connPoolStats) X(connPoolSync) X(cursorInfo) X(diagLogging) X(fsync)    \
    X(getCmdLineOpts) X(getLog) X(getParameter) X(getShardMap) X(hostInfo) X(inprog)               \
    X(invalidateUserCache) X(killop) X(listDatabases) X(logRotate) X(replSetConfigure)             \
    X(replSetGetStatus) X(replSetStateChange) X(serverStatus) X(setParameter) X(shardingState)     \
    X(shutdown) X(top) X(touch) X(unlock)                                                          \
    /* What no role has but that of members of a set. */                                           \
    X(internal)
// clang-format on

enum class ActionNumber : int {
#define X(name) name,
    AUTH_ACTIONS(X)
#undef X
        count
};
static_assert(static_cast<int>(ActionNumber::count) < 64);

namespace action {
#define X(name) constexpr Actions name = Actions{1} << static_cast<int>(ActionNumber::name);
AUTH_ACTIONS(X)
#undef X
}  // namespace action

constexpr Actions kEveryAction = (Actions{1} << static_cast<int>(ActionNumber::count)) - 1;

// The name of the n-th one.
constexpr std::string_view kActionNames[] = {
#define X(name) #name,
    AUTH_ACTIONS(X)
#undef X
};

}  // namespace auth

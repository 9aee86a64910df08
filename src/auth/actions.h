// auth/actions.h - the names of the actions that a role can grant, as showPrivileges lists them:
// those of the old server, and those that servers of today have beside them. The last ones decide
// nothing here; a role that was made for another server names them.
#pragma once

#include <cstdint>
#include <string_view>

namespace auth {

// A set of actions, as bits; and one action, as the set of it alone.
__extension__ typedef unsigned __int128 Actions;  // NOLINT: `using` takes no __extension__

// clang-format off
#define AUTH_ACTIONS(X)                                                                          \
    /* On collections, or on the database that they lie in. */                                     \
    X(find) X(insert) X(update) X(remove) X(collMod) X(collStats) X(compact) X(convertToCapped)    \
    X(createCollection) X(createIndex) X(dropCollection) X(dropIndex) X(indexStats) X(killCursors) \
    X(killAnyCursor) X(listIndexes) X(planCacheIndexFilter) X(planCacheRead) X(planCacheWrite)     \
    X(reIndex) X(renameCollectionSameDB) X(validate) X(changeStream)                               \
    /* On databases. */                                                                            \
    X(changeCustomData) X(changeOwnCustomData) X(changeOwnPassword) X(changePassword)              \
    X(createRole) X(createUser) X(dbHash) X(dbStats) X(dropDatabase) X(dropRole) X(dropUser)       \
    X(enableProfiler) X(grantRole) X(listCollections) X(repairDatabase) X(revokeRole) X(viewRole)  \
    X(viewUser)                                                                                    \
    /* On the server as a whole. */                                                                \
    X(closeAllDatabases) X(connPoolStats) X(connPoolSync) X(cursorInfo) X(diagLogging) X(fsync)    \
    X(getCmdLineOpts) X(getLog) X(getParameter) X(getShardMap) X(hostInfo) X(inprog)               \
    X(invalidateUserCache) X(killop) X(listDatabases) X(logRotate) X(replSetConfigure)             \
    X(replSetGetStatus) X(replSetStateChange) X(serverStatus) X(setParameter) X(shardingState)     \
    X(shutdown) X(top) X(touch) X(unlock)                                                          \
    /* What no role has but that of members of a set. */                                           \
    X(internal)                                                                                    \
    /* What decides nothing here. */                                                               \
    X(addShard) X(analyzeShardKey) X(appendOplogNote) X(applicationMessage) X(applyOps)            \
    X(auditConfigure) X(authSchemaUpgrade) X(bypassDefaultMaxTimeMS)                               \
    X(bypassDocumentValidation) X(bypassWriteBlockingMode) X(checkFreeMonitoringStatus)            \
    X(checkMetadataConsistency) X(cleanupOrphaned) X(clearJumboFlag) X(cpuProfiler)                \
    X(createSearchIndexes) X(dropConnections) X(dropSearchIndex) X(enableSharding)                 \
    X(flushRouterConfig) X(forceUUID) X(getClusterParameter) X(getDefaultRWConcern)                \
    X(impersonate) X(killAnySession) X(listCachedAndActiveUsers) X(listClusterCatalog)             \
    X(listSearchIndexes) X(listSessions) X(listShards) X(moveChunk)                                \
    X(moveCollection) X(netstat) X(oidReset) X(operationMetrics) X(queryStatsRead)                 \
    X(queryStatsReadTransformed) X(querySettings) X(refineCollectionShardKey) X(removeShard)       \
    X(replSetGetConfig) X(replSetHeartbeat) X(replSetResizeOplog) X(reshardCollection) X(resync)   \
    X(rotateCertificates) X(setAuthenticationRestriction) X(setClusterParameter)                   \
    X(setDefaultRWConcern) X(setFeatureCompatibilityVersion) X(setFreeMonitoring)                  \
    X(setUserWriteBlockMode) X(splitChunk) X(splitVector) X(storageDetails)                        \
    X(updateSearchIndex) X(useUUID)
// clang-format on

enum class ActionNumber : int {
#define X(name) name,
    AUTH_ACTIONS(X)
#undef X
        count
};
static_assert(static_cast<int>(ActionNumber::count) < 128);

namespace action {
#define X(name) constexpr Actions name = Actions{1} << static_cast<int>(ActionNumber::name);
AUTH_ACTIONS(X)
#undef X
}  // namespace action

constexpr Actions kEveryAction = (Actions{1} << static_cast<int>(ActionNumber::count)) - 1;
// The actions that `anyAction` stands for.
constexpr Actions kAnyAction = kEveryAction & ~action::internal;
// The actions that read a collection of the server's own, and change nothing.
constexpr Actions kReadCatalogue =
    action::find | action::collStats | action::dbHash | action::dbStats | action::indexStats |
    action::killCursors | action::listCollections | action::listIndexes | action::planCacheRead;

// The name of the n-th one.
constexpr std::string_view kActionNames[] = {
#define X(name) #name,
    AUTH_ACTIONS(X)
#undef X
};

}  // namespace auth

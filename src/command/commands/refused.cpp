// Commands of the old server that this one knows by name only, each refused with the reason.
// docs/differences.md lists them too; tests/server/test_commands.py compares the two lists.
#include <algorithm>
#include <string>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/commands/families.h"
#include "command/request/invocation.h"

namespace command {

namespace {

struct Reason {
    int code;
    std::string_view text;
};

constexpr Reason kNoCopy{base::kCommandNotSupported,
                         "this server does not connect to others; use mongodump and mongorestore"};
constexpr Reason kNoOplog{base::kCommandNotSupported, "this server applies no entries of an oplog"};
constexpr Reason kNoShards{base::kCommandNotSupported,
                           "this server does not take part in a sharded cluster"};
constexpr Reason kNoMerge{base::kCommandNotSupported,
                          "users are made by createUser, not restored as documents"};
constexpr Reason kNoOldLogin{base::kAuthenticationFailed,
                             "log in by SCRAM-SHA-256 or SCRAM-SHA-1 (saslStart)"};
constexpr Reason kNoFilters{base::kCommandNotSupported, "plans are not cached, nor filtered"};
constexpr Reason kInternal{base::kCommandNotSupported,
                           "it looks into the inside of the original server"};

struct Refusal {
    std::string_view name;
    Reason reason;
    uint32_t flags = 0;
    std::string_view alias = {};
};

constexpr Refusal kRefusals[] = {
    {"mapreduce.shardedfinish", kNoShards},
    {"clone", kNoCopy},
    {"cloneCollection", kNoCopy},
    {"copydb", kNoCopy, kAdminOnly | kHidesBody},
    {"copydbgetnonce", kNoCopy, kAdminOnly},
    {"appendOplogNote", kNoOplog, kAdminOnly},
    {"getoptime", kNoOplog},
    {"resync", kNoOplog, kAdminOnly},
    {"_migrateClone", kNoShards, kAdminOnly},
    {"_recvChunkAbort", kNoShards, kAdminOnly},
    {"_recvChunkCommit", kNoShards, kAdminOnly},
    {"_recvChunkStart", kNoShards, kAdminOnly},
    {"_recvChunkStatus", kNoShards, kAdminOnly},
    {"_transferMods", kNoShards, kAdminOnly},
    {"_testDistLockWithSkew", kNoShards},
    {"_testDistLockWithSyncCluster", kNoShards},
    {"_skewClockCommand", kNoShards},
    {"checkShardingIndex", kNoShards},
    {"cleanupOrphaned", kNoShards, kAdminOnly},
    {"medianKey", kNoShards},
    {"mergeChunks", kNoShards, kAdminOnly},
    {"moveChunk", kNoShards, kAdminOnly},
    {"setShardVersion", kNoShards, kAdminOnly},
    {"shardConnPoolStats", kNoShards},
    {"splitChunk", kNoShards, kAdminOnly},
    {"splitVector", kNoShards},
    {"unsetSharding", kNoShards, kAdminOnly},
    {"writeBacksQueued", kNoShards, kAdminOnly},
    {"writebacklisten", kNoShards, kAdminOnly},
    {"authenticate", kNoOldLogin, kHidesBody},
    {"_mergeAuthzCollections", kNoMerge, kAdminOnly},
    {"planCacheClearFilters", kNoFilters},
    {"planCacheSetFilter", kNoFilters},
    {"configureFailPoint", kInternal, kAdminOnly | kTestOnly},
    {"stageDebug", kInternal},
};

void refuse(Invocation& invocation) {
    const auto named = [&invocation](const Refusal& refusal) {
        return refusal.name == invocation.name || refusal.alias == invocation.name;
    };
    const Refusal* const found = std::ranges::find_if(kRefusals, named);
    DCHECK(found != std::end(kRefusals));
    base::fail(found->reason.code, "{} is not supported: {}", invocation.name, found->reason.text);
}

// The registry's entries, and the texts that they point to.
struct Table {
    Table() {
        help.reserve(std::size(kRefusals));
        for (const Refusal& refusal : kRefusals) {
            DCHECK(help.size() < help.capacity());  // the commands point to its texts
            help.push_back(fmt::format("not supported: {}", refusal.reason.text));
            commands.push_back({refusal.name, refusal.alias, refusal.flags | kAnyField,
                                LockKind::none, help.back(), refuse,
                                refusal.name == "authenticate" ? needs::nothing : needs::login});
        }
    }
    std::vector<std::string> help;
    std::vector<Command> commands;
};

}  // namespace

Family refused_commands() {
    static const Table table;
    return table.commands;
}

}  // namespace command

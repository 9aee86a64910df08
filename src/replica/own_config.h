// replica/own_config.h - the configuration as this server keeps it, in local.system.replset, and
// which of its members this server is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "catalog/catalog.h"
#include "replica/config.h"

namespace replica {

struct MemberOptions {
    std::string set_name;
    std::string own_name;  // of this machine
    std::string own_host;  // "name:port", by which clients reach this server
    int port = 0;
    int64_t log_bytes = 0;             // of the log that a set begins with
    bool elects = false;               // the primary is elected (elections.h)
    std::string rollback_folder = {};  // where what is taken back goes
    // The reason why members could not exchange anything with this server as it was started; empty:
    // they can.
    std::string why_alone = {};
    // For the answers of all members, before a configuration is forced.
    std::chrono::milliseconds answers_limit{5000};
};

// The documents of local.system.replset.
struct StoredConfig {
    int64_t count = 0;
    bson::Object first;
    storage::RecordId id;  // of it
};
// Lock: at least shared on `local`.
StoredConfig read_stored_config(catalog::Catalog& catalog);
// Replaces the configuration that is there. REQUIRES: global W.
void store_config(catalog::Catalog& catalog, const Config& config);

// Reads a configuration and finds out which of its members this server is. `before`: the present
// one, which the new one has to go on from; or null. No lock: it asks the resolver. Throws
// base::Error 93, 74 (no host is this server).
Config parse_own_config(bson::Doc given, const Config* before, int64_t term,
                        const MemberOptions& options);

// Returns the version of a configuration that is forced. Two that are forced on two members have an
// order: one of them is taken over by all, and its primary is the only one in the end. `old`: the
// present one; null: there is none. Throws base::Error 103 where it would be too large.
int32_t forced_version(const Config& config, const Config* old);

}  // namespace replica

#include "replica/own_config.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "base/error.h"
#include "replica/own_host.h"

namespace replica {

namespace {

void check_takes_others(const Config& config, const MemberOptions& options) {
    if (config.members.size() > 1 && !options.why_alone.empty())
        base::fail(base::kInvalidReplicaSetConfig, "the configuration has {} members, and {}",
                   config.members.size(), options.why_alone);
}

size_t own_index(const Config& config, const MemberOptions& options) {
    const auto own = std::ranges::find(config.members, options.own_host, &MemberConfig::host);
    if (own != config.members.end()) return static_cast<size_t>(own - config.members.begin());
    std::vector<size_t> found;
    for (size_t i = 0; i < config.members.size(); ++i)
        if (is_own_host(config.members[i].host, options.own_name, options.port)) found.push_back(i);
    if (found.size() > 1)
        base::fail(base::kInvalidReplicaSetConfig, "The hosts {} and {} both map to this node",
                   config.members[found[0]].host, config.members[found[1]].host);
    if (found.empty())
        base::fail(base::kNodeNotFound,
                   "No host described in the configuration {} of replica set {} maps to this node: "
                   "{} is not a name of this machine with port {}",
                   config.version, config.set_name,
                   config.has_primary() ? config.primary().host : config.members.front().host,
                   options.port);
    return found[0];
}

}  // namespace

StoredConfig read_stored_config(catalog::Catalog& catalog) {
    StoredConfig stored;
    catalog::Collection* const configs = catalog.collection(kConfigs);
    if (configs == nullptr) return stored;
    stored.count = configs->records().count();
    const auto cursor = configs->records().cursor(storage::Direction::forward);
    if (const auto record = cursor->next()) {
        stored.first = bson::Object(record->doc);
        stored.id = record->id;
    }
    return stored;
}

void store_config(catalog::Catalog& catalog, const Config& config) {
    catalog::Collection& configs = catalog.collection_for_write(kConfigs);
    for (StoredConfig stored = read_stored_config(catalog); stored.count > 1;
         stored = read_stored_config(catalog))
        configs.remove(stored.id);
    const StoredConfig stored = read_stored_config(catalog);
    if (stored.count == 1)
        configs.update(stored.id, config.document);
    else
        configs.insert(config.document);
}

Config parse_own_config(bson::Doc given, const Config* before, int64_t term,
                        const MemberOptions& options) {
    Config config =
        Config::parse(given, {.set_name = options.set_name,
                              .set_id = before != nullptr ? before->set_id : bson::new_object_id(),
                              .term = term,
                              .elects = options.elects});
    check_takes_others(config, options);
    config.own_index = own_index(config, options);
    return config;
}

int32_t forced_version(const Config& config, const Config* old) {
    constexpr int64_t kStepMin = 10'000, kStepMax = 100'000;
    std::random_device random;
    const int64_t step = std::uniform_int_distribution<int64_t>(kStepMin, kStepMax)(random);
    const int64_t least = old == nullptr ? 0 : int64_t{old->version} + 1;
    const int64_t version = std::max<int64_t>(config.version, least) + step;
    if (version > std::numeric_limits<int32_t>::max())
        base::fail(base::kNewReplicaSetConfigurationIncompatible,
                   "the version {} of the configuration is too large to be forced: one that is "
                   "forced is larger by up to {}",
                   config.version, kStepMax);
    return static_cast<int32_t>(version);
}

}  // namespace replica

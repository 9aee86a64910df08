#include "replica/member.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "replica/own_host.h"
#include "sched/blocking.h"

namespace replica {

std::string_view name_of(State state) {
    switch (state) {
        case State::startup:
            return "STARTUP";
        case State::primary:
            return "PRIMARY";
        case State::removed:
            break;
    }
    return "REMOVED";
}

// The documents of local.system.replset.
struct Member::Stored {
    int64_t count = 0;
    bson::Object first;
    storage::RecordId id;  // of it
};

Member::Member(storage::Engine& engine, catalog::Catalog& catalog, oplog::Log& log, Options options)
    : engine_(engine), catalog_(catalog), log_(log), options_(std::move(options)) {}

Member::Stored Member::read_stored() const {
    Stored stored;
    catalog::Collection* const configs = catalog_.collection(kConfigs);
    if (configs == nullptr) return stored;
    stored.count = configs->records().count();
    const auto cursor = configs->records().cursor(storage::Direction::forward);
    if (const auto record = cursor->next()) {
        stored.first = bson::Object(record->doc);
        stored.id = record->id;
    }
    return stored;
}

void Member::open() {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    const Stored stored = read_stored();
    if (stored.first.empty()) {
        base::log::info("the replica set {} has not been initiated: rs.initiate() does it",
                        options_.set_name);
        return;
    }
    try {
        if (stored.count > 1)
            base::fail(base::kInvalidReplicaSetConfig, "{} has {} documents", kConfigs,
                       stored.count);
        Config config = Config::parse(
            stored.first, {.set_name = options_.set_name, .term = stored.first["term"].to_int64()});
        check_is_this_server(config);
        log_.open(options_.log_bytes);
        become_primary(std::move(config), log_.last().term + 1, "new primary");
    } catch (const base::Error& error) {
        if (error.code() != base::kInvalidReplicaSetConfig && error.code() != base::kNodeNotFound)
            throw;
        base::log::error(
            "this server cannot be a member by the configuration in {}, and takes neither reads "
            "nor writes: {}. Another one is set by rs.reconfig(configuration, {{force: true}})",
            kConfigs, error.what());
        const std::lock_guard guard(mutex_);
        why_removed_ = error.what();
        state_.store(State::removed, std::memory_order_release);
    }
}

void Member::check_is_this_server(const Config& config) const {
    if (config.host == options_.own_host) return;
    const sched::BlockingSection away;
    if (!is_own_host(config.host, options_.own_name, options_.port))
        base::fail(base::kNodeNotFound,
                   "No host described in the configuration {} of replica set {} maps to this node: "
                   "{} is not a name of this machine with port {}",
                   config.version, config.set_name, config.host, options_.port);
}

std::shared_ptr<const Config> Member::config() const {
    const std::lock_guard guard(mutex_);
    return config_;
}

std::shared_ptr<const Config> Member::needed_config() const {
    const std::lock_guard guard(mutex_);
    if (config_ != nullptr) return config_;
    if (state() == State::startup)
        base::fail(base::kNotYetInitialized, "no replset config has been received");
    base::fail(base::kInvalidReplicaSetConfig,
               "Our replica set config is invalid or we are not a member of it: {}", why_removed_);
}

bson::ObjectId Member::election_id() const {
    bson::ObjectId id;
    const auto term = static_cast<uint64_t>(last().term);
    constexpr uint8_t kPrefix[] = {0x7f, 0xff, 0xff, 0xff};
    std::ranges::copy(kPrefix, id.bytes);
    for (int i = 0; i < 8; ++i)
        id.bytes[4 + i] = static_cast<uint8_t>(term >> (56 - 8 * i));
    return id;
}

void Member::initiate(bson::Doc given) {
    if (state() != State::startup) base::fail(base::kAlreadyInitialized, "already initialized");
    const bson::Object alone = Config::of_one_member(options_.set_name, options_.own_host);
    Config config = Config::parse(given.empty() ? alone.doc() : given,
                                  {.set_name = options_.set_name, .set_id = bson::new_object_id()});
    if (config.version != 1)
        base::fail(base::kInvalidReplicaSetConfig,
                   "the configuration that begins a set has to have the version 1, and not {}",
                   config.version);
    check_is_this_server(config);
    const sched::BlockingSection away;
    const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
    if (state() != State::startup || read_stored().count > 0)
        base::fail(base::kAlreadyInitialized, "already initialized");
    catalog::Collection* const ring = catalog_.collection(oplog::kSetLog);
    if (ring != nullptr && ring->records().count() > 0)
        base::fail(base::kAlreadyInitialized,
                   "{} is not empty on the initiating member: a set has been here before. Drop the "
                   "collection, by a start without --replSet, to begin another one",
                   oplog::kSetLog);
    log_.open(options_.log_bytes);
    store(config);
    become_primary(std::move(config), 1, "initiating set");
    engine_.durability().commit_now();
}

void Member::reconfigure(bson::Doc given, bool force) {
    if (state() == State::startup)
        base::fail(base::kNotYetInitialized, "no replset config has been received");
    const std::shared_ptr<const Config> before = config();
    if (before == nullptr && !force)
        base::fail(base::kNotWritablePrimary,
                   "replSetReconfig should only be run on a writable PRIMARY, or with force. "
                   "Current state {};",
                   name_of(state()));
    Config config =
        Config::parse(given, {.set_name = options_.set_name,
                              .set_id = before != nullptr ? before->set_id : bson::new_object_id(),
                              .term = last().term});
    if (before != nullptr && config.set_id != before->set_id)
        base::fail(base::kNewReplicaSetConfigurationIncompatible,
                   "New and old configurations differ in replica set ID");
    check_is_this_server(config);
    const sched::BlockingSection away;
    const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
    const std::shared_ptr<const Config> old = this->config();
    if (old != nullptr && config.version <= old->version) {
        if (!force)
            base::fail(base::kNewReplicaSetConfigurationIncompatible,
                       "New replica set configuration version must be greater than old, but {} is "
                       "not greater than {} for replica set {}",
                       config.version, old->version, config.set_name);
        config = config.with_version(old->version + 1);
    }
    store(config);
    if (old == nullptr) {
        if (!log_.is_open()) log_.open(options_.log_bytes);
        become_primary(std::move(config), last().term + 1, "Reconfig set");
    } else {
        log_.add_note(bson::make("msg", "Reconfig set", "version", config.version));
        const std::lock_guard guard(mutex_);
        config_ = std::make_shared<const Config>(std::move(config));
    }
    engine_.durability().commit_now();
}

// In place of what is there.
void Member::store(const Config& config) {
    catalog::Collection& configs = catalog_.collection_for_write(kConfigs);
    for (Stored stored = read_stored(); stored.count > 1; stored = read_stored())
        configs.remove(stored.id);
    const Stored stored = read_stored();
    if (stored.count == 1)
        configs.update(stored.id, config.document);
    else
        configs.insert(config.document);
}

void Member::become_primary(Config config, int64_t term, const char* why) {
    log_.begin_term(term, config.member_id, bson::make("msg", why));
    election_ts_.store(log_.last().ts, std::memory_order_relaxed);
    const std::lock_guard guard(mutex_);
    base::log::info("member {} of replica set {}: PRIMARY, term {}", config.host, config.set_name,
                    term);
    config_ = std::make_shared<const Config>(std::move(config));
    why_removed_.clear();
    state_.store(State::primary, std::memory_order_release);
}

}  // namespace replica

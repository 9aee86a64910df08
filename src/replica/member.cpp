#include "replica/member.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "bson/json.h"
#include "catalog/names.h"
#include "replica/elections.h"
#include "replica/initial_sync.h"
#include "replica/step_down.h"

namespace replica {

Member::Member(storage::Engine& engine, catalog::Catalog& catalog, oplog::Log& log, Options options)
    : engine_(engine),
      catalog_(catalog),
      log_(log),
      options_(std::move(options)),
      commits_(engine.durability(), [this](oplog::Position position) {
          progress_.own_durable(position);
          if (role_.follows()) following_.note_durable();
      }) {}

void Member::open() {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    const StoredConfig stored = read_stored_config(catalog_);
    if (stored.first.empty()) {
        base::log::info("the replica set {} has not been initiated: rs.initiate() does it",
                        options_.set_name);
        return;
    }
    try {
        if (stored.count > 1)
            base::fail(base::kInvalidReplicaSetConfig, "{} has {} documents", kConfigs,
                       stored.count);
        Config config =
            parse_own_config(stored.first, nullptr, stored.first["term"].to_int64(), options_);
        log_.open(options_.log_bytes);
        // A member of a larger set learns first what the other members know.
        const bool is_alone = config.members.size() == 1 && !options_.elects;
        if (!is_alone || !take_office(config)) become_follower(std::move(config));
    } catch (const base::Error& error) {
        if (error.code() != base::kInvalidReplicaSetConfig && error.code() != base::kNodeNotFound)
            throw;
        leave(error.what());
    }
}

void Member::begin_own_term() {
    const auto is_due = [this](const Config* config) {
        return config != nullptr && config->is_of_primary() && !role_.is_primary();
    };
    if (!is_due(config().get())) return;
    const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
    const std::shared_ptr<const Config> config = this->config();
    if (!is_due(config.get())) return;
    if (InitialSync::is_under_way(catalog_))
        return report_problem(
            "the configuration makes this server the primary, but its copy of the data "
            "is not complete: it takes no writes");
    take_office(*config);
}

// False: the disk has no room for the first entry of a term.
bool Member::take_office(const Config& config) try {
    become(config, log_.last().term + 1, "new primary");
    return true;
} catch (const base::Error& error) {
    if (error.code() != base::kOutOfDiskSpace) throw;
    report_problem(fmt::format("it takes no writes until there is room: {}", error.what()));
    return false;
}

// Neither reads nor writes, until there is another configuration.
void Member::leave(const std::string& why) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    DCHECK(!why.empty());
    base::log::error(
        "this server cannot be a member by the configuration in {}, and takes neither reads "
        "nor writes: {}. Another one is set by rs.reconfig(configuration, {{force: true}})",
        kConfigs, why);
    if (log_.is_open()) log_.follow();
    set_config(nullptr);
    {
        const std::lock_guard guard(mutex_);
        why_removed_ = why;
    }
    set_state(State::removed);
    progress_.end_all(base::kPrimarySteppedDown);
}

void Member::set_config(std::shared_ptr<const Config> config) {
    DCHECK(config == nullptr || config->own_index < config->members.size());
    has_default_concern_.store(config != nullptr && !config->default_concern.empty(),
                               std::memory_order_relaxed);
    std::shared_ptr<const Config> before;
    news_.change([&] {
        const std::lock_guard guard(mutex_);
        before = std::exchange(config_, config);
    });
    const auto source = [](const Config* of) {
        const bool is_other = of != nullptr && of->has_primary() && !of->is_of_primary();
        return is_other ? of->primary().host : std::string();
    };
    if (source(before.get()) != source(config.get())) following_.leave_source();
    limits_.configure(config);
    progress_.configure(std::move(config));
}

void Member::set_stepping_down(bool is_stepping_down) {
    news_.change([&] { role_.set_stepping_down(is_stepping_down); });
}

// Who waits for the next primary goes on, and hears of it, or that there is none.
void Member::end_hand_over() {
    if (!role_.set_heir_due(0)) return;
    if (!role_.is_primary()) progress_.end_all(base::kPrimarySteppedDown);
    news_.add();
}

void Member::set_state(State state) {
    bool is_other = false;
    news_.change([&] { is_other = role_.enter(state); });
    if (!is_other) return;
    const std::shared_ptr<const Config> config = this->config();
    base::log::info("member {} of replica set {}: {}",
                    config == nullptr ? options_.own_host : config->own().host, options_.set_name,
                    name_of(state));
    // Launchers of sets, such as those of tests, wait for these words.
    if (state == State::primary)
        base::log::info("transition to primary complete; database writes are now permitted");
    peers_.ask_soon();  // and so tell them
}

void Member::begin_rollback() {
    rollbacks_.fetch_add(1, std::memory_order_relaxed);
    progress_.end_all(base::kPrimarySteppedDown);
}

// The same is said once.
void Member::report_problem(const std::string& what) {
    if (following_.note_problem(what))
        base::log::error("replica set {}: {}", options_.set_name, what);
}

std::string Member::message() const {
    std::string message = following_.message();
    if (message.empty() && elections_ != nullptr) message = elections_->problem();
    return message;
}

std::shared_ptr<const Config> Member::config() const {
    const std::lock_guard guard(mutex_);
    return config_;
}

std::shared_ptr<const Config> Member::needed_config() const {
    const std::lock_guard guard(mutex_);
    if (config_ != nullptr) return config_;
    if (role_.state() == State::startup)
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

std::string Member::primary_host() const {
    const std::shared_ptr<const Config> config = this->config();
    if (config == nullptr || !config->has_primary()) return {};
    const std::string& host = config->primary().host;
    const bool known =
        config->is_of_primary() ? role_.takes_writes() : peers_.peer(host).state == State::primary;
    return known ? host : std::string();
}

std::optional<int64_t> Member::lag_seconds() const {
    const std::shared_ptr<const Config> config = this->config();
    if (config == nullptr || !config->has_primary()) return std::nullopt;
    if (config->is_of_primary()) return 0;
    const oplog::Position of_primary = peers_.peer(config->primary().host).last;
    if (of_primary.ts == 0 || last().ts == 0) return std::nullopt;
    const auto seconds = [](uint64_t ts) { return static_cast<int64_t>(ts >> 32); };
    return std::max<int64_t>(seconds(of_primary.ts) - seconds(last().ts), 0);
}

void Member::initiate(bson::Doc given) {
    if (role_.state() != State::startup)
        base::fail(base::kAlreadyInitialized, "already initialized");
    const bson::Object alone = Config::of_one_member(options_.set_name, options_.own_host);
    Config config = parse_own_config(given.empty() ? alone.doc() : given, nullptr, 1, options_);
    if (config.version != 1)
        base::fail(base::kInvalidReplicaSetConfig,
                   "the configuration that begins a set has to have the version 1, and not {}",
                   config.version);
    if (elections_ == nullptr) check_is_primary_of(config);
    if (elections_ != nullptr && config.own().priority == 0)
        base::fail(base::kNodeNotElectable,
                   "{} has priority: 0 in it, and so cannot begin the set: send it to another one",
                   config.own().host);
    {
        const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
        check_begins_set();
        if (elections_ == nullptr) {
            log_.open(options_.log_bytes);
            store_config(catalog_, config);
            become(std::move(config), 1, "initiating set");
            engine_.durability().commit_now();
            return;
        }
    }
    elections_->initiate(std::move(config));
}

void Member::check_begins_set() {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    if (role_.state() != State::startup || read_stored_config(catalog_).count > 0)
        base::fail(base::kAlreadyInitialized, "already initialized");
    catalog::Collection* const ring = catalog_.collection(oplog::kSetLog);
    if (ring != nullptr && ring->records().count() > 0)
        base::fail(base::kAlreadyInitialized,
                   "{} is not empty on the initiating member: a set has been here before. Drop the "
                   "collection, by a start without --replSet, to begin another one",
                   oplog::kSetLog);
}

void Member::check_is_primary_of(const Config& config) const {
    if (!config.is_of_primary())
        base::fail(base::kNodeNotElectable,
                   "This node, {}, with _id {} is not electable under the configuration version {} "
                   "for replica set {}: {} has the priority above 0, so it is to be sent there",
                   config.own().host, config.own().id, config.version, config.set_name,
                   config.primary().host);
}

// A member that takes office has all that another one can be reached for; what was acknowledged by
// a majority is lost otherwise.
void Member::check_none_is_ahead() {
    const std::string ahead = peers_.one_ahead_of(last(), options_.answers_limit);
    if (!ahead.empty())
        base::fail(base::kInvalidReplicaSetConfig,
                   "{} has entries that this set would lose: force it there, or stop that member "
                   "first if it is not to be heard",
                   ahead);
}

void Member::reconfigure(bson::Doc given, bool force) {
    if (role_.state() == State::startup)
        base::fail(base::kNotYetInitialized, "no replset config has been received");
    if (!role_.is_primary() && !force)
        base::fail(base::kNotWritablePrimary,
                   "replSetReconfig should only be run on a writable PRIMARY, or with force. "
                   "Current state {};",
                   name_of(role_.state()));
    const std::shared_ptr<const Config> before = config();
    Config config = parse_own_config(given, before.get(), last().term, options_);
    if (before != nullptr && config.set_id != before->set_id)
        base::fail(base::kNewReplicaSetConfigurationIncompatible,
                   "New and old configurations differ in replica set ID");
    if (elections_ != nullptr) return reconfigure_elected(config, before.get(), force);
    check_is_primary_of(config);
    if (!role_.is_primary()) check_none_is_ahead();
    const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
    const std::shared_ptr<const Config> old = this->config();
    if (!role_.is_primary() && !force)
        base::fail(base::kNotWritablePrimary, "this member is not the primary any more");
    check_not_stepping_down(role_);
    if (old != nullptr && !force && config.version <= old->version)
        base::fail(base::kNewReplicaSetConfigurationIncompatible,
                   "New replica set configuration version must be greater than old, but {} is not "
                   "greater than {} for replica set {}",
                   config.version, old->version, config.set_name);
    if (force) {
        const size_t own = config.own_index;
        config = config.with_version(forced_version(config, old.get()));
        config.own_index = own;
    }
    if (!role_.is_primary() && InitialSync::is_under_way(catalog_))
        base::fail(base::kNodeNotElectable,
                   "this member cannot become the primary: its copy of the data is not complete");
    DCHECK(old == nullptr || config.version > old->version);
    store_config(catalog_, config);
    if (role_.is_primary()) {
        log_.add_note(bson::make("msg", "Reconfig set", "version", config.version));
        set_config(std::make_shared<const Config>(std::move(config)));
    } else {
        if (!log_.is_open()) log_.open(options_.log_bytes);
        become(std::move(config), last().term + 1, "Reconfig set");
    }
    engine_.durability().commit_now();
    peers_.ask_soon();
}

// With elections the coordinator decides on it. By force it takes the one that the members know,
// where it does not know the set.
void Member::reconfigure_elected(const Config& config, const Config* before, bool force) {
    if (!force) return elections_->reconfigure(config);
    const auto is_same = [&] {
        for (const bson::Element& e : before->document.doc())
            if (e.name() != "version" && e.name() != "term" &&
                bson::to_text(e) != bson::to_text(config.document[e.name()]))
                return false;
        return true;
    };
    if (before == nullptr || !is_same())
        base::fail(base::kInvalidReplicaSetConfig,
                   "with a coordinator force only tells it the configuration that the members "
                   "have, where it has lost the set: rs.reconfig(rs.conf(), {{force: true}})");
    elections_->rebuild();
}

void Member::become(Config config, int64_t term, const char* why) {
    DCHECK(config.is_of_primary() && term > 0);
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    log_.begin_term(term, config.own().id, bson::make("msg", why));
    election_ts_.store(log_.last().ts, std::memory_order_relaxed);
    progress_.begin_term(log_.last());
    set_config(std::make_shared<const Config>(std::move(config)));
    {
        const std::lock_guard guard(mutex_);
        why_removed_.clear();
    }
    following_.set("", "");
    peers_.forget_callers();
    base::log::info("replica set {}: term {}", options_.set_name, term);
    set_state(State::primary);
}

void Member::become_follower(Config config) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    if (!log_.is_open()) log_.open(options_.log_bytes);
    log_.follow();
    const bool has_data = log_.last().ts != 0 && !InitialSync::is_under_way(catalog_);
    set_config(std::make_shared<const Config>(std::move(config)));
    {
        const std::lock_guard guard(mutex_);
        why_removed_.clear();
    }
    peers_.forget_callers();
    set_state(has_data ? State::secondary : State::startup2);
    if (role_.heir_due_ms() == 0) progress_.end_all(base::kPrimarySteppedDown);
}

// Throws if this server has data that the initial sync under a configuration from outside would
// drop.
void Member::check_brings_no_data() {
    for (const std::string& name : catalog_.database_names())
        if (name != "local" && !catalog_.database(name)->collection_names().empty())
            base::fail(base::kCannotInitializeNodeWithData,
                       "this server has data of its own (the database {}), which the copy of the "
                       "primary's data would replace: drop it first, by a start without --replSet",
                       name);
}

// Another member's, newer than what is here. `last` is what that one had at that time or later.
void Member::adopt(const std::string& host, bson::Doc given, oplog::Position last) {
    const std::shared_ptr<const Config> before = config();
    Config config = [&] {
        try {
            return parse_own_config(given, before.get(), given["term"].to_int64(), options_);
        } catch (const base::Error& error) {
            // Not a member any more. One that never was waits on.
            if (error.code() != base::kNodeNotFound || before == nullptr) throw;
            const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
            leave(error.what());
            throw;
        }
    }();
    const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
    const std::shared_ptr<const Config> old = this->config();
    if (old != nullptr && config.version <= old->version) return;
    if (old != nullptr && config.set_id != old->set_id)
        base::fail(base::kNewReplicaSetConfigurationIncompatible,
                   "it is that of another replica set of this name");
    const bool is_new_primary = config.is_of_primary() && !role_.is_primary();
    if (is_new_primary && !is_handed_to_this(old.get(), host, last))
        base::fail(base::kNodeNotElectable,
                   "by it this server is the primary, but it has not been until now. If it has the "
                   "data, make it so by rs.reconfig(configuration, {{force: true}}) here");
    if (role_.state() == State::startup && this->last().ts == 0) check_brings_no_data();
    DCHECK(old == nullptr || config.version > old->version);
    store_config(catalog_, config);
    if (is_new_primary)
        become(std::move(config), this->last().term + 1, "new primary");
    else if (config.is_of_primary() || role_.follows())
        set_config(std::make_shared<const Config>(std::move(config)));
    else
        become_follower(std::move(config));
    engine_.durability().commit_now();
}

void Member::note_idleness() {
    const bool is_idle = last() == idle_since_;
    idle_since_ = last();
    if (!is_idle || !role_.takes_writes()) return;
    const storage::DatabaseLock lock(engine_.locks(), "local", true);
    // The role changes under the global lock.
    if (last() != idle_since_ || !role_.takes_writes()) return;
    log_.add_note(bson::make("msg", "periodic noop"));
    idle_since_ = last();
}

oplog::Position Member::note_read() {
    {
        const storage::DatabaseLock lock(engine_.locks(), "local", true);
        if (!role_.takes_writes()) base::fail(base::kNotWritablePrimary, "not primary");
        log_.add_note(bson::make("msg", "linearizable read"));
    }
    return last_settled();
}

oplog::Position Member::last_settled() const {
    const storage::DatabaseLock lock(engine_.locks(), "local", false);
    return log_.last_settled();
}

Progress::Handle Member::wait(oplog::Position position, const Need& need,
                              std::function<void()> wake) {
    DCHECK(wake != nullptr);
    Progress::Handle waiter = progress_.wait(position, need, std::move(wake));
    // Other members take no entry that is not durable here. A thread that reads the log registers
    // first and asks for haste afterwards, so that one of the two sees the other.
    if (waiter->outcome() == Progress::kWaiting) commits_.want(position, progress_.is_awaited());
    return waiter;
}

bool Member::want_durable() {
    if (!commits_.has_journal()) return false;
    commits_.want(following_.applied(), true);
    return true;
}

bson::Object Member::report(const Reached& reached) const {
    const std::shared_ptr<const Config> config = this->config();
    bson::Builder out;
    out.append("replSetUpdatePosition", options_.set_name)
        .append("from", config == nullptr ? std::string() : config->own().host)
        .append("since", following_.reports_since());
    oplog::append_position(out, "appliedOpTime", reached.applied);
    oplog::append_position(out, "durableOpTime", reached.durable);
    if (elections_ != nullptr) elections_->append_to_report(out);
    return out.object();
}

void Member::take_report(bson::Doc report) {
    const bson::Element set = report["replSetUpdatePosition"];
    if (!set.is_string() || set.as_string() != options_.set_name)
        base::fail(base::kInconsistentReplicaSetNames,
                   "repl set names do not match: this is a member of {}", options_.set_name);
    const oplog::Position applied = oplog::read_position(report["appliedOpTime"]);
    const oplog::Position durable = oplog::read_position(report["durableOpTime"]);
    const bson::Element from = report["from"];
    const bson::Element since = report["since"];
    if (!from.is_string() || since.type() != bson::Type::object_id)
        base::fail(base::kBadValue, "a report of a position needs from and since");
    if (!role_.is_primary()) base::fail(base::kNotWritablePrimary, "not primary");
    if (elections_ != nullptr) elections_->take_report(report, durable);
    if (!progress_.report(from.as_string(), since.as_object_id(), {applied, durable}))
        base::fail(base::kInvalidReplicaSetConfig, "the configuration has no member {}",
                   from.as_string());
    if (!role_.is_stepping_down()) return;
    const std::lock_guard guard(report_mutex_);
    report_came_.notify_all();
}

void Member::set_following(State state, const std::string& syncing_to, const std::string& message) {
    const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::R);
    if (!role_.follows()) return;
    following_.set(syncing_to, message);
    set_state(state);
}

}  // namespace replica

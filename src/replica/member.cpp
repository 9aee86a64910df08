#include "replica/member.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "catalog/names.h"
#include "replica/initial_sync.h"
#include "replica/own_host.h"
#include "sched/blocking.h"

namespace replica {

namespace {

constexpr size_t kAskedByMax = 50;

// What of a heartbeat says that there is no configuration yet.
constexpr int32_t kNoVersion = -2;

}  // namespace

std::string_view name_of(State state) {
    switch (state) {
        case State::startup:
            return "STARTUP";
        case State::primary:
            return "PRIMARY";
        case State::secondary:
            return "SECONDARY";
        case State::recovering:
            return "RECOVERING";
        case State::startup2:
            return "STARTUP2";
        case State::unknown:
            return "UNKNOWN";
        case State::down:
            return "(not reachable/healthy)";
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
    : engine_(engine),
      catalog_(catalog),
      log_(log),
      options_(std::move(options)),
      commits_(engine.durability(), [this](oplog::Position position) {
          progress_.own_durable(position);
          if (follows()) note_reached();
      }) {}

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
        Config config = parse(stored.first, nullptr, stored.first["term"].to_int64());
        log_.open(options_.log_bytes);
        // What others know comes first.
        if (config.members.size() == 1)
            become(std::move(config), log_.last().term + 1, "new primary");
        else
            become_follower(std::move(config));
    } catch (const base::Error& error) {
        if (error.code() != base::kInvalidReplicaSetConfig && error.code() != base::kNodeNotFound)
            throw;
        leave(error.what());
    }
}

void Member::begin_own_term() {
    const sched::BlockingSection away;
    const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
    const std::shared_ptr<const Config> config = this->config();
    if (config == nullptr || is_primary() || !config->is_of_primary()) return;
    if (InitialSync::is_under_way(catalog_))
        return report_problem(
            "the configuration makes this server the primary, but its copy of the data "
            "is not complete: it takes no writes");
    become(*config, log_.last().term + 1, "new primary");
}

// Neither reads nor writes, until there is another configuration.
void Member::leave(const std::string& why) {
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
    has_default_concern_.store(config != nullptr && !config->default_concern.empty(),
                               std::memory_order_relaxed);
    {
        const std::lock_guard guard(mutex_);
        config_ = config;
    }
    progress_.configure(std::move(config));
}

void Member::set_state(State state) {
    if (state_.exchange(state, std::memory_order_acq_rel) == state) return;
    const std::shared_ptr<const Config> config = this->config();
    base::log::info("member {} of replica set {}: {}",
                    config == nullptr ? options_.own_host : config->own().host, options_.set_name,
                    name_of(state));
    ask_soon();  // and so tell them
}

// The same is said once.
void Member::report_problem(const std::string& what) {
    {
        const std::lock_guard guard(mutex_);
        if (std::exchange(last_problem_, what) == what) return;
        message_ = what;
    }
    base::log::error("replica set {}: {}", options_.set_name, what);
}

// With which member this server is.
Config Member::parse(bson::Doc given, const Config* before, int64_t term) const {
    Config config =
        Config::parse(given, {.set_name = options_.set_name,
                              .set_id = before != nullptr ? before->set_id : bson::new_object_id(),
                              .term = term});
    check_takes_others(config);
    config.own_index = own_index(config);
    return config;
}

void Member::check_takes_others(const Config& config) const {
    if (config.members.size() > 1 && !options_.why_alone.empty())
        base::fail(base::kInvalidReplicaSetConfig, "the configuration has {} members, and {}",
                   config.members.size(), options_.why_alone);
}

size_t Member::own_index(const Config& config) const {
    const auto own = std::ranges::find(config.members, options_.own_host, &MemberConfig::host);
    if (own != config.members.end()) return static_cast<size_t>(own - config.members.begin());
    const sched::BlockingSection away;
    std::vector<size_t> found;
    for (size_t i = 0; i < config.members.size(); ++i)
        if (is_own_host(config.members[i].host, options_.own_name, options_.port))
            found.push_back(i);
    if (found.size() > 1)
        base::fail(base::kInvalidReplicaSetConfig, "The hosts {} and {} both map to this node",
                   config.members[found[0]].host, config.members[found[1]].host);
    if (found.empty())
        base::fail(base::kNodeNotFound,
                   "No host described in the configuration {} of replica set {} maps to this node: "
                   "{} is not a name of this machine with port {}",
                   config.version, config.set_name, config.primary().host, options_.port);
    return found[0];
}

bool Member::follows() const {
    const State now = state();
    return now == State::secondary || now == State::recovering || now == State::startup2;
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

Peer Member::peer(const std::string& host) const {
    const std::lock_guard guard(mutex_);
    const auto found = peers_.find(host);
    return found == peers_.end() ? Peer() : found->second;
}

std::string Member::primary_host() const {
    const std::shared_ptr<const Config> config = this->config();
    if (config == nullptr) return {};
    const std::string& host = config->primary().host;
    const bool known =
        config->is_of_primary() ? takes_writes() : peer(host).state == State::primary;
    return known ? host : std::string();
}

int64_t Member::lag_seconds() const {
    const std::shared_ptr<const Config> config = this->config();
    if (config == nullptr || config->is_of_primary()) return 0;
    const auto seconds = [](uint64_t ts) { return static_cast<int64_t>(ts >> 32); };
    const int64_t lag = seconds(peer(config->primary().host).last.ts) - seconds(last().ts);
    return std::max<int64_t>(lag, 0);
}

std::string Member::syncing_to() const {
    const std::lock_guard guard(mutex_);
    return syncing_to_;
}

std::string Member::message() const {
    const std::lock_guard guard(mutex_);
    return message_;
}

void Member::initiate(bson::Doc given) {
    if (state() != State::startup) base::fail(base::kAlreadyInitialized, "already initialized");
    const bson::Object alone = Config::of_one_member(options_.set_name, options_.own_host);
    Config config = parse(given.empty() ? alone.doc() : given, nullptr, 1);
    if (config.version != 1)
        base::fail(base::kInvalidReplicaSetConfig,
                   "the configuration that begins a set has to have the version 1, and not {}",
                   config.version);
    check_is_primary_of(config);
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
    become(std::move(config), 1, "initiating set");
    engine_.durability().commit_now();
}

void Member::check_is_primary_of(const Config& config) const {
    if (!config.is_of_primary())
        base::fail(base::kNodeNotElectable,
                   "This node, {}, with _id {} is not electable under the configuration version {} "
                   "for replica set {}: {} has the priority above 0, so it is to be sent there",
                   config.own().host, config.own().id, config.version, config.set_name,
                   config.primary().host);
}

void Member::reconfigure(bson::Doc given, bool force) {
    if (state() == State::startup)
        base::fail(base::kNotYetInitialized, "no replset config has been received");
    if (!is_primary() && !force)
        base::fail(base::kNotWritablePrimary,
                   "replSetReconfig should only be run on a writable PRIMARY, or with force. "
                   "Current state {};",
                   name_of(state()));
    const std::shared_ptr<const Config> before = config();
    Config config = parse(given, before.get(), last().term);
    if (before != nullptr && config.set_id != before->set_id)
        base::fail(base::kNewReplicaSetConfigurationIncompatible,
                   "New and old configurations differ in replica set ID");
    check_is_primary_of(config);
    const sched::BlockingSection away;
    const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
    const std::shared_ptr<const Config> old = this->config();
    if (!is_primary() && !force)
        base::fail(base::kNotWritablePrimary, "this member is not the primary any more");
    check_not_stepping_down();
    if (old != nullptr && config.version <= old->version) {
        if (!force)
            base::fail(base::kNewReplicaSetConfigurationIncompatible,
                       "New replica set configuration version must be greater than old, but {} is "
                       "not greater than {} for replica set {}",
                       config.version, old->version, config.set_name);
        const size_t own = config.own_index;
        config = config.with_version(old->version + 1);
        config.own_index = own;
    }
    if (!is_primary() && InitialSync::is_under_way(catalog_))
        base::fail(base::kNodeNotElectable,
                   "this member cannot become the primary: its copy of the data is not complete");
    store(config);
    if (is_primary()) {
        log_.add_note(bson::make("msg", "Reconfig set", "version", config.version));
        set_config(std::make_shared<const Config>(std::move(config)));
    } else {
        if (!log_.is_open()) log_.open(options_.log_bytes);
        become(std::move(config), last().term + 1, "Reconfig set");
    }
    engine_.durability().commit_now();
    ask_soon();
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

void Member::become(Config config, int64_t term, const char* why) {
    DCHECK(config.is_of_primary());
    log_.begin_term(term, config.own().id, bson::make("msg", why));
    election_ts_.store(log_.last().ts, std::memory_order_relaxed);
    set_config(std::make_shared<const Config>(std::move(config)));
    {
        const std::lock_guard guard(mutex_);
        why_removed_.clear();
        syncing_to_.clear();
        message_.clear();
        asked_by_.clear();
    }
    base::log::info("replica set {}: term {}", options_.set_name, term);
    set_state(State::primary);
}

void Member::become_follower(Config config) {
    if (!log_.is_open()) log_.open(options_.log_bytes);
    log_.follow();
    const bool has_data = log_.last().ts != 0 && !InitialSync::is_under_way(catalog_);
    set_config(std::make_shared<const Config>(std::move(config)));
    {
        const std::lock_guard guard(mutex_);
        why_removed_.clear();
        asked_by_.clear();
    }
    set_state(has_data ? State::secondary : State::startup2);
    progress_.end_all(base::kPrimarySteppedDown);
}

std::vector<std::string> Member::others() const {
    const std::lock_guard guard(mutex_);
    std::vector<std::string> hosts;
    if (config_ == nullptr) return {asked_by_.begin(), asked_by_.end()};
    for (size_t i = 0; i < config_->members.size(); ++i)
        if (i != config_->own_index) hosts.push_back(config_->members[i].host);
    return hosts;
}

bson::Object Member::question() const {
    const std::shared_ptr<const Config> config = this->config();
    bson::Builder out;
    out.append("replSetHeartbeat", options_.set_name)
        .append("v", config == nullptr ? kNoVersion : config->version)
        .append("pv", int32_t{1})
        .append("checkEmpty", false)
        .append("state", static_cast<int32_t>(state()))
        .append("from", config == nullptr ? std::string() : config->own().host);
    if (config != nullptr) out.append("fromId", config->own().id);
    return out.object();
}

void Member::answer(bson::Doc question, bson::Builder& out) {
    const bson::Element set = question["replSetHeartbeat"];
    const bson::Element from = question["from"];
    if (!set.is_string() || set.as_string() != options_.set_name)
        base::fail(base::kInconsistentReplicaSetNames,
                   "repl set names do not match: this is a member of {}", options_.set_name);
    const std::shared_ptr<const Config> config = this->config();
    const bool has_name = from.is_string() && !from.as_string().empty();
    bool has_news = config != nullptr && question["v"].to_int64() > config->version;
    {
        const std::lock_guard guard(mutex_);
        if (config == nullptr && has_name && asked_by_.size() < kAskedByMax)
            asked_by_.insert(with_port(from.as_string()));
        if (config != nullptr && has_name)
            if (const auto found = peers_.find(std::string(from.as_string()));
                found != peers_.end()) {
                found->second.last_question_ms = base::ms_since_1970();
                has_news |= question.has("state") &&
                            question["state"].to_int64() != static_cast<int>(found->second.state);
            }
    }
    out.append("set", options_.set_name)
        .append("rs", true)
        .append("state", static_cast<int32_t>(state()))
        .append("e", config != nullptr && config->is_of_primary())
        .append("hbmsg", message())
        .append("time", base::ms_since_1970() / 1000)
        .append_timestamp("opTime", last().ts)
        .append("t", last().term)
        .append("v", config == nullptr ? kNoVersion : config->version);
    if (is_primary()) out.append_timestamp("electionTime", election_ts());
    if (const std::string host = syncing_to(); !host.empty()) out.append("syncingTo", host);
    if (config != nullptr && question["v"].to_int64() < config->version)
        out.append("config", config->document);
    if (has_news) ask_soon();
}

void Member::wait_to_ask(std::chrono::milliseconds limit) {
    std::unique_lock lock(ask_mutex_);
    asks_.wait_for(lock, limit, [this] { return is_to_ask_; });
    is_to_ask_ = false;
}

void Member::ask_soon() {
    {
        const std::lock_guard guard(ask_mutex_);
        is_to_ask_ = true;
    }
    asks_.notify_all();
}

void Member::note_answer(const std::string& host, bson::Doc answer, int64_t round_trip_ms) {
    const auto text = [&answer](const char* name) {
        const bson::Element e = answer[name];
        return e.is_string() ? std::string(e.as_string()) : std::string();
    };
    const auto timestamp = [&answer](const char* name) {
        const bson::Element e = answer[name];
        return e.type() == bson::Type::timestamp ? e.as_timestamp() : 0;
    };
    const int64_t now = base::ms_since_1970();
    {
        const std::lock_guard guard(mutex_);
        Peer& peer = peers_[host];
        if (!std::exchange(peer.is_up, true)) peer.up_since_ms = now;
        peer.state = static_cast<State>(answer["state"].to_int32());
        peer.last = {answer["t"].to_int64(), timestamp("opTime")};
        peer.election_ts = timestamp("electionTime");
        peer.last_answer_ms = now;
        peer.round_trip_ms = round_trip_ms;
        peer.config_version = answer["v"].to_int32();
        peer.syncing_to = text("syncingTo");
        peer.message = text("hbmsg");
    }
    const bson::Element config = answer["config"];
    if (!config.is_object()) return;
    try {
        adopt(host, config.as_doc(), {answer["t"].to_int64(), timestamp("opTime")});
    } catch (const base::Error& error) {
        report_problem(
            fmt::format("the configuration of {} is not taken over: {}", host, error.what()));
    }
}

void Member::note_no_answer(const std::string& host, const std::string& why) {
    const std::lock_guard guard(mutex_);
    Peer& peer = peers_[host];
    peer.is_up = false;
    peer.state = State::down;
    peer.message = why;
    peer.config_version = 0;
}

// What a configuration from outside would have the first copy drop.
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
            return parse(given, before.get(), given["term"].to_int64());
        } catch (const base::Error& error) {
            // Not a member any more. One that never was waits on.
            if (error.code() != base::kNodeNotFound || before == nullptr) throw;
            const sched::BlockingSection away;
            const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
            leave(error.what());
            throw;
        }
    }();
    const sched::BlockingSection away;
    const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
    const std::shared_ptr<const Config> old = this->config();
    if (old != nullptr && config.version <= old->version) return;
    if (old != nullptr && config.set_id != old->set_id)
        base::fail(base::kNewReplicaSetConfigurationIncompatible,
                   "it is that of another replica set of this name");
    const bool is_new_primary = config.is_of_primary() && !is_primary();
    if (is_new_primary && !is_handed_to_this(old.get(), host, last))
        base::fail(base::kNodeNotElectable,
                   "by it this server is the primary, but it has not been until now. If it has the "
                   "data, make it so by rs.reconfig(configuration, {{force: true}}) here");
    if (state() == State::startup && this->last().ts == 0) check_brings_no_data();
    store(config);
    if (is_new_primary)
        become(std::move(config), this->last().term + 1, "new primary");
    else if (config.is_of_primary() || follows())
        set_config(std::make_shared<const Config>(std::move(config)));
    else
        become_follower(std::move(config));
    engine_.durability().commit_now();
}

oplog::Position Member::last_settled() const {
    const sched::Uninterruptible whole;
    const sched::BlockingSection away;
    const storage::DatabaseLock lock(engine_.locks(), "local", false);
    return last();
}

Progress::Handle Member::wait(oplog::Position position, const Need& need,
                              std::function<void()> wake) {
    Progress::Handle waiter = progress_.wait(position, need, std::move(wake));
    // Other members take no entry before. Those who read the log register first and ask for haste
    // afterwards, so that one of the two sees the other.
    if (waiter->outcome() == Progress::kWaiting) commits_.want(position, progress_.is_awaited());
    return waiter;
}

void Member::watch_reached(std::function<void()> changed) {
    const std::lock_guard guard(watch_mutex_);
    reached_changed_ = std::move(changed);
}

void Member::note_applied() {
    {
        const std::lock_guard guard(watch_mutex_);
        applied_ = last();
    }
    note_reached();
}

bool Member::want_durable() {
    if (!commits_.has_journal()) return false;
    oplog::Position applied;
    {
        const std::lock_guard guard(watch_mutex_);
        applied = applied_;
    }
    commits_.want(applied, true);
    return true;
}

void Member::note_reached() {
    const std::lock_guard guard(watch_mutex_);
    if (reached_changed_) reached_changed_();
}

void Member::begin_reports() {
    const std::lock_guard guard(mutex_);
    reports_since_ = bson::new_object_id();
}

bson::Object Member::report(const Reached& reached) const {
    const auto append = [](bson::Builder& out, const char* name, oplog::Position position) {
        bson::Builder b = out.sub_object(name);
        b.append_timestamp("ts", position.ts).append("t", position.term);
    };
    bson::Builder out;
    const std::lock_guard guard(mutex_);
    out.append("replSetUpdatePosition", options_.set_name)
        .append("from", config_ == nullptr ? std::string() : config_->own().host)
        .append("since", reports_since_);
    append(out, "appliedOpTime", reached.applied);
    append(out, "durableOpTime", reached.durable);
    return out.object();
}

void Member::take_report(bson::Doc report) {
    const bson::Element set = report["replSetUpdatePosition"];
    if (!set.is_string() || set.as_string() != options_.set_name)
        base::fail(base::kInconsistentReplicaSetNames,
                   "repl set names do not match: this is a member of {}", options_.set_name);
    const auto position = [&report](const char* name) {
        const bson::Element e = report[name];
        const bson::Element ts = e.is_object() ? e.as_doc()["ts"] : bson::Element();
        if (ts.type() != bson::Type::timestamp)
            base::fail(base::kBadValue, "{} has to be the place of an entry", name);
        return oplog::Position{e.as_doc()["t"].to_int64(), ts.as_timestamp()};
    };
    const bson::Element from = report["from"];
    const bson::Element since = report["since"];
    if (!from.is_string() || since.type() != bson::Type::object_id)
        base::fail(base::kBadValue, "a report of a position needs from and since");
    if (!is_primary()) base::fail(base::kNotWritablePrimary, "not primary");
    if (!progress_.report(from.as_string(), since.as_object_id(),
                          {position("appliedOpTime"), position("durableOpTime")}))
        base::fail(base::kInvalidReplicaSetConfig, "the configuration has no member {}",
                   from.as_string());
    if (!is_stepping_down_.load(std::memory_order_acquire)) return;
    const std::lock_guard guard(report_mutex_);
    report_came_.notify_all();
}

void Member::set_following(State state, const std::string& syncing_to, const std::string& message) {
    const sched::BlockingSection away;
    const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::R);
    if (!follows()) return;
    {
        const std::lock_guard guard(mutex_);
        syncing_to_ = syncing_to;
        message_ = message;
    }
    set_state(state);
}

}  // namespace replica

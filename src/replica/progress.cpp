#include "replica/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/dcheck.h"

namespace replica {

namespace {

constexpr oplog::Position kAll{std::numeric_limits<int64_t>::max(),
                               std::numeric_limits<uint64_t>::max()};
constexpr oplog::Position kNone{-1, 0};  // before any entry, and where there is none

// Returns the last position that so many of the members have.
oplog::Position reached_by_most(std::vector<oplog::Position> of_each, int64_t members) {
    if (members <= 0) return kAll;
    if (members > static_cast<int64_t>(of_each.size())) return kNone;
    const auto last = of_each.begin() + (members - 1);
    std::ranges::nth_element(of_each, last, std::greater<>());
    return *last;
}

// A need that is satisfied once the journal of this server has it.
bool is_of_own_journal(const Need& need) {
    return need.mode.empty() && need.members <= 1;
}

}  // namespace

bool Need::is_met_by_primary(const Config& config) const {
    if (mode.empty()) return members <= 1;
    if (mode == "majority") return config.majority() == 1;
    const bson::Element tags = config.modes[mode];
    if (!tags || !config.has_primary()) return false;
    for (const bson::Element& tag : tags.as_doc())
        if (tag.to_int64() > (config.primary().tags[tag.name()] ? 1 : 0)) return false;
    return true;
}

std::optional<base::Error> Need::refusal_by(const Config& config) const {
    const base::Error too_few(base::kUnsatisfiableWriteConcern, "Not enough data-bearing nodes");
    if (mode.empty()) {
        if (members > static_cast<int64_t>(config.members.size())) return too_few;
        return {};
    }
    if (mode == "majority") return {};
    const bson::Element tags = config.modes[mode];
    if (!tags)
        return base::Error(
            base::kUnknownReplWriteConcern,
            fmt::format("No write concern mode named '{}' found in replica set configuration",
                        mode));
    for (const bson::Element& tag : tags.as_doc())
        if (tag.to_int64() > config.values_of_tag(tag.name())) return too_few;
    return {};
}

void Progress::configure(std::shared_ptr<const Config> config) {
    const std::lock_guard guard(mutex_);
    config_ = std::move(config);
    std::erase_if(reports_, [this](const auto& each) { return !has_member(each.first); });
    for (auto group = waiters_.begin(); config_ != nullptr && group != waiters_.end();) {
        const auto next = std::next(group);
        if (const auto refusal = group->first.refusal_by(*config_)) {
            for (auto& [position, waiter] : group->second)
                end(*waiter, refusal->code());
            forget(group, group->second.size());
            waiters_.erase(group);
        }
        group = next;
    }
    wake_satisfied();
}

bool Progress::has_member(std::string_view host) const {
    return config_ != nullptr &&
           std::ranges::find(config_->members, host, &MemberConfig::host) != config_->members.end();
}

bool Progress::report(std::string_view host, const bson::ObjectId& since, const Reached& reached) {
    const std::lock_guard guard(mutex_);
    if (!has_member(host)) return false;
    Reports& reports = reports_[std::string(host)];
    if (reports.since != since) {
        reports = {since, reached};
    } else {
        reports.reached.applied = std::max(reports.reached.applied, reached.applied);
        reports.reached.durable = std::max(reports.reached.durable, reached.durable);
    }
    wake_satisfied();
    return true;
}

void Progress::own_durable(oplog::Position position) {
    const std::lock_guard guard(mutex_);
    if (position <= own_durable_) return;
    own_durable_ = position;
    wake_satisfied();
}

void Progress::begin_term(oplog::Position first) {
    const std::lock_guard guard(mutex_);
    first_of_term_ = first;
}

oplog::Position Progress::committed() const {
    const std::lock_guard guard(mutex_);
    return committed_;
}

void Progress::note_committed(oplog::Position position) {
    const std::lock_guard guard(mutex_);
    if (position <= committed_) return;
    committed_ = position;
    commits_.add();
    wake_satisfied();
}

std::shared_ptr<void> Progress::watch_committed(oplog::Position known, std::function<void()> wake) {
    const std::lock_guard guard(mutex_);
    if (known < committed_) return nullptr;
    return commits_.watch(commits_.count(), std::move(wake));
}

// Members of a later term may have what those of an earlier one were acknowledged, and what they
// were not: what is before the first entry of this one is there once that is.
void Progress::advance_committed() {
    const oplog::Position reported = reached({.members = 1, .mode = "majority", .durable = true});
    if (reported < first_of_term_ || reported <= committed_) return;
    committed_ = reported;
    commits_.add();
}

void Progress::end_all(int code) {
    const std::lock_guard guard(mutex_);
    for (auto& [need, waiters] : waiters_)
        for (auto& [position, waiter] : waiters)
            end(*waiter, code);
    waiters_.clear();
    awaited_.store(0, std::memory_order_release);
    reports_.clear();
}

Progress::Handle Progress::wait(oplog::Position position, const Need& need,
                                std::function<void()> wake) {
    auto waiter = std::make_shared<MemberWaiter>();
    const std::lock_guard guard(mutex_);
    if (position <= reached(need)) {
        waiter->outcome_.store(0, std::memory_order_release);
        return waiter;
    }
    DCHECK(wake != nullptr);
    waiter->wake_ = std::move(wake);
    waiters_[need].emplace(position, waiter);
    if (!is_of_own_journal(need)) awaited_.fetch_add(1, std::memory_order_release);
    return waiter;
}

void Progress::give_up(const Handle& waiter, oplog::Position position, const Need& need) {
    const std::lock_guard guard(mutex_);
    const auto group = waiters_.find(need);
    if (group == waiters_.end()) return;
    const auto [begin, end] = group->second.equal_range(position);
    const auto found =
        std::find_if(begin, end, [&waiter](const auto& each) { return each.second == waiter; });
    if (found == end) return;
    group->second.erase(found);
    forget(group, 1);
    if (group->second.empty()) waiters_.erase(group);
}

Reached Progress::reached_by(const std::string& host) const {
    const std::lock_guard guard(mutex_);
    const auto found = reports_.find(host);
    return found == reports_.end() ? Reached() : found->second.reached;
}

std::vector<bson::Object> Progress::members_with(oplog::Position position) const {
    std::vector<bson::Object> found;
    const std::lock_guard guard(mutex_);
    if (config_ == nullptr) return found;
    const auto describe = [](const MemberConfig& member, oplog::Position has) {
        bson::Builder out;
        out.append("_id", member.id).append("host", member.host);
        return out.append_timestamp("optime", has.ts).object();
    };
    DCHECK(config_->own_index < config_->members.size());
    found.push_back(describe(config_->own(), position));
    for (size_t i = 0; i < config_->members.size(); ++i) {
        if (i == config_->own_index) continue;
        const oplog::Position has = reached(config_->members[i], false);
        if (position <= has && has != kNone) found.push_back(describe(config_->members[i], has));
    }
    return found;
}

oplog::Position Progress::reached(const MemberConfig& member, bool durable) const {
    if (member.host == config_->own().host) return durable ? own_durable_ : kAll;
    const auto found = reports_.find(member.host);
    if (found == reports_.end()) return kNone;
    return durable ? found->second.reached.durable : found->second.reached.applied;
}

// Returns up to which entry the need is satisfied.
oplog::Position Progress::reached(const Need& need) const {
    if (is_of_own_journal(need)) return need.durable ? own_durable_ : kAll;
    if (config_ == nullptr) return kNone;
    oplog::Position common = kNone;
    if (!need.mode.empty() && need.mode != "majority") {
        const bson::Element tags = config_->modes[need.mode];
        if (tags) common = reached_in_mode(tags.as_doc(), need.durable);
    } else {
        const bool by_votes = !need.mode.empty();
        std::vector<oplog::Position> of_each;
        for (const MemberConfig& member : config_->members)
            if (member.has_vote || !by_votes) of_each.push_back(reached(member, need.durable));
        common = reached_by_most(std::move(of_each), by_votes ? config_->majority() : need.members);
    }
    if (!need.durable) return common;
    common = std::min(common, own_durable_);
    return need.mode == "majority" ? std::max(common, committed_) : common;
}

// {tag: of how many values there must be a member}
oplog::Position Progress::reached_in_mode(bson::Doc tags, bool durable) const {
    oplog::Position common = kAll;
    for (const bson::Element& tag : tags) {
        std::map<std::string_view, oplog::Position> of_value;
        for (const MemberConfig& member : config_->members) {
            const bson::Element value = member.tags[tag.name()];
            if (!value) continue;
            const auto [at, is_new] = of_value.emplace(value.as_string(), kNone);
            at->second = std::max(at->second, reached(member, durable));
        }
        std::vector<oplog::Position> of_each;
        for (const auto& [value, position] : of_value)
            of_each.push_back(position);
        common = std::min(common, reached_by_most(std::move(of_each), tag.to_int64()));
    }
    return common;
}

void Progress::wake_satisfied() {
    advance_committed();
    for (auto group = waiters_.begin(); group != waiters_.end();) {
        Waiters& waiters = group->second;
        const auto behind = waiters.upper_bound(reached(group->first));
        const auto count = static_cast<size_t>(std::distance(waiters.begin(), behind));
        for (auto each = waiters.begin(); each != behind; ++each)
            end(*each->second, 0);
        waiters.erase(waiters.begin(), behind);
        forget(group, count);
        group = waiters.empty() ? waiters_.erase(group) : std::next(group);
    }
}

void Progress::end(MemberWaiter& waiter, int outcome) {
    DCHECK(waiter.outcome() == kWaiting);
    waiter.outcome_.store(outcome, std::memory_order_release);
    waiter.wake_();
    waiter.wake_ = nullptr;
}

// Counts so many waiters of the group as ones that wait no longer.
void Progress::forget(std::map<Need, Waiters>::iterator group, size_t count) {
    if (is_of_own_journal(group->first)) return;
    DCHECK(awaited_.load() >= static_cast<int64_t>(count));
    awaited_.fetch_sub(static_cast<int64_t>(count), std::memory_order_release);
}

}  // namespace replica

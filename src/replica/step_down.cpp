#include "replica/step_down.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/boot_clock.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "replica/elections.h"
#include "replica/initial_sync.h"
#include "replica/member.h"
#include "sched/operation.h"
#include "sched/tick.h"
#include "storage/lock.h"

namespace replica {

void check_not_stepping_down(const Role& role) {
    if (role.is_stepping_down())
        base::fail(base::kNotWritablePrimary,
                   "this member is about to make another one the primary (replSetStepDown)");
}

// The configuration is in the journal before another member can hear of it: so this server is not
// the primary any more, also if it is killed then.
void StepDown::run(std::chrono::milliseconds limit, int64_t seconds, std::optional<int32_t> heir) {
    DCHECK(limit.count() >= 0);
    heir_ = heir;
    std::shared_ptr<const Config> config;
    oplog::Position last;
    // Writes that are admitted before this end before the lock is there.
    if (member_.role_.is_primary()) await_heir();
    try {
        const storage::GlobalLock lock(member_.engine_.locks(), storage::GlobalMode::W);
        if (!member_.role_.is_primary())
            base::fail(base::kNotWritablePrimary, "not primary so can't step down");
        check_not_stepping_down(member_.role_);
        config = member_.config();
        if (config->members.size() == 1)
            base::fail(base::kExceededTimeLimit,
                       "No electable secondaries caught up: the set has no other member");
        // A member that has this one follows now.
        member_.log_.add_note(bson::make("msg", "Stepping down"));
        last = member_.log_.last();
        member_.engine_.durability().commit_now();  // others get nothing before
        member_.set_stepping_down(true);
        member_.log_.follow();
    } catch (...) {
        if (!member_.role_.is_stepping_down()) member_.end_hand_over();
        throw;
    }
    Config next;
    const auto choose = [&] {
        const size_t successor = await_successor(*config, last, limit);
        DCHECK(successor != config->own_index && successor < config->members.size());
        if (member_.elections_ != nullptr) {
            hand_over(config->members[successor], seconds);
            return false;
        }
        next = Config::parse(
            config->handed_to(successor),
            {.set_name = member_.options_.set_name, .set_id = config->set_id, .term = last.term});
        next.own_index = config->own_index;
        return true;
    };
    if (sched::undo_if_fails(choose, [this] { end(); }))
        exclusively([&] { follow(config, std::move(next)); });
}

// Does what nothing may end under the global lock.
template <typename Work>
void StepDown::exclusively(Work&& work) {
    const sched::Uninterruptible whole;
    const storage::GlobalLock lock(member_.engine_.locks(), storage::GlobalMode::W);
    work();
}

// Makes the successor's configuration ours. `config`: from which that was made.
void StepDown::follow(const std::shared_ptr<const Config>& config, Config next) {
    if (member_.config() != config) {
        member_.set_stepping_down(false);
        if (member_.role_.is_primary()) member_.log_.go_on();
        base::fail(base::kPrimarySteppedDown, "another configuration has come in the meantime");
    }
    base::log::info("replica set {}: {} is to be the primary", member_.options_.set_name,
                    next.primary().host);
    DCHECK(next.version > config->version && !next.is_of_primary());
    sched::undo_if_fails([&] { store_config(member_.catalog_, next); },
                         [this] {
                             member_.set_stepping_down(false);
                             member_.log_.go_on();
                         });
    member_.engine_.durability().commit_now();
    member_.become_follower(std::move(next));
    member_.set_stepping_down(false);  // before, it would say that it takes writes
    member_.peers_.ask_soon();
}

// By an election, of which the other one needs to hear nothing but that it is due.
void StepDown::hand_over(const MemberConfig& heir, int64_t seconds) {
    base::log::info("replica set {}: {} is to be the primary", member_.options_.set_name,
                    heir.host);
    await_heir();
    member_.elections_->hand_over(heir.host, seconds);
    end();
}

void StepDown::await_heir() {
    constexpr int64_t kMs = 1000;
    if (member_.elections_ != nullptr) member_.role_.set_heir_due(base::ms_of_boot_clock() + kMs);
}

void StepDown::end() {
    exclusively([this] {
        member_.set_stepping_down(false);
        if (!member_.role_.is_primary()) return;
        member_.log_.go_on();
        member_.end_hand_over();
    });
}

// The member of the highest priority, and of these the first, that has all and can be the primary.
// One without a vote can where no other one has a vote.
std::optional<size_t> StepDown::successor(const Config& config, oplog::Position last) const {
    std::vector<size_t> with_vote, without;
    for (size_t i = 0; i < config.members.size(); ++i) {
        const MemberConfig& each = config.members[i];
        if (i == config.own_index || each.is_hidden || each.id != heir_.value_or(each.id)) continue;
        if (member_.elections_ != nullptr &&
            (each.priority == 0 || !each.has_vote || member_.elections_->is_frozen(each.id)))
            continue;
        (each.has_vote ? with_vote : without).push_back(i);
    }
    std::vector<size_t>& candidates = with_vote.empty() ? without : with_vote;
    std::ranges::stable_sort(candidates, std::greater<>(),
                             [&](size_t i) { return config.members[i].priority; });
    for (const size_t i : candidates)
        if (member_.progress_.reached_by(config.members[i].host).durable >= last) return i;
    return {};
}

size_t StepDown::await_successor(const Config& config, oplog::Position last,
                                 std::chrono::milliseconds limit) {
    constexpr std::chrono::milliseconds kInterruptCheckInterval{50};
    const auto until = std::chrono::steady_clock::now() + limit;
    std::unique_lock lock(member_.report_mutex_);
    for (;;) {
        if (const std::optional<size_t> found = successor(config, last)) return *found;
        sched::Operation::check();
        const auto now = std::chrono::steady_clock::now();
        if (now >= until)
            base::fail(base::kExceededTimeLimit,
                       "No electable secondaries caught up: in {} ms no member that clients see, "
                       "and that may stand (rs.freeze, rs.stepDown), had the last entry in its "
                       "journal. Writes are taken again",
                       limit.count());
        member_.report_came_.wait_until(lock, std::min(until, now + kInterruptCheckInterval));
    }
}

std::optional<int32_t> PriorityTakeover::preferred() const {
    constexpr uint64_t kSecondsBehindMax = 2;
    const std::shared_ptr<const Config> config = member_.config();
    if (config == nullptr || !member_.role().takes_writes()) return {};
    const uint64_t last_seconds = member_.last().ts >> 32;
    const MemberConfig* found = &config->own();
    for (const MemberConfig& each : config->members) {
        if (each.priority <= found->priority || !each.has_vote || each.is_hidden) continue;
        const uint64_t seconds = member_.progress().reached_by(each.host).applied.ts >> 32;
        if (member_.peers().peer(each.host).state == State::secondary &&
            !member_.elections()->is_frozen(each.id) && seconds + kSecondsBehindMax >= last_seconds)
            found = &each;
    }
    if (found == &config->own()) return {};
    return found->id;
}

void PriorityTakeover::look() {
    constexpr std::chrono::minutes kPause{1};
    constexpr std::chrono::seconds kLimit{2};
    const std::optional<int32_t> before = std::exchange(preferred_, preferred());
    const auto now = std::chrono::steady_clock::now();
    const bool is_soon = handed_over_at_ && now - *handed_over_at_ < kPause;
    if (!preferred_ || preferred_ != before || is_soon) return;
    handed_over_at_ = now;
    base::log::info("replica set {}: member {} has a higher priority", member_.set_name(),
                    *preferred_);
    StepDown(member_).run(kLimit, 0, *preferred_);
}

void Member::step_down(std::chrono::milliseconds limit, int64_t seconds) {
    StepDown(*this).run(limit, seconds);
}

// Whether a newer configuration of that member, whose last entry that is, may make this one the
// primary: that one was it, takes no writes any more, and has nothing that is missing here. One
// that has lost its data has no configuration of before.
bool Member::is_handed_to_this(const Config* old, const std::string& host,
                               oplog::Position last) const {
    return old != nullptr && old->has_primary() && old->primary().host == host &&
           role_.state() == State::secondary && last <= this->last() &&
           !InitialSync::is_under_way(catalog_);
}

}  // namespace replica

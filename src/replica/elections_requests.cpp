// What people ask of elections.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "base/boot_clock.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "replica/elections.h"
#include "sched/operation.h"

namespace replica {

namespace {

constexpr std::chrono::seconds kLimit{10};
constexpr std::chrono::milliseconds kLooksAgain{50};
constexpr int64_t kMsPerSecond = 1000;

std::string not_there(const std::string& why) {
    return fmt::format("the coordinator does not answer ({}); the set goes on as it is", why);
}

}  // namespace

// No lock. What waits for the coordinator is not begun while that is away.
election::Answer Elections::needed_answer(const election::Transaction& what) {
    if (std::optional<election::Answer> answer = ask_coordinator(what)) return *std::move(answer);
    const std::lock_guard guard(mutex_);
    base::fail(base::kHostUnreachable, "{}", not_there(why_not_there_));
}

// No lock. What it decides has to be of the set as this member knows it.
void Elections::check_known(const election::Answer& answer) {
    std::string what;
    const std::optional<election::View> view = keys_.view(answer, &what);
    const std::lock_guard guard(mutex_);
    const int64_t known = election_ ? election_->term().number : 0;
    if (view && view->term && view->term->number >= known) return;
    const std::string has = !view ? fmt::format("has at {} what no member has written", what)
                            : !view->term ? "knows nothing of the set"
                                          : fmt::format("knows only term {}, and this member {}",
                                                        view->term->number, known);
    base::fail(base::kNotYetInitialized,
               "the coordinator {}. If its data is lost, start it empty: "
               "rs.reconfig(rs.conf(), {{force: true}}) on any member tells it the set",
               has);
}

void Elections::initiate(Config config) {
    const std::lock_guard one(request_mutex_);
    for (MemberConfig& member : config.members)
        member.has_vote = member.id == config.own().id;
    std::string what;
    const std::optional<election::View> view = keys_.view(needed_answer(keys_.read()), &what);
    if (!view)
        base::fail(base::kInvalidReplicaSetConfig,
                   "what the coordinator has at {} is nothing that a member has written", what);
    const auto is_there = [this] {
        base::fail(base::kAlreadyInitialized,
                   "the coordinator has a set {} already: another --replSet name, or join it by "
                   "rs.add on its primary",
                   member_.set_name());
    };
    if (view->term) is_there();
    const election::Term term{.gen = fmt::format("{:08x}", std::random_device()()),
                              .number = 1,
                              .primary = config.own().id,
                              .start = start_,
                              .config = config.version};
    if (!needed_answer(keys_.create(term, Office::to_kept(config))).succeeded) is_there();
    office_.found(std::move(config));
    Lock lock(mutex_);
    changed_.notify_all();
    const bool leads = outcome_came_.wait_for(
        lock, kLimit, [this] { return is_stopping_ || member_.role().is_primary(); });
    if (!leads || is_stopping_) base::fail(base::kHostUnreachable, "{}", not_there(why_not_there_));
}

// Lock: request_mutex_. Gives the event, and waits for what becomes of it, or for `is_done`.
std::string Elections::await_outcome(const std::function<void(int64_t now_ms)>& event,
                                     const std::function<bool()>& is_done) {
    Lock lock(mutex_);
    if (!election_) return "this member has no configuration";
    outcome_.reset();
    awaits_outcome_ = true;
    event(base::ms_of_boot_clock());
    take_actions();
    const bool is_over = outcome_came_.wait_for(
        lock, kLimit, [&] { return is_stopping_ || outcome_ || (is_done && is_done()); });
    awaits_outcome_ = false;
    if (outcome_) return *outcome_;
    if (!is_over && election_)
        if (std::string lack = election_->drop_rebuild(); !lack.empty()) return lack;
    return is_over && !is_stopping_ ? std::string()
                                    : "the coordinator has not answered in time: look at what has "
                                      "become of it";
}

void Elections::reconfigure(const Config& config) {
    const std::lock_guard one(request_mutex_);
    check_known(needed_answer(keys_.read()));
    const std::shared_ptr<const Config> before = member_.needed_config();
    Config next(config);
    for (MemberConfig& member : next.members) {
        const auto old = std::ranges::find(before->members, member.id, &MemberConfig::id);
        member.has_vote = member.wants_vote && old != before->members.end() && old->has_vote &&
                          old->host == member.host;
    }
    const auto until = std::chrono::steady_clock::now() + kLimit;
    std::string refusal;
    for (;;) {
        refusal = await_outcome(
            [&](int64_t now_ms) { election_->reconfigure(Office::to_kept(next), now_ms); },
            nullptr);
        const bool passes = refusal == election::kNotSettled || refusal == election::kIsDeciding;
        if (!passes || std::chrono::steady_clock::now() >= until) break;
        sched::Operation::check();
        Lock lock(mutex_);
        outcome_came_.wait_for(lock, kLooksAgain, [this] { return is_stopping_; });
    }
    if (!refusal.empty()) base::fail(base::kNewReplicaSetConfigurationIncompatible, "{}", refusal);
}

void Elections::rebuild() {
    const std::lock_guard one(request_mutex_);
    needed_answer(keys_.read());
    const std::string refusal =
        await_outcome([&](int64_t now_ms) { election_->rebuild(now_ms); }, nullptr);
    if (!refusal.empty()) base::fail(base::kNewReplicaSetConfigurationIncompatible, "{}", refusal);
}

void Elections::hand_over(const std::string& heir, int64_t seconds) {
    const std::lock_guard one(request_mutex_);
    check_known(needed_answer(keys_.read()));
    const std::optional<election::MemberId> id = id_of(heir);
    DCHECK(id);
    const std::string refusal = await_outcome(
        [&](int64_t now_ms) {
            election_->hand_over(*id, now_ms);
            if (election_->phase() != election::Phase::primary)
                election_->abstain(now_ms + seconds * kMsPerSecond);
        },
        [this] {
            return election_->phase() != election::Phase::primary && !member_.role().is_primary();
        });
    if (!refusal.empty()) base::fail(base::kNewReplicaSetConfigurationIncompatible, "{}", refusal);
}

void Elections::freeze(int64_t seconds) {
    {
        const std::lock_guard guard(mutex_);
        if (election_) election_->abstain(base::ms_of_boot_clock() + seconds * kMsPerSecond);
    }
    member_.peers_.ask_soon();  // and so tell them
}

bool Elections::is_frozen(election::MemberId member) const {
    const std::lock_guard guard(mutex_);
    const auto found = neighbours_.find(member);
    return found != neighbours_.end() && found->second.is_frozen;
}

int64_t Elections::term() const {
    const std::lock_guard guard(mutex_);
    return election_ ? election_->term().number : 0;
}

std::string Elections::problem() const {
    const std::lock_guard guard(mutex_);
    if (!why_not_there_.empty()) return not_there(why_not_there_);
    return election_ ? election_->problem() : std::string();
}

void Elections::append_status(bson::Builder& out) const {
    const std::lock_guard guard(mutex_);
    bson::Builder status = out.sub_object("coordinator");
    status.append("endpoints", endpoints_)
        .append("reachable", is_coordinator_there_.value_or(false))
        .append("term", election_ ? election_->term().number : int64_t{0})
        .append("ms", coordinator_ms_);
    if (!why_not_there_.empty()) status.append("why", why_not_there_);
}

}  // namespace replica

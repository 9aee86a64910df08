#include "replica/elections.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>
#include <variant>

#include "base/boot_clock.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "bson/json.h"

namespace replica {

namespace {

constexpr std::chrono::milliseconds kTick{25};
constexpr std::chrono::milliseconds kPause{500};  // after what could not be done
constexpr int64_t kVoterPauseMs = 200;            // between two tries to give another one a vote

std::string random_word() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
}

election::Position place_of(oplog::Position position) {
    return {position.term, position.ts};
}

}  // namespace

Elections::Elections(Member& member, std::unique_ptr<election::Coordinator> coordinator,
                     std::string endpoints)
    : member_(member),
      office_(member),
      coordinator_(std::move(coordinator)),
      endpoints_(std::move(endpoints)),
      keys_(member.set_name()),
      start_(random_word()) {
    member_.role_.set_lease_end(0);
}

Elections::~Elections() {
    stop();
}

void Elections::start() {
    DCHECK(!runner_.joinable());
    runner_ = std::thread([this] { run(); });
    coordinator_runner_ = std::thread([this] { run_coordinator(); });
}

void Elections::stop() {
    {
        const std::lock_guard guard(mutex_);
        is_stopping_ = true;
    }
    changed_.notify_all();
    outcome_came_.notify_all();
    if (runner_.joinable()) runner_.join();
    if (coordinator_runner_.joinable()) coordinator_runner_.join();
}

void Elections::run() {
    const base::SignalStack signal_stack;
    base::log::set_context("rsElection");
    ::pthread_setname_np(::pthread_self(), "rsElection");
    int64_t ticked_ms = 0;
    Lock lock(mutex_);
    while (!is_stopping_) {
        try {
            end_as_other();
            if (!election_) begin(lock);
            if (!actions_.empty()) perform_next(lock);
            const int64_t now_ms = base::ms_of_boot_clock();
            if (election_ && now_ms - ticked_ms >= kTick.count()) {
                ticked_ms = now_ms;
                pass_time(now_ms);
            }
        } catch (const std::exception& error) {
            member_.report_problem(error.what());
            changed_.wait_for(lock, kPause, [this] { return is_stopping_; });
        }
        if (actions_.empty() && !is_stopping_) changed_.wait_for(lock, kTick);
    }
}

// The process takes part once there is a configuration.
void Elections::begin(Lock& lock) {
    if (member_.config() == nullptr) return;
    lock.unlock();
    ElectionMemory memory;
    try {
        memory = office_.begin();
    } catch (...) {
        lock.lock();
        throw;
    }
    lock.lock();
    const std::shared_ptr<const Config> config = member_.config();
    if (config == nullptr) return;
    election::Config kept = Office::to_kept(*config);
    if (memory.voters.empty()) kept.version = 0;
    const election::Election::Self self{.id = memory.id,
                                        .start = {start_, memory.starts},
                                        .is_blank = memory.is_blank,
                                        .known_term = memory.term,
                                        .config = std::move(kept),
                                        .seed = std::random_device()()};
    ++lives_;
    election_.emplace(keys_, self,
                      election::Election::Times{.timeout_ms = config->election_timeout_ms});
}

// A configuration may give this member another number, as which it begins anew: its copy counts
// once it has all that the primary has.
void Elections::end_as_other() {
    const std::shared_ptr<const Config> config = member_.config();
    if (!election_ || config == nullptr || config->own().id == election_->id() ||
        election_->phase() == election::Phase::primary)
        return;
    base::log::info("replica set {}: this member was {} and is {} now", member_.set_name(),
                    election_->id(), config->own().id);
    election_.reset();
    actions_.clear();
    transact_.reset();
    letters_.clear();
    askers_.clear();
    neighbours_.clear();
}

// An action that fails stays in front, and is tried again; without office there is no primary.
void Elections::perform_next(Lock& lock) {
    DCHECK(election_ && !actions_.empty());
    const election::Action action = actions_.front();
    is_performing_ = true;
    lock.unlock();
    std::string failure;
    try {
        perform(action);
    } catch (const std::exception& error) {
        failure = error.what();
    }
    lock.lock();
    is_performing_ = false;
    if (failure.empty() || std::holds_alternative<election::BecomePrimary>(action))
        actions_.pop_front();
    if (!failure.empty()) {
        if (std::holds_alternative<election::BecomePrimary>(action)) {
            election_->give_up(failure, base::ms_of_boot_clock());
            take_actions();
        }
        throw std::runtime_error(failure);
    }
    outcome_came_.notify_all();
}

void Elections::perform(const election::Action& action) {
    if (const auto* const stop = std::get_if<election::Stop>(&action)) {
        const oplog::Position last = office_.stop(stop->known_term, stop->gen);
        const std::lock_guard guard(mutex_);
        durable_ = last;
        election_->moved(place_of(last), place_of(last));
        election_->stopped(base::ms_of_boot_clock());
        take_actions();
    } else if (const auto* const lead = std::get_if<election::BecomePrimary>(&action)) {
        const oplog::Position first = office_.lead(lead->term, lead->is_renewed);
        member_.commits_.want(first, true);
        const std::lock_guard guard(mutex_);
        durable_ = first;
        election_->moved(place_of(first), place_of(first));
        election_->began(lead->term, place_of(first));
        take_actions();
    } else if (const auto* const resign = std::get_if<election::BecomeSecondary>(&action)) {
        office_.resign(resign->why);
    } else if (const auto* const follow = std::get_if<election::Follow>(&action)) {
        office_.follow(follow->primary, follow->term);
    } else if (const auto* const source = std::get_if<election::CatchUp>(&action)) {
        office_.follow(source->member, 0);
    } else if (const auto* const keep = std::get_if<election::KeepConfig>(&action)) {
        office_.keep_config(keep->config);
    } else if (const auto* const self = std::get_if<election::KeepSelf>(&action)) {
        office_.keep_self(self->starts, self->is_blank);
    } else if (const auto* const outcome = std::get_if<election::Outcome>(&action)) {
        const std::lock_guard guard(mutex_);
        if (std::exchange(awaits_outcome_, false)) outcome_ = outcome->refusal;
    } else if (const auto* const transact = std::get_if<election::Transact>(&action)) {
        const std::lock_guard guard(mutex_);
        transact_ = *transact;
        changed_.notify_all();
    }
}

// Sends what goes to other members, and queues the rest. What the lease allows follows at once.
void Elections::take_actions() {
    const bool is_primary = election_->phase() == election::Phase::primary;
    member_.role_.set_lease_end(is_primary ? election_->lease_end_ms(base::ms_of_boot_clock()) : 0);
    bool is_news = false;
    for (election::Action& action : election_->take_actions()) {
        if (send(action))
            is_news = true;
        else
            actions_.push_back(std::move(action));
    }
    if (is_news) member_.peers_.ask_soon();
    if (!actions_.empty()) changed_.notify_all();
}

bool Elections::send(const election::Action& action) {
    if (const auto* const ask = std::get_if<election::Ask>(&action)) {
        letters_[ask->member].asked = {ask->question, ask->gen, ask->term};
    } else if (const auto* const reply = std::get_if<election::Reply>(&action)) {
        const auto asker = askers_.extract(reply->token);
        if (asker)
            letters_[asker.mapped().member].agreed = {asker.mapped().question, asker.mapped().term,
                                                      reply->is_agreed};
    } else if (const auto* const heir = std::get_if<election::TellHeir>(&action)) {
        letters_[heir->member].heir = {election::Question::resigned, election_->term().gen,
                                       election_->term().number};
    } else if (const auto* const known = std::get_if<election::AskKnown>(&action)) {
        letters_[known->member].round = known->round;
    } else {
        return false;
    }
    return true;
}

void Elections::pass_time(int64_t now_ms) {
    look_for_heir(now_ms);
    // What was taken back may have been in the journal.
    const oplog::Position applied = member_.last();
    if (const oplog::Position own = member_.durable(); own <= applied)
        durable_ = std::max(durable_, own);
    durable_ = std::min(durable_, applied);
    election_->moved(place_of(applied), place_of(durable_));
    election_->note_time(now_ms);
    give_voters(now_ms);
    take_actions();
}

// Who waits for the next primary goes on when that says that it is, or is late.
void Elections::look_for_heir(int64_t now_ms) {
    const int64_t due_ms = member_.role_.heir_due_ms();
    if (due_ms == 0) return;
    const bool is_there = !member_.role_.is_primary() && !member_.primary_host().empty();
    if (is_there || now_ms >= due_ms) member_.end_hand_over();
}

// Members whose copy is complete get their votes one by one.
void Elections::give_voters(int64_t now_ms) {
    if (election_->phase() != election::Phase::primary || awaits_outcome_ ||
        now_ms < next_voter_ms_)
        return;
    next_voter_ms_ = now_ms + kVoterPauseMs;
    const std::shared_ptr<const Config> config = member_.config();
    if (config == nullptr || config->version != election_->config().version) return;
    for (size_t i = 0; i < config->members.size(); ++i) {
        const MemberConfig& each = config->members[i];
        if (each.has_vote || !each.wants_vote) continue;
        const auto found = neighbours_.find(each.id);
        if (found == neighbours_.end() || found->second.is_blank ||
            now_ms - found->second.heard_ms > kNeighbourMs ||
            member_.peers_.peer(each.host).state != State::secondary)
            continue;
        Config next = config->with_version(config->version + 1);
        next.members[i].has_vote = true;
        return election_->reconfigure(Office::to_kept(next), now_ms);
    }
}

void Elections::run_coordinator() {
    const base::SignalStack signal_stack;
    base::log::set_context("rsCoordinator");
    ::pthread_setname_np(::pthread_self(), "rsCoordinator");
    Lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return is_stopping_ || transact_; });
        if (is_stopping_) return;
        DCHECK(election_);
        const election::Transact transact = *std::exchange(transact_, std::nullopt);
        const uint64_t life = lives_;
        lock.unlock();
        const std::optional<election::Answer> answer = ask_coordinator(transact.transaction);
        lock.lock();
        if (!election_ || life != lives_) continue;
        election_->transacted(transact.number, answer, base::ms_of_boot_clock());
        log_problem();
        take_actions();
    }
}

// The same is said once.
void Elections::log_problem() {
    const std::string& what = election_->problem();
    if (std::exchange(problem_, what) == what) return;
    if (what.empty())
        base::log::info("replica set {}: the coordinator has what it should", member_.set_name());
    else
        base::log::error("replica set {}: {}", member_.set_name(), what);
}

// No lock. Nothing: it has not answered; each new reason is logged.
std::optional<election::Answer> Elections::ask_coordinator(const election::Transaction& what) {
    const std::lock_guard one(coordinator_mutex_);
    const int64_t begun_ms = base::ms_of_boot_clock();
    std::string why;
    std::optional<election::Answer> answer = coordinator_->run(what, &why);
    if (answer) why = whose(*answer);
    if (!why.empty()) answer.reset();
    const std::lock_guard guard(mutex_);
    coordinator_ms_ = base::ms_of_boot_clock() - begun_ms;
    const bool was_there = is_coordinator_there_.value_or(true);
    is_coordinator_there_ = answer.has_value();
    const bool is_new = std::exchange(why_not_there_, why) != why;
    if (answer && !was_there) base::log::info("the coordinator {} answers again", endpoints_);
    if (!answer && is_new)
        base::log::warning("the coordinator does not answer ({}); the set goes on as it is", why);
    return answer;
}

// Says which other set the answer is of; empty: it is of this one, or of none.
std::string Elections::whose(const election::Answer& answer) const {
    const std::shared_ptr<const Config> config = member_.config();
    std::string what;
    const std::optional<election::View> view = keys_.view(answer, &what);
    if (config == nullptr || !view || !view->config) return {};
    const bson::Object document = bson::from_json(view->config->document);
    const bson::Element id = document.doc().at_path("settings.replicaSetId");
    if (id.type() != bson::Type::object_id || id.as_object_id() == config->set_id) return {};
    return fmt::format(
        "what it has is another set of the name {}, whose replicaSetId is {}: this member needs "
        "another --coordinator",
        member_.set_name(), bson::to_text(id));
}

std::optional<election::MemberId> Elections::id_of(const std::string& host) const {
    const std::shared_ptr<const Config> config = member_.config();
    if (config == nullptr) return {};
    const auto found = std::ranges::find(config->members, host, &MemberConfig::host);
    if (found == config->members.end()) return {};
    return found->id;
}

void Elections::note_refusal(const std::string& host) {
    const std::lock_guard guard(mutex_);
    const std::optional<election::MemberId> id = id_of(host);
    if (!election_ || !id) return;
    election_->refused(*id, base::ms_of_boot_clock());
    take_actions();
}

bool Elections::is_blank() const {
    const std::lock_guard guard(mutex_);
    return election_ && election_->is_blank();
}

bool Elections::begin_copy(int64_t term, oplog::Position common) {
    const std::lock_guard guard(mutex_);
    if (!election_) return false;
    if (place_of(common) < election_->committed())
        base::fail(base::kIllegalOperation, "ROLLBACK would lose majority-committed writes");
    if (!election_->begin_copy(term)) return false;
    durable_ = common;
    take_actions();
    return true;
}

void Elections::copied(int64_t term) {
    DCHECK(term > 0);
    const std::lock_guard guard(mutex_);
    if (!election_) return;
    election_->copied(term);
    take_actions();
}

}  // namespace replica

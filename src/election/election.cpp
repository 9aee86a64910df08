#include "election/election.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/dcheck.h"

namespace election {

namespace {

constexpr int64_t kPollMs = 100;  // of a member that has sealed: are there more seals?

}  // namespace

Election::Election(const Keys& keys, Self self, Times times)
    : keys_(keys),
      self_(std::move(self)),
      times_(times),
      random_(self_.seed),
      config_(self_.config),
      is_blank_(self_.is_blank) {
    term_.number = self_.known_term;
}

void Election::note_time(int64_t now_ms) {
    if (phase_ == Phase::primary) {
        const int64_t confirmed = lease_.confirmed_ms(self_.id, config_, now_ms);
        if (now_ms - std::max(confirmed, led_ms_) >= times_.timeout_ms)
            resign("a majority of the members has not answered for the election timeout");
    }
    ask_dry(now_ms);
    const int64_t pause = phase_ == Phase::sealed ? kPollMs : times_.look_ms;
    if (now_ms - last_answer_ms_ >= pause) wants_read_ = true;
    pursue(now_ms);
}

void Election::lead(bool is_renewed, int64_t now_ms) {
    DCHECK(!is_blank_ && sealed_ < term_.number && resigned_ < term_.number);
    phase_ = Phase::primary;
    follows_ = false;
    led_ms_ = now_ms;
    commit_point_.begin(term_.number);
    commit_point_.own_durable(durable_);
    lease_.begin(elect_asked_ms_);
    actions_.push_back(BecomePrimary{term_.number, is_renewed});
}

void Election::resign(const std::string& why) {
    DCHECK(phase_ == Phase::primary);
    phase_ = Phase::following;
    resigned_ = term_.number;
    is_renewal_due_ = false;
    wants_read_ = true;
    if (std::exchange(next_config_, std::nullopt)) refuse("this member is the primary no more");
    actions_.push_back(BecomeSecondary{why});
}

// The promise holds from here on; it is written when the journal has what stands before it.
void Election::stop() {
    DCHECK(phase_ == Phase::following && sealed_ < term_.number && !is_blank_);
    phase_ = Phase::stopping;
    follows_ = false;
    sealed_ = term_.number;
    actions_.push_back(Stop{term_.number, term_.gen});
}

void Election::stopped(int64_t now_ms) {
    if (phase_ != Phase::stopping) return;
    DCHECK(applied_ == durable_);
    phase_ = Phase::sealing;
    pursue(now_ms);
}

void Election::began(int64_t term, Position first) {
    if (phase_ != Phase::primary || term != term_.number) return;
    DCHECK(first.term == term);
    commit_point_.note(first);
    advance();
}

void Election::moved(Position applied, Position durable) {
    DCHECK(durable <= applied);
    applied_ = applied;
    durable_ = durable;
    commit_point_.own_durable(durable);
    advance();
}

void Election::advance() {
    if (phase_ == Phase::primary) commit_point_.advance(self_.id, config_);
}

bool Election::begin_copy(int64_t term) {
    if (phase_ != Phase::following || !follows_ || term != term_.number) return false;
    if (std::exchange(is_blank_, true)) return true;
    dry_since_.reset();
    actions_.push_back(KeepSelf{self_.start.starts, true});
    return true;
}

void Election::copied(int64_t term) {
    if (!follows_ || term != term_.number || !is_blank_) return;
    is_blank_ = false;
    actions_.push_back(KeepSelf{self_.start.starts, false});
}

void Election::reported(MemberId member, const std::string& gen, int64_t term,
                        int64_t config_version, Position durable, int64_t now_ms) {
    if (phase_ != Phase::primary || gen != term_.gen) return;
    commit_point_.reported(member, term, config_version, durable, config_);
    advance();
    pursue(now_ms);
}

int64_t Election::lease_end_ms(int64_t now_ms) const {
    if (phase_ != Phase::primary) return now_ms;
    return lease_.confirmed_ms(self_.id, config_, now_ms) + times_.timeout_ms * 9 / 10;
}

Heartbeat Election::heartbeat() const {
    const Voter* const own = config_.voter(self_.id);
    return {.gen = term_.gen,
            .term = term_.number,
            .is_primary = phase_ == Phase::primary,
            .sealed = sealed_,
            .durable = durable_,
            .config = config_.version,
            .priority = own == nullptr ? 0 : own->priority};
}

void Election::heard(MemberId from, const Heartbeat& heartbeat, int64_t now_ms) {
    if (heartbeat.config > config_.version) wants_read_ = true;
    if (heartbeat.term > term_.number) {
        wants_read_ = true;
        // Its own renewal may be known elsewhere before its answer comes.
        const bool is_renewing = pending_ && pending_->kind == Kind::renew;
        if (phase_ == Phase::primary && !is_renewing)
            resign(fmt::format("there is a later term, {}", heartbeat.term));
    } else if (heartbeat.term == term_.number && heartbeat.gen == term_.gen) {
        if (phase_ == Phase::primary) {
            is_renewal_due_ |= heartbeat.sealed >= term_.number;
        } else if (from == term_.primary) {
            if (heartbeat.is_primary)
                watch_.heard(now_ms);
            else
                watch_.resigned();
        }
    }
    pursue(now_ms);
}

void Election::answered(MemberId from, const Heartbeat& heartbeat, int64_t sent_ms,
                        int64_t now_ms) {
    if (phase_ == Phase::primary && heartbeat.gen == term_.gen && heartbeat.term == term_.number &&
        heartbeat.sealed < term_.number)
        lease_.answered(from, sent_ms);
    heard(from, heartbeat, now_ms);
}

void Election::refused(MemberId member, int64_t now_ms) {
    if (member == term_.primary && phase_ != Phase::primary) watch_.refused();
    ask_dry(now_ms);
    pursue(now_ms);
}

void Election::give_up(const std::string& why, int64_t now_ms) {
    if (phase_ != Phase::primary) return;
    resign(why);
    abstain(now_ms + times_.timeout_ms);
    pursue(now_ms);
}

void Election::hand_over(MemberId heir, int64_t now_ms) {
    if (phase_ != Phase::primary) return refuse("this member is not the primary");
    if (pending_ && (pending_->kind == Kind::renew || pending_->kind == Kind::reconfigure))
        return refuse("the coordinator is deciding something else: try it again");
    resign("it hands over");
    heir_ = heir;
    abstain(now_ms + times_.timeout_ms);
    stop();
    pursue(now_ms);
}

std::string Election::objection_to(const Config& next) const {
    if (phase_ != Phase::primary) return "this member is not the primary";
    if (next_config_) return std::string(kIsDeciding);
    if (next.version <= config_.version) return "its version is not above the present one";
    if (!next.has_vote(self_.id)) return "the primary needs a vote";
    const auto count_new = [](const Config& of, const Config& than) {
        return std::ranges::count_if(of.voters,
                                     [&](const Voter& voter) { return !than.has_vote(voter.id); });
    };
    if (count_new(next, config_) + count_new(config_, next) > 1)
        return "one voter at a time may come or go";
    if (!commit_point_.is_settled(self_.id, config_)) return std::string(kNotSettled);
    return {};
}

void Election::reconfigure(const Config& next, int64_t now_ms) {
    if (std::string why = objection_to(next); !why.empty()) return refuse(std::move(why));
    next_config_ = next;
    pursue(now_ms);
}

void Election::rebuild(int64_t now_ms) {
    if (is_blank_ || config_.version == 0)
        return refuse("this member has no complete data of the set: force it on another one");
    rebuild_ = Rebuild();
    wants_read_ = true;
    pursue(now_ms);
}

void Election::told(MemberId member, uint64_t round, const Known& known, int64_t now_ms) {
    if (!rebuild_ || rebuild_->round != round || round == 0) return;
    rebuild_->known[member] = known;
    count_known();
    pursue(now_ms);
}

std::string Election::drop_rebuild() {
    if (!rebuild_ || (pending_ && pending_->kind == Kind::create)) return {};
    const bool asks_members = std::exchange(rebuild_, std::nullopt)->round != 0;
    return asks_members ? "too few members with a vote have said that they are there with complete "
                          "data"
                        : std::string();
}

// A majority knows the last configuration that could be decided on, and each term that one of it
// could have taken part in.
void Election::count_known() {
    size_t voters = config_.has_vote(self_.id) ? 1 : 0;
    for (const auto& [member, known] : rebuild_->known) {
        if (known.config > config_.version) {
            refuse(fmt::format("member {} has a later configuration: force it there", member));
            return rebuild_.reset();
        }
        voters += !known.is_blank && config_.has_vote(member);
    }
    rebuild_->is_enough = voters >= config_.majority();
}

}  // namespace election

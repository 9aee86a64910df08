// What a member asks of the coordinator, and what it makes of the answers.
#include <fmt/format.h>

#include <algorithm>

#include "base/dcheck.h"
#include "election/election.h"

namespace election {

namespace {

constexpr int64_t kAgainMs = 50;         // after what the coordinator has not done
constexpr int64_t kRankMs = 50;          // that a voter waits for each of a higher priority
constexpr int64_t kRebuildTerms = 1000;  // more than were decided and no member remembers
constexpr int64_t kJitterDivisor = 7;    // of the election timeout: 15 percent at most

}  // namespace

// Asks for what is due, where nothing has been asked for that is still open.
void Election::pursue(int64_t now_ms) {
    if (pending_ || now_ms < not_before_ms_) return;
    Kind kind = Kind::read;
    std::optional<Transaction> transaction = due(&kind, now_ms);
    if (!transaction) return;
    pending_ = {++last_number_, kind, now_ms};
    if (kind == Kind::read) wants_read_ = false;
    if (kind == Kind::elect || kind == Kind::renew) elect_asked_ms_ = now_ms;
    actions_.push_back(Transact{pending_->number, std::move(*transaction)});
}

std::optional<Transaction> Election::due(Kind* kind, int64_t now_ms) {
    const auto take = [kind](Kind of, Transaction transaction) {
        *kind = of;
        return transaction;
    };
    if (rebuild_ && rebuild_->is_enough) return take(Kind::create, *creation());
    if (view_.term && wants_hello_)
        return take(Kind::hello, keys_.hello(self_.id, self_.start, view_));
    if (view_.term == term_) {
        if (phase_ == Phase::sealing)
            return take(Kind::seal, keys_.seal(self_.id, self_.start, applied_, view_));
        if (phase_ == Phase::primary && is_renewal_due_)
            return take(Kind::renew, keys_.renew(view_));
        if (phase_ == Phase::primary && next_config_)
            return take(Kind::reconfigure, keys_.reconfigure(*next_config_, view_));
    }
    if (wants_read_) return take(Kind::read, keys_.read());
    if (std::optional<Transaction> elect = candidacy(now_ms))
        return take(Kind::elect, std::move(*elect));
    return {};
}

// The seals that are there make this member the next primary, as far as it may be.
std::optional<Transaction> Election::candidacy(int64_t now_ms) {
    if (phase_ != Phase::sealed || !may_stand(now_ms) || view_.term != term_) return {};
    std::vector<MemberId> counted;
    for (const auto& [id, seal] : view_.seals) {
        const Voter* const voter = config_.voter(id);
        if (voter == nullptr || (id != self_.id && seal.position > applied_)) continue;
        counted.push_back(id);
    }
    if (counted.size() < config_.majority()) {
        catch_up();
        return {};
    }
    // Also of one that has not sealed yet: it may be about to.
    const int64_t rank = std::ranges::count_if(config_.voters, [this](const Voter& voter) {
        return voter.priority > config_.voter(self_.id)->priority;
    });
    if (!may_elect_ms_) may_elect_ms_ = now_ms + rank * kRankMs;
    if (now_ms < *may_elect_ms_) return {};
    return keys_.elect(self_.id, self_.start, counted, view_);
}

// Once in each term from one that is ahead, and never stands.
void Election::catch_up() {
    for (const auto& [id, seal] : view_.seals) {
        const Voter* const voter = config_.voter(id);
        if (voter == nullptr || voter->priority > 0 || seal.position <= applied_) continue;
        if (std::exchange(caught_up_with_, id) != id) actions_.push_back(CatchUp{id});
        return;
    }
}

std::optional<Transaction> Election::creation() const {
    int64_t latest = term_.number;
    for (const auto& [member, known] : rebuild_->known)
        latest = std::max(latest, known.term);
    Term term;
    term.gen = rebuild_->gen;
    term.number = latest + kRebuildTerms;
    term.config = config_.version;
    return keys_.create(term, config_);
}

void Election::transacted(uint64_t number, const std::optional<Answer>& answer, int64_t now_ms) {
    if (!pending_ || pending_->number != number) return;
    const Kind kind = pending_->kind;
    pending_.reset();
    if (!answer) {
        not_before_ms_ = now_ms + times_.retry_ms;
        wants_read_ = true;  // it may be done
        settle(kind, false);
    } else {
        last_answer_ms_ = now_ms;
        problem_.clear();
        std::string what;
        if (const std::optional<View> view = keys_.view(*answer, &what))
            take(*view, now_ms);
        else
            problem_ = fmt::format(
                "what the coordinator has at {} is nothing that a member has written", what);
        settle(kind, answer->succeeded);
        if (!answer->succeeded) not_before_ms_ = now_ms + kAgainMs;
    }
    answer_askers(number, answer.has_value(), now_ms);
    pursue(now_ms);
}

// What a person has asked for is over: it is done, or may still be where there was no answer.
void Election::settle(Kind kind, bool is_done) {
    if (kind == Kind::reconfigure && next_config_) {
        is_done |= config_ == *next_config_;  // by a request that was sent twice
        next_config_.reset();
    } else if (kind == Kind::create && rebuild_) {
        is_done |= term_.gen == rebuild_->gen;
        rebuild_.reset();
    } else {
        return;
    }
    refuse(is_done
               ? ""
               : "the coordinator has not answered in time, or another one was quicker: look at "
                 "what has become of it");
}

void Election::take(const View& view, int64_t now_ms) {
    if (!view.term) {
        if (!rebuild_)
            problem_ =
                "the coordinator knows nothing of the set. If its data is lost, "
                "rs.reconfig(rs.conf(), {force: true}) on any member tells it";
        if (!rebuild_ || rebuild_->round != 0) return;
        rebuild_->round = ++rounds_;
        rebuild_->gen = fmt::format("{:016x}", random_());
        for (const Voter& voter : config_.voters)
            if (voter.id != self_.id) actions_.push_back(AskKnown{voter.id, rebuild_->round});
        return count_known();
    }
    if (view.term->number < term_.number) {
        problem_ = fmt::format(
            "the coordinator knows only term {}, and this member {}: it has the data of an earlier "
            "time. Start it empty; then rs.reconfig(rs.conf(), {{force: true}}) on any member "
            "tells "
            "it the set",
            view.term->number, term_.number);
        if (std::exchange(rebuild_, std::nullopt)) refuse(problem_);
        return;
    }
    if (rebuild_ && rebuild_->round == 0) {
        rebuild_.reset();
        refuse("the coordinator knows the set");
    }
    if (!take_process(view)) return;
    if (view.config->version > config_.version) take_config(*view.config);
    take_term(view, now_ms);
    advance();
}

void Election::take_config(const Config& config) {
    config_ = config;
    actions_.push_back(KeepConfig{config_});
}

// Whether the coordinator has had this process. A copy of an old directory is blank: the
// coordinator has seen it start more often.
bool Election::take_process(const View& view) {
    const auto found = view.members.find(self_.id);
    const bool is_there = found != view.members.end();
    if (is_there && found->second.id == self_.start.id) {
        was_own_ = true;
        wants_hello_ = false;
    } else if (was_own_ && is_there) {
        problem_ = fmt::format(
            "another process is member {} for the coordinator: is there a copy of this server's "
            "directory in use?",
            self_.id);
    } else {
        wants_hello_ = true;
        if (is_there && found->second.starts >= self_.start.starts) {
            self_.start.starts = found->second.starts + 1;
            is_blank_ = true;
            actions_.push_back(KeepSelf{self_.start.starts, true});
        }
    }
    if (phase_ != Phase::starting) return true;
    view_ = view;
    if (wants_hello_) return false;
    phase_ = Phase::following;
    return true;
}

void Election::take_term(const View& view, int64_t now_ms) {
    const Term& term = *view.term;
    const bool was_primary = phase_ == Phase::primary;
    const bool is_own = term.primary == self_.id && term.start == self_.start.id;
    view_ = view;
    if (was_primary && term.number == term_.number && term.gen == term_.gen) {
        term_ = term;  // with another configuration
        return;
    }
    const bool is_renewed = was_primary && is_own && term.number == term_.number + 1;
    if (term.number > term_.number || term.gen != term_.gen) {
        if (was_primary && !is_renewed) resign(fmt::format("term {} has begun", term.number));
        if (term.gen != term_.gen) sealed_ = 0;  // that was another term, of data that is lost
        phase_ = Phase::following;
        follows_ = is_renewal_due_ = false;
        may_elect_ms_.reset();
        dry_since_.reset();
        caught_up_with_ = heir_ = kNoMember;
        next_dry_ms_ = dry_pause_ms_ = 0;
        jitter_ms_ = static_cast<int64_t>(
            random_() % static_cast<uint64_t>(times_.timeout_ms / kJitterDivisor + 1));
        watch_.begin(now_ms);
    }
    term_ = term;
    if (view.seals.contains(self_.id)) {
        sealed_ = std::max(sealed_, term.number);
        if (phase_ == Phase::following || phase_ == Phase::sealing) {
            phase_ = Phase::sealed;
            follows_ = false;
            if (const MemberId heir = std::exchange(heir_, kNoMember); heir != kNoMember)
                actions_.push_back(TellHeir{heir});
        }
    }
    if (sealed_ >= term.number || phase_ != Phase::following) return;
    if (is_own) {
        if (!is_blank_ && resigned_ < term.number) lead(is_renewed, now_ms);
    } else if (term.primary != kNoMember && term.primary != self_.id && !follows_) {
        follows_ = true;
        actions_.push_back(Follow{term.primary, term.number});
    }
}

}  // namespace election

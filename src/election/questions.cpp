// What voters ask each other before an election.
#include <fmt/format.h>

#include <algorithm>

#include "base/dcheck.h"
#include "election/election.h"

namespace election {

namespace {

constexpr int64_t kFirstPauseMs = 50;  // between two dry questions

}  // namespace

bool Election::is_primary_gone(int64_t now_ms, int64_t limit_ms) const {
    // A primary of this name that is not this process, or has resigned here, is no member.
    return term_.primary == kNoMember || term_.primary == self_.id ||
           watch_.is_gone(now_ms, limit_ms);
}

bool Election::may_stand(int64_t now_ms) const {
    const Voter* const own = config_.voter(self_.id);
    return phase_ != Phase::starting && !is_blank_ && own != nullptr && own->priority > 0 &&
           !abstains(now_ms);
}

// Asks the others whether they would seal, and the coordinator whether it is there.
void Election::ask_dry(int64_t now_ms) {
    if (phase_ != Phase::following && phase_ != Phase::sealed) return;
    if (!may_stand(now_ms) || !is_primary_gone(now_ms, times_.timeout_ms + jitter_ms_) ||
        now_ms < next_dry_ms_)
        return;
    const int64_t pause_max = std::max(times_.timeout_ms / 4, kFirstPauseMs);
    dry_pause_ms_ = std::clamp(2 * dry_pause_ms_, kFirstPauseMs, pause_max);
    next_dry_ms_ = now_ms + dry_pause_ms_ + static_cast<int64_t>(random_() % kFirstPauseMs);
    dry_since_ = last_number_ + 1;
    is_coordinator_there_ = false;
    wants_read_ = true;
    agreed_ = {self_.id};
    ask_all(Question::dry);
}

void Election::ask_all(Question question) {
    for (const Voter& voter : config_.voters)
        if (voter.id != self_.id)
            actions_.push_back(Ask{voter.id, question, term_.gen, term_.number});
}

// Why this member does not agree; empty: it does.
std::string Election::objection(const std::string& gen, int64_t term, Question question,
                                int64_t now_ms) const {
    if (phase_ == Phase::starting) return "it has not read what the coordinator has";
    if (is_blank_) return "its data is not complete";
    if (!config_.has_vote(self_.id)) return "it has no vote";
    if (gen != term_.gen || term != term_.number)
        return fmt::format("its term is {}", term_.number);
    if (phase_ == Phase::primary) return "it is the primary";
    if (phase_ == Phase::following && question != Question::resigned &&
        !is_primary_gone(now_ms, times_.timeout_ms))
        return "it hears the primary";
    return {};
}

void Election::asked(uint64_t token, const std::string& gen, int64_t term, Question question,
                     int64_t now_ms) {
    if (term > term_.number) wants_read_ = true;
    std::string why = objection(gen, term, question, now_ms);
    if (!why.empty()) {
        actions_.push_back(Reply{token, false, std::move(why)});
    } else if (question == Question::dry) {
        wants_read_ = true;
        askers_.push_back({token, question, gen, term, last_number_ + 1});
    } else if (phase_ == Phase::sealed) {
        actions_.push_back(Reply{token, true, {}});
    } else {
        if (phase_ == Phase::following) stop();
        askers_.push_back({token, question, gen, term, 0});
    }
    pursue(now_ms);
}

// `answered`: the number of a transaction that has ended, with an answer if `is_there`.
void Election::answer_askers(uint64_t answered, bool is_there, int64_t now_ms) {
    std::erase_if(askers_, [&](const Asker& asker) {
        std::string why = objection(asker.gen, asker.term, asker.question, now_ms);
        if (why.empty()) {
            if (asker.question != Question::dry) {
                if (phase_ != Phase::sealed) return false;
            } else {
                if (answered < asker.since) return false;
                if (!is_there) why = "the coordinator does not answer it";
            }
        }
        const bool is_agreed = why.empty();
        actions_.push_back(Reply{asker.token, is_agreed, std::move(why)});
        return true;
    });
    if (dry_since_ && answered >= *dry_since_) {
        is_coordinator_there_ |= is_there;
        count_agreed(now_ms);
    }
}

void Election::agreed(MemberId member, int64_t term, Question question, bool is_agreed,
                      int64_t now_ms) {
    if (term != term_.number || !is_agreed) return;
    if (question == Question::dry) {
        agreed_.insert(member);
        count_agreed(now_ms);
    } else {
        wants_read_ = true;
    }
    pursue(now_ms);
}

void Election::count_agreed(int64_t now_ms) {
    const auto has_vote = [this](MemberId id) { return config_.has_vote(id); };
    if (!dry_since_ || !is_coordinator_there_ ||
        static_cast<size_t>(std::ranges::count_if(agreed_, has_vote)) < config_.majority())
        return;
    dry_since_.reset();
    if (phase_ == Phase::following && is_primary_gone(now_ms, times_.timeout_ms)) stop();
    if (phase_ != Phase::following) ask_all(Question::seal);
}

void Election::step_up(const std::string& gen, int64_t term, int64_t now_ms) {
    if (!objection(gen, term, Question::resigned, now_ms).empty() || !may_stand(now_ms)) return;
    watch_.resigned();
    if (phase_ == Phase::following) stop();
    ask_all(Question::resigned);
    pursue(now_ms);
}

}  // namespace election

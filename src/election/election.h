// election/election.h - a member's part in elections: events in, actions out; no socket, thread,
// clock or file.
//
// The room election: who may be the primary of a set. An outside store that is linearizable, the
// coordinator (keys.h), has the present term, the configuration, and the seals: a seal is the
// written promise of a member, with its last position, to follow the primary of that term no
// longer. Seals of a majority of voters, none of them beyond the own position, let a member take
// the next term, by one transaction that compares the term and these seals. The coordinator holds
// no lease: a set that has a primary goes on without it. replica/ is the joint to the server;
// testing/ has a coordinator in memory and the random schedules.
//
// Where a set begins, its first member alone has a vote: the others, which have no copy yet, could
// not seal (E9), so nothing could follow that member's end. They get theirs by E10.
//
// The rules, by the numbers that tests and mutants use:
//   E1   each change of term and configuration compares the value of the term
//   E2   who leaves a term stops first, has its journal commit, then seals
//   E3   a dry question comes before a candidacy: no member agrees that hears a primary, or whom
//        the coordinator has not answered since
//   E4   seals of a majority, the own among them, none of these beyond the own position
//   E5   the primary is the process whose start stands in the term
//   E6   a process first reads its own seal and the term; it follows what it has read
//   E7   a report of another term, or under an older configuration, is no position
//   E8   a primary answers while a majority answers it (lease.h)
//   E8a  nothing is acknowledged before the term's first entry is; journaled positions count
//   E9   a blank member neither seals, reports nor stands until its copy is complete
//   E10  at most one voter comes or goes, when the present configuration is settled
//   E11  a primary that hears of a seal of its term takes the next one itself
//   E12  who hears of a later term is no primary any more, and reads
//   E14  a primary that hands over seals its term itself
//   E15  a priority of 0 never stands; what only such a member has is read from it
//   E16  a coordinator that lost the set hears of it by what a majority knows, a thousand terms
//        later and without a primary
//   E17  a member applies entries of terms that it knows; it gives up what it has, and has all, by
//        what a member says that leads the followed term (replica/tailer.cpp)
//
//   phase       left when
//   starting    the coordinator has this process, and its term and seals are read: following
//   following   a majority has agreed that the primary is gone, or hands over: stopping
//   stopping    stopped(): sealing
//   sealing     the seal is in the coordinator: sealed
//   sealed      a majority's seals let it take the next term: primary; another has: following
//   primary     a later term, or no majority in time: following; it hands over: stopping
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "election/actions.h"
#include "election/commit_point.h"
#include "election/keys.h"
#include "election/lease.h"
#include "election/primary_watch.h"
#include "election/types.h"

namespace election {

enum class Phase { starting, following, stopping, sealing, sealed, primary };

// Refusals of reconfigure() that pass.
inline constexpr std::string_view kNotSettled =
    "the present configuration is not on a majority of the voters yet: try it again";
inline constexpr std::string_view kIsDeciding = "another configuration is being decided";

class Election {
  public:
    struct Self {
        MemberId id = 0;
        Start start;             // of this process; its `starts` is in the journal
        bool is_blank = false;   // the data counts for nothing
        int64_t known_term = 0;  // the last one that the journal has
        Config config;           // of the journal, or one of version 0
        uint64_t seed = 0;
    };
    struct Times {
        int64_t timeout_ms = 10'000;  // electionTimeoutMillis
        int64_t retry_ms = 500;       // of what the coordinator has not answered
        int64_t look_ms = 10'000;     // between two reads that only see whether it is there
    };
    Election(const Keys& keys, Self self, Times times);

    // Events. Times never go back.
    void note_time(int64_t now_ms);
    void transacted(uint64_t number, const std::optional<Answer>& answer, int64_t now_ms);
    void stopped(int64_t now_ms);
    void began(int64_t term, Position first);
    // Up to where the log goes, and the journal has it.
    void moved(Position applied, Position durable);
    // The data is to become what the primary of that term has: until that is so it is blank. False:
    // not now.
    bool begin_copy(int64_t term);
    // The copy that was begun while it followed that term is complete.
    void copied(int64_t term);
    void heard(MemberId from, const Heartbeat& heartbeat, int64_t now_ms);
    // What was heard is the answer to what was sent then.
    void answered(MemberId from, const Heartbeat& heartbeat, int64_t sent_ms, int64_t now_ms);
    void refused(MemberId member, int64_t now_ms);
    void asked(uint64_t token, const std::string& gen, int64_t term, Question question,
               int64_t now_ms);
    void agreed(MemberId member, int64_t term, Question question, bool is_agreed, int64_t now_ms);
    // Of a member that follows the primary of that term.
    void reported(MemberId member, const std::string& gen, int64_t term, int64_t config_version,
                  Position durable, int64_t now_ms);
    // The heir has all; this member does not stand for an election timeout.
    void hand_over(MemberId heir, int64_t now_ms);
    // The primary cannot serve, and leaves the set to others for an election timeout.
    void give_up(const std::string& why, int64_t now_ms);
    // It does not stand before then.
    void abstain(int64_t until_ms) { abstains_until_ms_ = until_ms; }
    bool abstains(int64_t now_ms) const { return now_ms < abstains_until_ms_; }
    // The primary has sealed the present term, and wants this member to be the next.
    void step_up(const std::string& gen, int64_t term, int64_t now_ms);
    void reconfigure(const Config& next, int64_t now_ms);
    // By a person, where the coordinator does not know the set.
    void rebuild(int64_t now_ms);
    // Of another one for its round, and the answers to this one's.
    struct Known {
        int64_t term = 0;
        int64_t config = 0;
        bool is_blank = false;
    };
    Known known() const { return {term_.number, config_.version, is_blank_}; }
    void told(MemberId member, uint64_t round, const Known& known, int64_t now_ms);
    // Ends rebuild(), unless it is being done. Returns what it lacked; or nothing.
    std::string drop_rebuild();

    // What the events so far ask for.
    std::vector<Action> take_actions() { return std::exchange(actions_, {}); }

    Phase phase() const { return phase_; }
    const Term& term() const { return term_; }
    const Config& config() const { return config_; }
    bool is_blank() const { return is_blank_; }
    MemberId id() const { return self_.id; }
    // The primary that it follows; or none.
    MemberId followed() const { return follows_ ? term_.primary : kNoMember; }
    // Of the primary.
    Position committed() const { return commit_point_.get(); }
    // The fault in the coordinator's last answer, for people; empty: there is none.
    const std::string& problem() const { return problem_; }
    // Up to when the primary may answer.
    int64_t lease_end_ms(int64_t now_ms) const;
    Heartbeat heartbeat() const;

  private:
    enum class Kind { hello, seal, elect, renew, reconfigure, create, read };
    struct Pending {
        uint64_t number;
        Kind kind;
        int64_t asked_ms;
    };
    struct Asker {
        uint64_t token;
        Question question;
        std::string gen;
        int64_t term;
        uint64_t since;  // an answer to this transaction or a later one was asked for after it
    };
    struct Rebuild {
        uint64_t round = 0;  // 0: the coordinator has not been asked yet
        std::string gen;
        std::map<MemberId, Known> known;  // told after the coordinator was seen to know nothing
        bool is_enough = false;
    };

    // transactions.cpp: what is asked of the coordinator, and what its answers say.
    void pursue(int64_t now_ms);
    std::optional<Transaction> due(Kind* kind, int64_t now_ms);
    std::optional<Transaction> candidacy(int64_t now_ms);
    std::optional<Transaction> creation() const;
    void catch_up();
    void take(const View& view, int64_t now_ms);
    bool take_process(const View& view);
    void take_term(const View& view, int64_t now_ms);
    void take_config(const Config& config);
    void settle(Kind kind, bool is_done);
    // questions.cpp: what voters ask each other.
    void ask_dry(int64_t now_ms);
    void ask_all(Question question);
    void count_agreed(int64_t now_ms);
    void answer_askers(uint64_t answered, bool is_there, int64_t now_ms);
    std::string objection(const std::string& gen, int64_t term, Question question,
                          int64_t now_ms) const;
    bool is_primary_gone(int64_t now_ms, int64_t limit_ms) const;
    bool may_stand(int64_t now_ms) const;
    // election.cpp
    void lead(bool is_renewed, int64_t now_ms);
    void resign(const std::string& why);
    void stop();
    void advance();
    std::string objection_to(const Config& next) const;
    void count_known();
    void refuse(std::string why) { actions_.push_back(Outcome{std::move(why)}); }

    const Keys keys_;
    Self self_;
    const Times times_;
    std::mt19937_64 random_;
    std::vector<Action> actions_;
    Phase phase_ = Phase::starting;
    Term term_;  // the latest that was read; of a start the number alone, from the journal
    Config config_;
    View view_;  // the last one of that term; without a term: there was none yet
    bool is_blank_;
    bool was_own_ = false;     // the coordinator has had this process
    bool wants_hello_ = true;  // it has not got it
    bool follows_ = false;
    int64_t sealed_ = 0;    // the last term that is to be followed no longer
    int64_t resigned_ = 0;  // the last one of which it was the primary, and is no more
    Position applied_, durable_;
    CommitPoint commit_point_;
    Lease lease_;
    int64_t elect_asked_ms_ = 0;  // of the last election or renewal
    int64_t led_ms_ = 0;          // when it became the primary
    PrimaryWatch watch_;
    int64_t jitter_ms_ = 0;  // on top of the own timeout, so that not all ask at once

    std::optional<Pending> pending_;
    uint64_t last_number_ = 0;
    int64_t not_before_ms_ = 0;  // the next transaction, after one without an answer
    int64_t last_answer_ms_ = 0;
    std::string problem_;
    bool wants_read_ = true;
    std::vector<Asker> askers_;
    std::optional<uint64_t> dry_since_;  // the own dry question, as Asker::since
    bool is_coordinator_there_ = false;  // it has answered since
    std::set<MemberId> agreed_;
    int64_t abstains_until_ms_ = 0;
    int64_t next_dry_ms_ = 0;
    int64_t dry_pause_ms_ = 0;             // between two dry questions; it grows
    std::optional<int64_t> may_elect_ms_;  // when its rank allows it; nothing: no majority of seals
    MemberId caught_up_with_ = kNoMember;
    bool is_renewal_due_ = false;
    MemberId heir_ = kNoMember;
    std::optional<Config> next_config_;
    std::optional<Rebuild> rebuild_;
    uint64_t rounds_ = 0;
};

}  // namespace election

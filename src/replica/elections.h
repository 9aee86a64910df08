// replica/elections.h - the joint between a member of a set and its part in elections
// (election/election.h): what is heard from members, the log and the coordinator goes in as events;
// what comes out is done to the member (office.h), sent to other members, or asked of the
// coordinator.
//
// Events are given by the thread that has them, under one mutex, so what a member answers to a
// heartbeat already follows from it. What the events ask for stands in a queue, and is done in its
// order by a thread of its own; a second one speaks with the coordinator, which may take seconds.
//
// All that members tell each other of elections goes with the heartbeats, in both directions: a
// question to another member is in the next heartbeat to it, its answer in one of its own. What
// could not be sent at once is not sent later.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "election/election.h"
#include "replica/office.h"

namespace replica {

class Elections {
  public:
    // `endpoints`: of the coordinator, as people write it. The member outlives this.
    Elections(Member& member, std::unique_ptr<election::Coordinator> coordinator,
              std::string endpoints);
    ~Elections();
    Elections(const Elections&) = delete;
    Elections& operator=(const Elections&) = delete;

    void start();
    // Waits for the threads.
    void stop();

    // Any thread, all that follow.

    // Appends what this member tells that one, whose answer note_answer() takes.
    void append_question(const std::string& host, bson::Builder& out);
    // Takes a question, and appends the answer.
    void answer(bson::Doc question, bson::Builder& out);
    void note_answer(const std::string& host, bson::Doc answer, int64_t sent_ms);
    // Its process is gone.
    void note_refusal(const std::string& host);
    // Appends under which term and configuration a report to the primary is made.
    void append_to_report(bson::Builder& out) const;
    // Throws base::Error 10107 where the report is of another term than this primary's.
    void take_report(bson::Doc report, oplog::Position durable);

    // Whether this member's copy of the data is to be completed from a primary.
    bool is_blank() const;
    // Its data is to become what the primary of that term has, from that common entry on. False:
    // not now. Throws base::Error 20 where a majority has what would be lost.
    bool begin_copy(int64_t term, oplog::Position common);
    // It has all that the primary of that term had.
    void copied(int64_t term);

    // No lock, all that follow; they wait for the coordinator. Throws base::Error 23, 93, 74, 6.
    void initiate(Config config);
    // The primary takes the configuration, whose voters are found here. Throws base::Error 103.
    void reconfigure(const Config& config);
    // The coordinator hears again of the set, which it does not know. Throws base::Error 103.
    void rebuild();
    // That member, which has all, is to be the primary, and this one not for so long. Throws
    // base::Error 6 where the coordinator does not answer, 103.
    void hand_over(const std::string& heir, int64_t seconds);
    // It does not stand for so long.
    void freeze(int64_t seconds);
    // Whether that member has said that it stands for no election for now.
    bool is_frozen(election::MemberId member) const;
    int64_t term() const;
    // What is wrong with the coordinator, for people; empty: nothing.
    std::string problem() const;
    // Appends term and coordinator, for people.
    void append_status(bson::Builder& out) const;

  private:
    using Lock = std::unique_lock<std::mutex>;
    // What the next heartbeat brings to another member.
    struct Letter {
        struct Asked {
            election::Question question;
            std::string gen;
            int64_t term;
        };
        struct Agreed {
            election::Question question;
            int64_t term;
            bool is_agreed;
        };
        std::optional<Asked> asked;
        std::optional<Agreed> agreed;
        std::optional<Asked> heir;
        uint64_t round = 0;  // 0: what it knows is not asked for
    };
    struct Asker {
        election::MemberId member;
        election::Question question;
        int64_t term;
    };
    static constexpr int64_t kNeighbourMs = 5000;  // for so long what it has said of itself counts
    struct Neighbour {
        bool is_blank = true;
        bool is_frozen = false;
        int64_t heard_ms = 0;
        int64_t outside_ms = 0;  // since when it has answered and taken no part; 0: it does
        bool is_reported = false;
    };

    std::optional<election::MemberId> id_of(const std::string& host) const;
    void run();
    void run_coordinator();
    void begin(Lock& lock);
    void end_as_other();
    std::string whose(const election::Answer& answer) const;
    void check_known(const election::Answer& answer);
    void log_problem();
    void perform_next(Lock& lock);
    void pass_time(int64_t now_ms);
    void look_for_heir(int64_t now_ms);
    void take_actions();
    bool send(const election::Action& action);
    void perform(const election::Action& action);
    void give_voters(int64_t now_ms);
    std::optional<election::Answer> ask_coordinator(const election::Transaction& what);
    // elections_requests.cpp
    election::Answer needed_answer(const election::Transaction& what);
    std::string await_outcome(const std::function<void(int64_t now_ms)>& event,
                              const std::function<bool()>& is_done);
    // elections_messages.cpp
    static Neighbour neighbour_in(election::MemberId member, bson::Doc said, int64_t now_ms);
    void note_outsider(const std::string& host, Neighbour& neighbour, int64_t now_ms);
    void append_heartbeat(bson::Builder& out) const;

    Member& member_;
    Office office_;
    const std::unique_ptr<election::Coordinator> coordinator_;
    const std::string endpoints_;
    const election::Keys keys_;
    const std::string start_;       // of this process
    std::mutex request_mutex_;      // of one person's wish at a time; the next two are taken in it
    std::mutex coordinator_mutex_;  // of coordinator_; mutex_ is taken in it
    mutable std::mutex mutex_;
    std::condition_variable changed_, outcome_came_;
    // Guarded by mutex_, all that follow.
    std::optional<election::Election> election_;  // nothing: there is no configuration
    uint64_t lives_ = 0;                          // how many there have been
    std::deque<election::Action> actions_;
    bool is_performing_ = false;
    std::optional<election::Transact> transact_;
    std::map<election::MemberId, Letter> letters_;
    std::map<uint64_t, Asker> askers_;
    uint64_t last_token_ = 0;
    std::map<election::MemberId, Neighbour> neighbours_;
    int64_t next_voter_ms_ = 0;
    bool awaits_outcome_ = false;
    std::optional<std::string> outcome_;  // of what a person has asked for
    oplog::Position durable_;
    std::optional<bool> is_coordinator_there_;
    std::string why_not_there_;
    std::string problem_;  // that has been logged last, of what it has
    int64_t coordinator_ms_ = 0;
    bool is_stopping_ = false;
    std::thread runner_, coordinator_runner_;
};

}  // namespace replica

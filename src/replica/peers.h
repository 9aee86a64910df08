// replica/peers.h - what is known of the other members, and the questions and answers by which they
// tell each other: heartbeats (heartbeats.h asks them).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "oplog/entry.h"
#include "replica/role.h"

namespace replica {

class Member;

// The state of another member, as its last answer to a heartbeat says it.
struct Peer {
    State state = State::unknown;
    bool is_up = false;
    oplog::Position last;
    uint64_t election_ts = 0;
    int64_t up_since_ms = 0;       // since 1970, as those that follow
    int64_t last_answer_ms = 0;    // 0: never
    int64_t last_question_ms = 0;  // of that member to this one
    int64_t round_trip_ms = 0;
    // When the question was asked of which this is the answer, or that there was none.
    std::chrono::steady_clock::time_point asked;
    int32_t config_version = 0;
    bool keeps_long = false;  // names and keys; what it has said once counts (set_limits.h)
    std::string syncing_to;
    std::string message;
};

// Any thread may call its methods.
class Peers {
  public:
    // The member outlives this.
    explicit Peers(Member& member) : member_(member) {}

    // Returns what is known of the member with that host in the configuration.
    Peer peer(const std::string& host) const;
    bool elects() const;
    // Whom to ask; without a configuration those who have asked.
    std::vector<std::string> hosts() const;
    void forget_callers();
    // Waits so long, or until there is a reason to ask at once, such as a newer configuration.
    void wait_to_ask(std::chrono::milliseconds limit);
    void ask_soon();
    // What that member is asked.
    bson::Object question(const std::string& host = {}) const;
    // Appends the answer. Throws base::Error 2, 116 where it comes from another set.
    void answer(bson::Doc question, bson::Builder& out);
    // No lock: a newer configuration in the answer is taken over. `sent_ms`: when it was asked, by
    // base::ms_of_boot_clock().
    void note_answer(const std::string& host, bson::Doc answer, int64_t round_trip_ms,
                     int64_t sent_ms = 0);
    // `is_refused`: its machine answers, and no server is there.
    void note_no_answer(const std::string& host, const std::string& why, bool is_refused = false);
    // No lock. Asks all, waits for the answers, and returns a member that has a complete copy of
    // the data and later entries than `last`; empty: there is none. One that has not answered
    // within the limit counts as one that cannot be reached.
    std::string one_ahead_of(oplog::Position last, std::chrono::milliseconds limit);

  private:
    Member& member_;
    std::mutex ask_mutex_;
    std::condition_variable asks_;
    bool is_to_ask_ = false;  // guarded by ask_mutex_
    mutable std::mutex mutex_;
    std::condition_variable noted_;
    std::map<std::string, Peer> peers_;  // guarded by mutex_, by host
    std::set<std::string> callers_;      // guarded by mutex_: who asked without a configuration
};

}  // namespace replica

// replica/member.h - this server as a member of a replica set.
//
// The room replica: what makes a server with --replSet a member: the set's configuration, which
// state the member is in, and what follows from it; how it follows another member (follower.h,
// initial_sync.h) and hears of all of them (heartbeats.h).
//
// There are no elections. The configuration says which member is the primary; each start of one
// begins a term, which its entries in the log carry (oplog/entry.h), and its `electionId`: clients
// take what the later one says. All other members follow it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "oplog/log.h"
#include "replica/config.h"
#include "replica/own_commits.h"
#include "replica/progress.h"
#include "storage/engine.h"

namespace replica {

// By the numbers that clients know.
enum class State : int32_t {
    startup = 0,     // has no configuration
    primary = 1,     // takes the writes
    secondary = 2,   // its data is that of a moment
    recovering = 3,  // cannot follow; or what it has is of no moment
    startup2 = 5,    // copies the primary's data
    unknown = 6,     // of another member that has not been heard of yet
    down = 8,        // of another member that does not answer
    removed = 10,    // has a configuration that it cannot serve
};
std::string_view name_of(State state);

// What is known of another member, by its last answer to a heartbeat.
struct Peer {
    State state = State::unknown;
    bool is_up = false;
    oplog::Position last;
    uint64_t election_ts = 0;
    int64_t up_since_ms = 0;       // since 1970, as those that follow
    int64_t last_answer_ms = 0;    // 0: never
    int64_t last_question_ms = 0;  // of that member to this one
    int64_t round_trip_ms = 0;
    int32_t config_version = 0;
    std::string syncing_to;
    std::string message;
};

// What following has come to.
struct FollowCounts {
    std::atomic<int64_t> entries{0};
    std::atomic<int64_t> batches{0};
    std::atomic<int64_t> bytes{0};
    std::atomic<int64_t> sources{0};  // connections to one
};

class Member {
  public:
    struct Options {
        std::string set_name;
        std::string own_name;  // of this machine
        std::string own_host;  // "name:port", by which clients reach this server
        int port = 0;
        int64_t log_bytes = 0;  // of the log that a set begins with
        // Why members could not exchange anything with this server as it was started; empty: they
        // can.
        std::string why_alone = {};
    };

    // `log` has the form of a set. All outlive this.
    Member(storage::Engine& engine, catalog::Catalog& catalog, oplog::Log& log, Options options);
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    // global W, at the start. Reads the configuration; where it is one of this server, opens the
    // log. The only member is the primary then. Throws base::Error where the log cannot be opened.
    void open();
    // No lock, at the start, when the other members have been asked for a newer configuration, as
    // far as they answer: begins a term where the configuration says that this is the primary.
    void begin_own_term();

    // Any thread, all that follow.
    const std::string& set_name() const { return options_.set_name; }
    State state() const { return state_.load(std::memory_order_acquire); }
    bool is_primary() const { return state() == State::primary; }
    // A primary that hands over takes no writes any more.
    bool takes_writes() const {
        return is_primary() && !is_stepping_down_.load(std::memory_order_acquire);
    }
    oplog::Log& log() const { return log_; }
    // Whether it is, or is to become, a secondary: it changes only what the primary has changed.
    bool follows() const;
    // Null in startup and removed.
    std::shared_ptr<const Config> config() const;
    // Throws base::Error 94 in startup, 93 where it is removed.
    std::shared_ptr<const Config> needed_config() const;
    oplog::Position last() const { return log_.last(); }
    // What clients have written and may send again.
    oplog::Retries& retries() const { return log_.retries(); }
    // Of the term that this start began.
    bson::ObjectId election_id() const;
    uint64_t election_ts() const { return election_ts_.load(std::memory_order_relaxed); }
    // Of one of the configuration.
    Peer peer(const std::string& host) const;
    // "name:port" of the member that is the primary, as far as is known; or nothing.
    std::string primary_host() const;
    // By how many seconds it is behind what it knows of the primary; 0 for that itself.
    int64_t lag_seconds() const;
    // What it follows now, and why it does not; or nothing.
    std::string syncing_to() const;
    std::string message() const;
    // Whether the configuration has a write concern for writes that name none.
    bool has_default_concern() const {
        return has_default_concern_.load(std::memory_order_relaxed);
    }
    // What the members have; of this one only what it has said.
    const Progress& progress() const { return progress_; }
    // Up to which entry this server's journal has all, as far as it was asked for.
    oplog::Position durable() const { return commits_.durable(); }
    FollowCounts& counts() { return counts_; }
    const FollowCounts& counts() const { return counts_; }

    // No lock: they take global W, after names have been looked up. `given` empty: this server
    // alone. Throws base::Error 23 (has one already), 93, 74 (the host is not this server), 20.
    void initiate(bson::Doc given);
    // Throws base::Error 94, 10107 (not the primary, and not forced), 93, 74, 103 (not newer).
    // Forced, a secondary takes one that makes it the primary.
    void reconfigure(bson::Doc given, bool force);

    // No lock. Another member becomes the primary, one that has all: from now on no writes are
    // taken, and once the journal of a secondary that clients see has the last entry, the
    // configuration that makes it the primary is that of this server, which follows it. It hears of
    // that by heartbeats. Where none has the entry in that time, writes are taken again. Throws
    // base::Error 10107 (not the primary, or hands over already), 50 (none has all), 189 (another
    // configuration has come), and what ends the calling operation.
    void step_down(std::chrono::milliseconds limit);

    // No lock. The last entry whose change is over.
    oplog::Position last_settled() const;
    // No lock. Waits for members that have the entry of that position, whose change is over; see
    // Progress::wait(). This server's journal gets it at once where other members wait for that.
    Progress::Handle wait(oplog::Position position, const Need& need, std::function<void()> wake);
    void give_up(const Progress::Handle& waiter, oplog::Position position, const Need& need) {
        progress_.give_up(waiter, position, need);
    }

    // Of a secondary. `changed` is called when it has applied entries, or its journal has more, by
    // the thread that applies or commits; null: not any more. It must be short.
    void watch_reached(std::function<void()> changed);
    void note_applied();
    // No lock. Its journal is to have what has been applied. False: it has none, and so never does.
    bool want_durable();
    // A run of reports to the primary begins.
    void begin_reports();
    // The command that reports what this member has.
    bson::Object report(const Reached& reached) const;
    // Of the primary: such a command. Throws base::Error 108, 10107, 93.
    void take_report(bson::Doc report);

    // Heartbeats. Whom to ask; in startup those who have asked.
    std::vector<std::string> others() const;
    // Waits so long, or until there is a reason to ask at once, such as a newer configuration.
    void wait_to_ask(std::chrono::milliseconds limit);
    void ask_soon();
    bson::Object question() const;
    // Appends the answer. Throws base::Error 2, 116 where it comes from another set.
    void answer(bson::Doc question, bson::Builder& out);
    // No lock: a newer configuration in the answer is taken over.
    void note_answer(const std::string& host, bson::Doc answer, int64_t round_trip_ms);
    void note_no_answer(const std::string& host, const std::string& why);

    // Of the follower, while the member follows: the state between secondary, recovering and
    // startup2. Both texts may be empty.
    void set_following(State state, const std::string& syncing_to, const std::string& message);

  private:
    struct Stored;

    Stored read_stored() const;
    Config parse(bson::Doc given, const Config* before, int64_t term) const;
    size_t own_index(const Config& config) const;
    void check_takes_others(const Config& config) const;
    void check_is_primary_of(const Config& config) const;
    void check_brings_no_data();
    bool is_handed_to_this(const Config* old, const std::string& host, oplog::Position last) const;
    std::optional<size_t> successor(const Config& config, oplog::Position last) const;
    size_t await_successor(const Config& config, oplog::Position last,
                           std::chrono::milliseconds limit);
    void stay_primary();
    void check_not_stepping_down() const;
    void store(const Config& config);
    void adopt(const std::string& host, bson::Doc given, oplog::Position last);
    void become(Config config, int64_t term, const char* why);
    void become_follower(Config config);
    void leave(const std::string& why);
    void note_reached();
    void set_config(std::shared_ptr<const Config> config);
    void set_state(State state);
    void report_problem(const std::string& what);

    storage::Engine& engine_;
    catalog::Catalog& catalog_;
    oplog::Log& log_;
    const Options options_;
    std::atomic<State> state_{State::startup};
    std::atomic<uint64_t> election_ts_{0};
    std::atomic<bool> is_stepping_down_{false};  // changed under global W
    std::atomic<bool> has_default_concern_{false};
    FollowCounts counts_;
    Progress progress_;
    std::mutex watch_mutex_;
    std::function<void()> reached_changed_;  // guarded by it
    oplog::Position applied_;                // the same; a follower's
    std::mutex report_mutex_;                // of report_came_, which step_down() waits for
    std::condition_variable report_came_;
    std::mutex ask_mutex_;
    std::condition_variable asks_;
    bool is_to_ask_ = false;  // guarded by ask_mutex_
    mutable std::mutex mutex_;
    // Guarded by it, all that follow.
    std::shared_ptr<const Config> config_;
    std::string why_removed_;
    std::map<std::string, Peer> peers_;
    std::set<std::string> asked_by_;  // who asked while there is no configuration
    std::string syncing_to_;
    std::string message_;
    std::string last_problem_;  // the last one
    bson::ObjectId reports_since_{};
    OwnCommits commits_;  // it calls what is above
};

}  // namespace replica

// replica/member.h - this server as a member of a replica set.
//
// The room replica: what makes a server with --replSet a member: the set's configuration
// (own_config.h), which state the member is in (role.h), how it steps down (step_down.h), how it
// follows another member (tailer.h, initial_sync.h) and hears of all of them (peers.h).
//
// The configuration says which member is the primary, or with a coordinator elections do
// (elections.h); each start of one begins a term, which its entries in the log carry
// (oplog/entry.h), and its `electionId`: clients take what the later one says. The other members
// follow it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/catalog.h"
#include "oplog/log.h"
#include "replica/config.h"
#include "replica/following.h"
#include "replica/news.h"
#include "replica/own_commits.h"
#include "replica/own_config.h"
#include "replica/peers.h"
#include "replica/progress.h"
#include "replica/role.h"
#include "replica/set_limits.h"
#include "storage/engine.h"

namespace replica {

class Elections;

class Member {
  public:
    using Options = MemberOptions;

    // `log` has the form of a set. The arguments outlive this object.
    Member(storage::Engine& engine, catalog::Catalog& catalog, oplog::Log& log, Options options);
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    // global W, at the start. Reads the configuration; where it is one of this server, opens the
    // log. Throws base::Error where the log cannot be opened.
    void open();
    // No lock, when the other members have been asked for a newer configuration, as far as they
    // answer: begins a term where the configuration says that this is the primary, and it is not
    // yet. Where the disk has no room for that it is to be tried again.
    void begin_own_term();

    // Any thread, all that follow.
    const std::string& set_name() const { return options_.set_name; }
    const Role& role() const { return role_; }
    // That a hello says something else.
    News& news() { return news_; }
    Peers& peers() { return peers_; }
    const Peers& peers() const { return peers_; }
    SetLimits& limits() { return limits_; }
    Following& following() { return following_; }
    const Following& following() const { return following_; }
    oplog::Log& log() const { return log_; }
    // Null: the configuration names the primary. Set before other threads use this; it outlives
    // their use.
    Elections* elections() const { return elections_; }
    void set_elections(Elections* elections) { elections_ = elections; }
    const std::string& rollback_folder() const { return options_.rollback_folder; }
    // How often the end of the log was taken back.
    int32_t rollbacks() const { return rollbacks_.load(std::memory_order_relaxed); }
    // The end of the log is going to be taken back: who waits for what is there waits no longer.
    void begin_rollback();
    // Null in startup and removed.
    std::shared_ptr<const Config> config() const;
    // Throws base::Error 94 in startup, 93 where it is removed.
    std::shared_ptr<const Config> needed_config() const;
    oplog::Position last() const { return log_.last(); }
    // The writes of sessions that clients may send again.
    oplog::Retries& retries() const { return log_.retries(); }
    // The `electionId` of the term that this start began.
    bson::ObjectId election_id() const;
    // The entry that began it: nothing before is acknowledged by a majority unless that is.
    oplog::Position first_of_term() const { return {last().term, election_ts()}; }
    uint64_t election_ts() const { return election_ts_.load(std::memory_order_relaxed); }
    // "name:port" of the member that is the primary, as far as is known; or nothing.
    std::string primary_host() const;
    // Returns by how many seconds this member is behind what it knows of the primary; 0 on the
    // primary, nothing before both have a position.
    std::optional<int64_t> lag_seconds() const;
    // Whether the configuration has a write concern for writes that name none.
    bool has_default_concern() const {
        return has_default_concern_.load(std::memory_order_relaxed);
    }
    // The position that each member has reached; of this member, the one that it has reported
    // itself.
    const Progress& progress() const { return progress_; }
    // What is at and before it, no election loses; the primary says it to those that follow.
    void note_committed(oplog::Position position) { progress_.note_committed(position); }
    std::shared_ptr<void> watch_committed(oplog::Position known, std::function<void()> wake) {
        return progress_.watch_committed(known, std::move(wake));
    }
    // False: it cannot tell what a majority has.
    bool has_journal() const { return commits_.has_journal(); }
    // Returns up to which entry this server's journal has all, as far as it was asked for.
    oplog::Position durable() const { return commits_.durable(); }

    // No lock: they take global W, after names have been looked up. `given` empty: this server
    // alone. Throws base::Error 23 (has one already), 93, 74 (the host is not this server), 20.
    void initiate(bson::Doc given);
    // Throws base::Error 94, 10107 (not the primary, and not forced), 93, 74, 103 (not newer).
    // Forced, a secondary takes one that makes it the primary, unless a member that can be reached
    // has later entries (93); its version is much larger then, by chance.
    void reconfigure(bson::Doc given, bool force);

    // No lock. Makes another member the primary, one that has every entry: from now on no writes
    // are taken, and once the journal of a secondary that clients see has the last entry, the
    // configuration that makes it the primary is that of this server, which follows it. The new
    // primary hears of that by heartbeats. If no secondary has the entry within the limit, this
    // member takes writes again. Throws base::Error 10107 (not the primary, or hands over already),
    // 50 (none has all), 189 (another configuration has come), and what ends the calling operation.
    // With elections this one does not stand for `seconds`.
    void step_down(std::chrono::milliseconds limit, int64_t seconds = 0);

    // No lock, one thread, again and again: the primary logs a note where it has logged nothing
    // since the last call.
    void note_idleness();

    // No lock. The primary logs a note: once a majority has that, this member was the primary when
    // it was logged. Returns its place. Throws base::Error 10107, and what Log::add_note does.
    oplog::Position note_read();
    // No lock. The last entry whose change is over; nothing that the caller has seen is of a later
    // one.
    oplog::Position last_settled() const;
    // No lock. Waits for members that have the entry of that position, whose change is over; see
    // Progress::wait(). This server's journal gets it at once where other members wait for that.
    Progress::Handle wait(oplog::Position position, const Need& need, std::function<void()> wake);
    void give_up(const Progress::Handle& waiter, oplog::Position position, const Need& need) {
        progress_.give_up(waiter, position, need);
    }

    // No lock. Its journal is to have what has been applied. False: it has none, and so never does.
    bool want_durable();
    // The command that reports what this member has.
    bson::Object report(const Reached& reached) const;
    // Takes such a command on the primary. Throws base::Error 108, 10107, 93.
    void take_report(bson::Doc report);

    // No lock. Sets the state of a member that follows to secondary, recovering or startup2; the
    // tailer calls it. Both texts may be empty.
    void set_following(State state, const std::string& syncing_to, const std::string& message);

    // No lock. Takes over another member's configuration, where it is newer than what is here.
    // `last` is what that member had at that time or later. Throws base::Error 93, 74, 103, 110,
    // 320.
    void adopt(const std::string& host, bson::Doc given, oplog::Position last);
    // Logs a problem of following, and shows it; the same one is logged once.
    void report_problem(const std::string& what);
    // What is wrong with this member, for people; empty: nothing.
    std::string message() const;

  private:
    friend class StepDown;
    friend class Office;
    friend class Elections;

    void check_is_primary_of(const Config& config) const;
    void check_begins_set();
    void reconfigure_elected(const Config& config, const Config* before, bool force);
    void check_none_is_ahead();
    void check_brings_no_data();
    bool is_handed_to_this(const Config* old, const std::string& host, oplog::Position last) const;
    bool take_office(const Config& config);
    void become(Config config, int64_t term, const char* why);
    void become_follower(Config config);
    void leave(const std::string& why);
    void set_config(std::shared_ptr<const Config> config);
    void set_state(State state);
    void set_stepping_down(bool is_stepping_down);
    void end_hand_over();

    storage::Engine& engine_;
    catalog::Catalog& catalog_;
    oplog::Log& log_;
    const Options options_;
    Role role_;
    News news_;
    Peers peers_{*this};
    SetLimits limits_{engine_, peers_};
    Following following_;
    Elections* elections_ = nullptr;
    std::atomic<int32_t> rollbacks_{0};
    std::atomic<uint64_t> election_ts_{0};
    oplog::Position idle_since_;  // of note_idleness()
    std::atomic<bool> has_default_concern_{false};
    Progress progress_;
    std::mutex report_mutex_;  // of report_came_, for which StepDown waits
    std::condition_variable report_came_;
    mutable std::mutex mutex_;
    std::shared_ptr<const Config> config_;  // guarded by mutex_, as the next
    std::string why_removed_;
    OwnCommits commits_;  // it calls what is above
};

}  // namespace replica

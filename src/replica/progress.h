// replica/progress.h - how far the members are in the log, as the primary hears it from them, and
// who waits for them: writes whose write concern asks for more than this server, and reads of what
// a majority has. The other members hear from the primary how far a majority is.
#pragma once

#include <atomic>
#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "oplog/entry.h"
#include "replica/config.h"
#include "replica/news.h"

namespace replica {

// The last entry that a member has, and the last one that its journal has.
struct Reached {
    oplog::Position applied;
    oplog::Position durable;
};

// The members that have to have a write.
struct Need {
    int32_t members = 1;   // so many, the primary among them
    std::string mode;      // in place of a number: "majority" of the votes, or a configured one
    bool durable = false;  // in their journals; that of this server has it in any case then
    auto operator<=>(const Need&) const = default;

    // Whether the primary alone will do.
    bool is_met_by_primary(const Config& config) const;
    // Returns nothing where the members of the configuration can satisfy it; else base::Error 100,
    // or 79 for a mode that the configuration does not have.
    std::optional<base::Error> refusal_by(const Config& config) const;
};

// Any thread may call its methods.
class Progress {
  public:
    static constexpr int kWaiting = -1;

    class MemberWaiter {
      public:
        // kWaiting; 0 once it has what it waits for; or the code of the error that ended the wait.
        int outcome() const { return outcome_.load(std::memory_order_acquire); }

      private:
        friend Progress;
        std::function<void()> wake_;  // guarded by the mutex of Progress
        std::atomic<int> outcome_{kWaiting};
    };
    using Handle = std::shared_ptr<MemberWaiter>;

    Progress() = default;
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // Takes the configuration of the set; null: there is none. Waits for what a new one cannot give
    // end: 100, 79.
    void configure(std::shared_ptr<const Config> config);
    // Takes what a member reports of itself. `since` names the run of reports: within one nothing
    // goes back, and the first of another counts as it is, since the member may have lost what its
    // journal had not. Returns false if the configuration has no such member.
    bool report(std::string_view host, const bson::ObjectId& since, const Reached& reached);
    // Takes the position up to which this server's own journal has the log.
    void own_durable(oplog::Position position);
    // This server is the primary from that entry on: before a majority has it, reports say nothing
    // of what a majority has.
    void begin_term(oplog::Position first);
    // The primary becomes something else: all waits end with that code.
    void end_all(int code);
    // The last entry that the journals of a majority have, as far as is known; no election loses
    // it.
    oplog::Position committed() const;
    // The primary says so.
    void note_committed(oplog::Position position);
    // Calls `wake` when committed() moves, while the result lives; null: it is behind `known`.
    std::shared_ptr<void> watch_committed(oplog::Position known, std::function<void()> wake);

    // `position` is that of an entry of this server's log. `wake` is called once, when the wait is
    // over, unless that is so before this returns; it must be short, and call nothing here.
    // Although no member could satisfy the need: it is waited for, until the configuration changes.
    Handle wait(oplog::Position position, const Need& need, std::function<void()> wake);
    // Its `wake` is called no longer, once this has returned.
    void give_up(const Handle& waiter, oplog::Position position, const Need& need);
    // Whether writes wait for other members, and not only such members for this server's journal.
    bool is_awaited() const { return awaited_.load(std::memory_order_acquire) > 0; }

    // Returns what that member has reported; zeros: it has reported nothing.
    Reached reached_by(const std::string& host) const;
    // Returns {_id, host, optime} of each member that has the entry, this server first.
    // getLastError shows it.
    std::vector<bson::Object> members_with(oplog::Position position) const;

  private:
    using Waiters = std::multimap<oplog::Position, Handle>;
    struct Reports {
        bson::ObjectId since{};
        Reached reached;
    };

    bool has_member(std::string_view host) const;
    void advance_committed();
    oplog::Position reached(const MemberConfig& member, bool durable) const;
    oplog::Position reached(const Need& need) const;
    oplog::Position reached_in_mode(bson::Doc tags, bool durable) const;
    void wake_satisfied();
    static void end(MemberWaiter& waiter, int outcome);
    void forget(std::map<Need, Waiters>::iterator group, size_t count);

    mutable std::mutex mutex_;
    // Guarded by it, all that follow.
    std::shared_ptr<const Config> config_;
    oplog::Position own_durable_;
    std::map<std::string, Reports, std::less<>> reports_;  // by host
    std::map<Need, Waiters> waiters_;
    oplog::Position first_of_term_;
    oplog::Position committed_;
    News commits_;                     // of committed_
    std::atomic<int64_t> awaited_{0};  // changed under mutex_
};

}  // namespace replica

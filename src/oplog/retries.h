// oplog/retries.h - what the sessions of clients have written last, so that a write that comes
// again is answered and not done again.
//
// A client numbers the writes of its session (txnNumber). When it does not know what became of one,
// it sends it again by the same number; what each statement of it has done is in the log of writes,
// in the entry of the change itself (oplog/entry.h). This table keeps only the kind of that entry
// and its place in the log. A start can therefore make the whole table from the log.
//
// It holds what was written in the last kKept by at most kUnitsMax sessions and ranges of
// statements: beyond that the oldest of the user who has most are forgotten. A user who begins very
// many sessions thereby displaces only their own.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "bson/builder.h"

namespace oplog {

// A logical session: its UUID, and the digest of the user whose it is.
struct SessionKey {
    std::array<uint8_t, 16> id{};
    std::array<uint8_t, 32> user{};
    auto operator<=>(const SessionKey&) const = default;
};

// The statement that an entry says that it belongs to.
struct StatementId {
    SessionKey session;
    int64_t txn_number = 0;
    int32_t statement = 0;
};

// The fields `lsid` and `txnNumber` of entries.
bson::Object session_fields(const SessionKey& session, int64_t txn_number);

// Statements one after the other, each of which has made a change by an entry of one kind.
struct Done {
    int32_t first = 0;
    int32_t last = 0;
    char op = 'n';    // of the entry
    uint64_t ts = 0;  // of the first entry of the first one; those of the others follow it
};

class Retries {
  public:
    using Clock = std::chrono::steady_clock;

    static constexpr std::chrono::minutes kKept{30};
    static constexpr size_t kUnitsMax = 200'000;  // of about 200 bytes, or 24

    explicit Retries(size_t units_max = kUnitsMax) : units_max_(units_max) {}
    Retries(const Retries&) = delete;
    Retries& operator=(const Retries&) = delete;

    class Turn;
    // A session writes, by one request at a time. Null: another one of it is under way. Throws
    // base::Error 225 where it has used a later number.
    std::unique_ptr<Turn> begin(const SessionKey& session, int64_t txn_number);

    // Forgets the session, of which nothing will come again; one that writes stays.
    void forget(const SessionKey& session);
    // Forgets the sessions that have not been used for kKept.
    void expire(Clock::time_point now);

    // Begins the table anew. REQUIRES: no session writes.
    void clear();
    // A statement of the log, in whose order they are found. A session that writes just now gets it
    // when that write ends: this member was the primary a moment ago.
    void found(const StatementId& id, char op, uint64_t ts);

    size_t sessions() const;
    // Answered from here since the start.
    int64_t retried_commands() const { return commands_.load(std::memory_order_relaxed); }
    int64_t retried_statements() const { return statements_.load(std::memory_order_relaxed); }

  private:
    struct Found {
        StatementId id;
        char op;
        uint64_t ts;
    };
    struct History {
        int64_t txn_number = -1;
        std::vector<Done> done;  // by `first`; behind each other, none empty
        Clock::time_point used{};
        bool busy = false;
        std::vector<Found> found;  // while it is busy
    };
    using Histories = std::map<SessionKey, History>;

    void end(Histories::value_type& session);
    static void add_found(History& history, const Found& found);
    void forget_oldest();
    size_t erase(Histories::iterator at);
    static size_t units(const History& history) { return 1 + history.done.size(); }

    const size_t units_max_;
    mutable std::mutex mutex_;
    // Guarded by mutex_; of a session that is busy `txn_number` and `done` belong to its Turn.
    Histories histories_;
    // The units of the sessions that are not busy, and 1 for each that is.
    size_t units_ = 0;
    std::atomic<int64_t> commands_{0};
    std::atomic<int64_t> statements_{0};
};

// While it lives, no other request of the session writes. One thread uses it.
class Retries::Turn {
  public:
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    const SessionKey& session() const { return session_.first; }
    int64_t txn_number() const { return session_.second.txn_number; }
    // The fields that session_fields() returns.
    bson::Doc fields() const { return fields_; }

    // Returns what the statement has done; null: nothing yet. The result is valid until the next
    // note().
    const Done* done(int32_t statement) const;
    // The same, and it is counted as one that has come again.
    const Done* answered(int32_t statement);
    std::span<const Done> all_done() const { return session_.second.done; }
    // Notes, for the log, that the statement has been done.
    void note(int32_t statement, char op, uint64_t ts);

  private:
    friend Retries;
    Turn(Retries& retries, Histories::value_type& session);

    Retries& retries_;
    Histories::value_type& session_;
    const bson::Object fields_;
    bool counted_ = false;
};

}  // namespace oplog

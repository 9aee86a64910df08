// command/context/transactions.h - the transactions over several requests that clients have begun,
// at most one a logical session, and what of them is over.
//
//   begin() --> running --park()--> open --go_on()--> running --commit(), end of the Use--> ended
//                                   open --limits, killed sessions, higher numbers, wounds--> ended
//
// A request uses one by a Use, which belongs to its thread; one request of a session at a time
// does (oplog::Retries::Turn sees to that). Who ends a transaction that is running only marks it:
// it ends when the request is over. What an ended one was stays known until its session ends, so
// that requests that come too late hear of it.
//
// A transaction ends by itself: after its lifetime; when all together have more changes in
// memory than their share, the oldest; where the engine's cache is full of old rows, the oldest;
// when it was wounded (storage/transaction.h); when this server is not the primary any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bson/builder.h"
#include "command/context/logical_sessions.h"
#include "oplog/transaction_entries.h"
#include "storage/engine.h"

namespace oplog {
class Log;
}

namespace command {

class OperationContext;

// Throws base::Error 112, of a transaction.
[[noreturn]] void fail_conflict();

class Transactions {
  public:
    using Clock = std::chrono::steady_clock;
    class Use;

    // One that has ended.
    struct Ended {
        SessionId session;
        int64_t number;
        bool is_committed;
        std::string why;  // it was aborted
        std::string who;
        Clock::duration lasted, active;
        int64_t changes;
        int64_t bytes;  // of its entries
    };
    // `ended` hears of each, on any thread, with no lock held.
    using OnEnd = std::function<void(const Ended&)>;

    Transactions(storage::Engine& engine, OnEnd ended)
        : engine_(engine), on_end_(std::move(ended)) {}
    Transactions(const Transactions&) = delete;
    Transactions& operator=(const Transactions&) = delete;

    // Begins one, for the calling thread. `who`: of its client, for reports. Throws base::Error
    // 50911 where the session has had one of that number, 20 where the engine has none.
    std::unique_ptr<Use> begin(const SessionId& session, int64_t number, std::string_view who);
    // Goes on with one. Throws base::Error 251 where there is none, or it was aborted, 256 where it
    // was committed.
    std::unique_ptr<Use> go_on(const SessionId& session, int64_t number);
    // Aborts one, as its client asks. Throws what go_on() does.
    void give_up(const SessionId& session, int64_t number);
    // Whether it was committed, as far as is known here.
    bool is_committed(const SessionId& session, int64_t number) const;
    // Throws base::Error 251 where the session has an open one of a lower number, which no request
    // can go on with by this number.
    void check_can_go_on(const SessionId& session, int64_t number) const;
    // Throws base::Error 72 where the number is one of a transaction.
    void check_is_of_write(const SessionId& session, int64_t number) const;
    // The session uses that number: what it has open of a lower one ends.
    void note_number(const SessionId& session, int64_t number);

    // Ends those of sessions; what they were is forgotten.
    void end(const SessionSet& doomed);
    // Forgets what has ended in sessions that are over.
    void forget(const std::function<bool(const SessionId&)>& is_over);
    void end_all(std::string_view why) {
        abort_if([](const SessionId&, const One&) { return true; }, why);
    }
    // Returns the sessions that have open ones.
    std::set<SessionId> sessions() const;
    // Called by server/ now and then: ends those that have to end by themselves.
    void look_after(bool is_primary, std::chrono::seconds lifetime);

    struct Counts {
        int64_t active = 0, inactive = 0;  // open now, by whether a request uses it
        int64_t started = 0, committed = 0, aborted = 0;
    };
    Counts counts() const;
    // Appends the document `transaction` of currentOp; nothing where the session has none open.
    void append_of(const SessionId& session, bson::Builder& out) const;
    // Visits those that no request uses, as currentOp shows them.
    void each_idle(const std::function<void(bson::Doc)>& visit) const;

  private:
    enum class State : uint8_t { open, running, committed, aborted };

    // Only its user touches this.
    struct Work {
        std::unique_ptr<storage::Transaction> stored;
        oplog::TransactionEntries entries;
        std::set<std::string, std::less<>> written;  // namespaces
    };
    struct One {
        int64_t number = -1;
        State state = State::aborted;
        std::string why;  // it was aborted, or is to be when its request is over
        int code = base::kNoSuchTransaction;  // what its client hears then
        bool is_doomed = false;               // running only
        std::unique_ptr<Work> work;           // open only
        std::string who;
        Clock::time_point begun{};
        Clock::time_point used{};  // the last request began
        Clock::duration active{};  // requests before that
        int64_t wall_ms = 0;       // begun, since 1970
        size_t bytes = 0;          // of memory, when it was parked last
    };
    using All = std::map<SessionId, One>;

    using Doomed = std::function<bool(const SessionId&, const One&)>;

    // Ends those that are open, and marks those that run.
    void abort_if(const Doomed& doomed, std::string_view why, int code = base::kNoSuchTransaction);
    void abort_oldest(Clock::duration at_least, std::string_view why,
                      int code = base::kNoSuchTransaction);
    // A use of it is over, which has been left.
    void park(const SessionId& session, std::unique_ptr<Work> work);
    void finish(const SessionId& session, std::unique_ptr<Work> work, State state,
                std::string_view why);
    void forget(const SessionId& session, std::unique_ptr<Work> work);
    // REQUIRES: mutex_. `counted`: changes, and the bytes of their entries.
    Ended end_locked(const SessionId& session, One& one, std::pair<int64_t, int64_t> counted,
                     State state, std::string_view why);
    static void append_to(bson::Builder& out, const One& one);

    storage::Engine& engine_;
    const OnEnd on_end_;
    mutable std::mutex mutex_;
    All all_;           // guarded by mutex_, as what follows
    int64_t open_ = 0;  // that run or are open
    int64_t started_ = 0;
    int64_t committed_ = 0, aborted_ = 0;
};

// The use of one by a request. What the thread reads and changes during it is the transaction's,
// and the context of the request knows it.
class Transactions::Use {
  public:
    ~Use();  // aborts it, unless it was parked or committed
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    // The request is over, and so is this use.
    void park();
    // Nothing has been done in it by its first request, which will come again: forgets it.
    void forget();
    // Commits it, and ends the use. Throws base::Error, with nothing changed and the transaction
    // aborted: 112 where it was wounded, 246 where a collection is not the one any more, and what
    // oplog::Log::prepare() does. `log` has the entry; the thread has a Statement for it.
    void commit(OperationContext& context, oplog::Log& log);
    // The request has failed in part: it is aborted at the end of the request.
    void doom() { is_doomed_ = true; }
    bool is_doomed() const { return is_doomed_; }

    int64_t number() const { return number_; }
    // A collection is about to be used, lock at least shared. Throws base::Error 246 where it is
    // not what the transaction sees, 112 where the transaction was wounded.
    void check(std::string_view ns, bool to_write);
    // Calls `work` outside of the transaction. REQUIRES: no lock.
    template <typename Call>
    void outside(OperationContext& context, const Call& work) {
        const Outside away(*this, context);
        work();
    }

  private:
    friend class Transactions;
    class Outside {
      public:
        Outside(Use& use, OperationContext& context);
        ~Outside();
        Outside(const Outside&) = delete;
        Outside& operator=(const Outside&) = delete;

      private:
        Use& use_;
        OperationContext& context_;
    };

    Use(Transactions& all, const SessionId& session, int64_t number, std::unique_ptr<Work> work);
    void enter();
    void leave();
    void commit_changes(OperationContext& context, oplog::Log& log);

    Transactions& all_;
    const SessionId session_;
    const int64_t number_;
    std::unique_ptr<Work> work_;  // null: over
    bool is_doomed_ = false;
    bool is_entered_ = false;
};

}  // namespace command

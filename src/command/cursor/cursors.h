// command/cursor/cursors.h - cursors between batches: known to all connections by their ids (wire
// spec 3.2).
//
// A cursor is either idle in the manager or pinned by the one request that works with it. Between
// batches its source is saved and holds no lock.
//
// The room cursor: results that are read in batches, those of queries above all, and who ends them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bson/builder.h"
#include "command/context/logical_sessions.h"
#include "query/plan/executor.h"

namespace command {

class CollectionLock;
class DataWait;
class OperationContext;
class WakeOnce;

// The error of a request for more of a cursor that another request works with, or waits for.
constexpr int kCursorInUse = 12051;
constexpr std::string_view kInUseText = "clientcursor already in use? driver problem?";

// The name of the work for sched::WorkLimit.
constexpr const char* kProjectionWork = "the projection of one document";

// The source of a cursor's documents.
class CursorSource {
  public:
    virtual ~CursorSource() = default;
    // Appends the next document as one whole document; false at the end.
    virtual bool next(bson::Buffer& out) = 0;
    virtual bool at_end() const { return false; }  // known without looking
    // False where it is known without a search that nothing more will come.
    virtual bool more_to_come() { return !at_end(); }
    // The last document will come again, as it is then; false: it can't, the caller has to keep it.
    virtual bool put_back() { return false; }
    virtual void save() {}
    virtual void restore() {}
    // Sets the lock of the request that reads it; null: no request does.
    virtual void set_lock(CollectionLock*) {}
    // Sets the context of that request, also where no lock is needed.
    virtual void set_context(OperationContext&) {}
    // Whether documents are read from collections while the cursor lives (then the database lock is
    // needed around next, save and restore).
    virtual bool reads_collections() const { return false; }
    // The rest is of sources that follow the log without holding its lock. Whether nothing more
    // will come although the cursor is tailable.
    virtual bool has_ended() const { return false; }
    // The next data is to wake the connection; false: it is to look again a little later.
    virtual bool wake_on_data(DataWait&) { return true; }
    // Returns by what a client goes on behind the last result; {}: it cannot.
    virtual bson::Object resume_token() const { return {}; }
    // The query behind it, if there is one.
    virtual const query::Executor* executor() const { return nullptr; }
};

// The rows of an executor, projected.
class ExecutorSource final : public CursorSource {
  public:
    explicit ExecutorSource(std::unique_ptr<query::Executor> executor)
        : executor_(std::move(executor)) {}
    bool next(bson::Buffer& out) override;
    bool at_end() const override { return executor_->at_end(); }
    bool more_to_come() override { return executor_->more_to_come(); }
    bool put_back() override {
        executor_->put_back();
        return true;
    }
    void save() override { executor_->save(); }
    void restore() override { executor_->restore(); }
    void set_lock(CollectionLock* lock) override;
    bool reads_collections() const override { return true; }
    const query::Executor* executor() const override { return executor_.get(); }

  private:
    void append_record_id(storage::RecordId id, size_t start, bson::Buffer& out) const;

    std::unique_ptr<query::Executor> executor_;
};

// Documents that are all there already (listCollections, listIndexes).
class ListSource final : public CursorSource {
  public:
    void add(bson::Doc doc) { documents_.emplace_back(doc); }
    bool next(bson::Buffer& out) override;
    bool at_end() const override { return position_ == documents_.size(); }

  private:
    std::vector<bson::Object> documents_;
    size_t position_ = 0;
};

struct Cursor {
    using Clock = std::chrono::steady_clock;
    Cursor() = default;
    // Wakes the request that waits for more of it.
    ~Cursor();
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    int64_t id = 0;
    std::string ns;                       // full; what getMore must name
    std::string collection_ns;            // of the collection read; empty: none
    std::vector<std::string> foreign_ns;  // of others that are read
    uint64_t incarnation = 0;             // of that collection, when the cursor was last saved
    // The session of the request that opened it: only requests of that session go on with the
    // cursor, and it ends with the session.
    std::optional<SessionId> session;
    std::optional<int64_t> transaction;  // of that session, by its number: it ends with it, too
    std::unique_ptr<CursorSource> source;
    std::vector<std::string> owners;  // who had logged in where it was opened (Login::ids())
    int64_t opener = 0;               // the connection's number; 0: the server itself
    std::weak_ptr<WakeOnce> awaited;  // by the last getMore, if that waits
    // A document that did not fit into the last batch, where the source can't put it back.
    bson::Buffer pending;
    // Documents so far (startingFrom), without those in the reply of an aggregation or a list.
    int64_t returned = 0;
    int64_t default_batch = 0;  // v26: numberToReturn of the query
    bool tailable = false;
    bool await_data = false;
    bool follows_changes = false;  // a change stream
    bool shows_majority = false;   // only what a majority has
    bool exhaust = false;
    bool no_timeout = false;
    bool killed = false;  // while pinned
    Clock::time_point last_used = Clock::now();
};

// Writes the opener into it: the request's session, the users, the connection.
void note_opener(Cursor& cursor, OperationContext& opener);

// The most cursors that may be open at a time.
struct CursorLimits {
    int64_t all = 10'240;
    int64_t of_opener = 2'048;
};

class CursorManager {
  public:
    void set_limits(const CursorLimits& limits);
    // Makes the cursor known and idle; returns its new id (positive, hard to guess). If there may
    // be no more, the longest idle one of those that were left behind ends. Throws base::Error 96
    // where none was left behind, or where its opener may have no more.
    int64_t add(std::unique_ptr<Cursor> cursor);
    // The connection of that number has ended: its cursors, which others may go on with, are left
    // behind.
    void opener_left(int64_t opener);
    // Takes an idle cursor out for work; null if it is unknown. Throws base::Error 12051 if another
    // request works with it.
    std::unique_ptr<Cursor> pin(int64_t id);
    // Gives it back, idle. Drops it if it was killed while in use.
    void unpin(std::unique_ptr<Cursor> cursor);
    // Further batches are to show only what a majority of the set has.
    void note_majority(int64_t id);
    // Ends a pinned cursor.
    void finish(std::unique_ptr<Cursor> cursor);
    // Returns whether there was such a cursor.
    bool kill(int64_t id);
    // Kills all cursors over a collection, or over all of a database ("db." prefix).
    void kill_collection(std::string_view ns);
    void kill_database(std::string_view db);
    // Kills the cursors of the sessions that `doomed` says.
    void kill_sessions(const std::function<bool(const SessionId&)>& doomed);
    // Kills the cursors of a transaction.
    void kill_transaction(const SessionId& session, int64_t number);
    // Returns the sessions that have cursors.
    std::set<SessionId> sessions() const;
    // Kills idle cursors that were unused for `idle` and that no request waits for; returns how
    // many.
    size_t expire(std::chrono::milliseconds idle);

    // The resources that cursors hold, about: bytes in memory and in temporary files (spill/run.h),
    // and the descriptors of these.
    struct Held {
        int64_t memory = 0;
        int64_t disk = 0;
        int64_t descriptors = 0;
    };
    // A request that leaves the cursor open has made it hold so much more, or less. Together idle
    // cursors may hold half of the bytes that all operations may, of each kind, and a quarter of
    // the descriptors; beyond that those that hold most end, as if they had been idle for too long.
    void note_held(int64_t id, const Held& more);

    // Whose a cursor is, and what it was asked of.
    struct Owned {
        std::string ns;
        bool reads_collection = false;
        bool follows_changes = false;
        std::vector<std::string> foreign_ns;
        std::vector<std::string> owners;
    };
    std::optional<Owned> owned(int64_t id) const;

    struct Counts {
        int64_t open = 0;
        int64_t pinned = 0;
        int64_t no_timeout = 0;
        int64_t timed_out = 0;
        int64_t opened = 0;    // since the start, as the next ones
        int64_t asked_on = 0;  // whose second batch was asked for
        // Counts of ended cursors, by the first of kLifespans that is longer than theirs.
        std::array<int64_t, 7> ended{};
    };
    Counts counts() const;
    static constexpr std::chrono::seconds kLifespans[] = {
        std::chrono::seconds(1),  std::chrono::seconds(5),  std::chrono::seconds(15),
        std::chrono::seconds(30), std::chrono::seconds(60), std::chrono::seconds(600)};

  private:
    struct Slot {
        std::unique_ptr<Cursor> cursor;  // null while pinned
        std::string ns;                  // of the collection that is read, if one is
        std::string asked_ns;            // of that, or of the view that it is read through
        std::optional<SessionId> session;
        std::optional<int64_t> transaction;
        bool reads_collection = false;
        bool follows_changes = false;
        std::vector<std::string> foreign_ns;
        std::vector<std::string> owners;
        int64_t opener = 0;
        Held held;
        Cursor::Clock::time_point opened;
        bool asked_on = false;
        bool no_timeout = false;
        bool left_behind = false;
        bool killed = false;
    };
    using Slots = std::unordered_map<int64_t, Slot>;
    bool is_full() const;
    void check_limits(int64_t opener) const;
    std::unique_ptr<Cursor> take_left_behind();
    Slots::iterator erase(Slots::iterator at);
    void take_largest(int64_t Held::*kind, int64_t limit, std::string_view what,
                      std::vector<std::unique_ptr<Cursor>>& taken);
    void kill_if(const std::function<bool(const Slot&)>& doomed);

    mutable std::mutex mutex_;
    CursorLimits limits_;                             // guarded by mutex_
    Slots slots_;                                     // guarded by mutex_
    std::unordered_map<int64_t, int64_t> by_opener_;  // how many; guarded by mutex_
    Held held_;                                       // by all; guarded by mutex_
    Counts ever_;                                     // since the start; guarded by mutex_
};

}  // namespace command

// storage/kv/store.h - one map and what the threads of a server do with it: transactions, commits,
// the numbers of tables.
//
// A thread has a transaction from its first access under a database lock until it gives the lock
// up. The transaction commits before the lock goes: the next holder sees its changes. Until then
// they are this thread's alone (overlay.h), and a change that fails is rolled back to where it
// began, by a mark there.
//
// If others change documents too (storage::LockManager::is_concurrent), a transaction reads a
// snapshot, so that an entry of an index leads to a record, and to the one that it was made of.
// Before it changes a row it locks the row (row_locks.h), and from then on reads rows as they are
// now; the rows that its change rests on stay as they are until it commits. Its next read takes
// another snapshot.
//
// A transaction over several requests (storage/transaction.h) is the same, but that its changes and
// its locks stay when the thread gives up its own, and that it keeps its snapshot: it reads there
// and never as rows are now. So before it changes a row it looks whether the row is now as it was
// then, by its value; if not there is a conflict. What it has locked stays as it is, so its commit
// need not look again.
//
// Commits that have steps (storage/durability.h) are made one after the other, so that a log of
// changes has the order of commits and no gap that is filled later. Only such a commit changes the
// rows of the log's ring, beside threads that have the database alone.
//
//   table 0   the catalogue: a row for each database (database.h) and each collection
//             (collection.h)
//   table 1   counters: number of a table of records and number of the session -> rows and bytes
//             that the session has added to the table. Their sum is exact after any crash, since
//             they are committed with the rows that they count, and sessions do not wait for each
//             other. A version before this one has counted the rows of indexes, too
//   table 2   tables to be dropped
//   table 16  and on: records and indexes
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "journal/commit_schedule.h"
#include "storage/durability.h"
#include "storage/kv/large_row.h"
#include "storage/kv/map.h"
#include "storage/kv/overlay.h"
#include "storage/kv/row_locks.h"
#include "storage/lock.h"
#include "storage/transaction.h"
#include "storage/write_conflict.h"

namespace kv {

constexpr Table kCatalogue{0}, kCounters{1}, kDropped{2};
constexpr uint32_t kFirstTable = 16;

struct Counts {
    int64_t rows = 0;
    int64_t bytes = 0;
    Counts& operator+=(const Counts& other) {
        rows += other.rows;
        bytes += other.bytes;
        return *this;
    }
};

// Counts the rows of a table and their bytes, as they are committed.
struct Counter {
    explicit Counter(Table counted) : table(counted) {}

    Table table;
    std::atomic<int64_t> rows{0};
    std::atomic<int64_t> bytes{0};
};

// Called before each row lock, for tests. The store throws the conflict that it returns.
using InjectedConflict = std::function<std::optional<storage::WriteConflict>()>;

// How much a map is expected to hold at the start.
enum class Expected {
    nothing,     // perhaps: it is new
    everything,  // what is missing is damage
    parts,       // what is missing is made anew, without rows; but for the catalogue
};

class Store final : public storage::LockHooks {
  public:
    // Finishes drops that a restart has interrupted. Throws base::Error if one of its own tables is
    // missing.
    Store(std::unique_ptr<Map> map, storage::LockManager& locks, Expected found = Expected::nothing,
          InjectedConflict injected_conflict = nullptr);
    ~Store() override;

    Map& map() const { return *map_; }
    // Returns the rows as the calling thread sees them, to read. REQUIRES: a lock, but for the time
    // before the server takes requests and after it.
    Overlay& session();
    // Notes the size of a row that the calling thread's session has found and keeps.
    void note_found(size_t bytes) { t_held.transaction->found.hold(bytes); }
    // The same, to change rows.
    Overlay& changing();
    // Locks the row: no other thread locks or changes it before this one commits. Throws
    // storage::WriteConflict if another has it, and in a transaction over several requests if the
    // first row that begins with the key is not what it was. If the thread has the database alone:
    // wounds who has it.
    void lock_row(Table table, Bytes key);
    // The part of lock_row() for threads that have the database alone: called before each change of
    // a row that others lock.
    void take_over(Table table, Bytes key) {
        if (longs_.load(std::memory_order_acquire) != 0 && !storage::LockManager::is_concurrent())
            row_locks_.wound(table, key);
    }
    bool has_row_locks() const;
    // Whether the row may be changed; for DCHECKs.
    bool may_change(Table table, Bytes key);
    // storage::Durability's, for the calling thread's transaction.
    void begin_undo();
    void undo();
    void end_undo();
    bool keeps_undo() const { return t_held.store == this && t_held.transaction->undos > 0; }
    void on_undo(std::function<void()> call);
    void add_step(std::unique_ptr<storage::CommitStep> step, size_t bytes);
    // Commits the calling thread's transaction; others see its changes from now on.
    void commit();
    size_t changed_bytes();
    // Checks for room before changes that take about so many bytes. Throws base::Error 14031 if the
    // disk has none, but not between two changes that are committed together.
    void check_space(size_t bytes = 0);

    // The same before a unit whose later steps must find room.
    void ask_for_space(size_t bytes);
    // Before a large change: throws base::Error 96 if no commit can carry it, with what the calling
    // thread has changed since its last one.
    void check_commit(size_t bytes);

    // Makes a table with a number that no other has. Throws base::Error if there can be no more.
    Table new_table(Kind kind);
    // Notes, while the catalogue is read, that it names the table as `what`. Throws base::Error if
    // the table is missing.
    void note_named(Table table, Kind kind, std::string_view what);
    // Ends the start, after the catalogue was read: drops the tables that a kill has left and the
    // catalogue does not name.
    void end_start();
    // Drops the table once the changes of the calling thread are committed.
    void drop(Table table);

    // Makes `schedule` hear of each commit from now on; null: no schedule does. REQUIRES: no thread
    // commits.
    void set_schedule(journal::CommitSchedule* schedule) { schedule_ = schedule; }
    // storage::Engine's.
    void refuse_long(bool refuses) { refuses_long_.store(refuses, std::memory_order_relaxed); }
    bool refuses_long() const { return refuses_long_.load(std::memory_order_relaxed); }
    // How often something was committed, and how often one thread was in another's way.
    uint64_t commits() const { return commits_.load(std::memory_order_acquire); }
    uint64_t conflicts() const { return conflicts_.load(std::memory_order_relaxed); }

    // Adds to a counter when this thread commits.
    void count(Counter& counter, int64_t rows, int64_t bytes);
    // Returns the committed counts with those that this thread has added since its last commit.
    Counts total(const Counter& counter) const;
    // Returns the counts that follow from the rows that this thread sees.
    Counts seen(const Counter& counter);
    void read(Counter& counter);
    // Drops the counter of the table with its rows in table 1.
    void forget(Table table);
    // Returns about how many bytes the table's rows take on the device.
    int64_t disk_bytes(const Counter& counter) const {
        const int64_t known = map_->disk_bytes(counter.table).value_or(0);
        return known > 0 ? known : total(counter).bytes;
    }

    void before_write_lock() override {}
    void before_write_unlock() override {}
    void before_unlock() override;
    bool await_conflict(bool may_defer) override;

    std::unique_ptr<storage::Transaction> begin_long();
    // Wounds the transactions over several requests that have locks. REQUIRES: W.
    void wound_all() { row_locks_.wound_all(); }
    // Whether the calling thread has entered one.
    static bool is_long() { return t_held.is_long; }

  private:
    class Long;
    struct Added {
        Counter* counter;
        Counts counts;
    };
    // The state of a transaction when an undo of it began.
    struct Before {
        std::vector<Added> added = {};
        size_t calls = 0;
        size_t steps = 0;
        size_t step_bytes = 0;
    };
    // The state that a thread has under its locks.
    struct Transaction {
        Overlay session;
        uint32_t number;            // of the session
        bool has_snapshot = false;  // reads of one moment
        bool is_changing = false;
        RowLocks::Held row_locks = {};
        std::vector<Added> added = {};
        size_t undos = 0;                               // of begin_undo()
        std::vector<Before> before = {};                // each of them, and more for later
        std::vector<std::function<void()>> calls = {};  // of on_undo()
        std::vector<std::unique_ptr<storage::CommitStep>> steps = {};
        size_t step_bytes = 0;                  // that they will write
        std::map<Table, Counts> counters = {};  // rows of the session, some of them
        std::vector<Table> dropped = {};
        bool has_space = false;    // until the commit
        uint64_t begun_bytes = 0;  // until the commit: for which space was asked
        LargeRow found = {};       // by the session, last
        // A transaction over several requests has the rows as they are now here while a thread has
        // entered it, and the number behind the tables that there were at its snapshot.
        std::unique_ptr<Transaction> now = {};
        uint32_t tables_end = 0;
    };
    struct Held {
        const Store* store;  // null: no store's
        std::unique_ptr<Transaction> transaction;
        bool is_long;  // one over several requests
    };
    static inline thread_local Held t_held{};

    void start();
    void expect(Table table, Kind kind, std::string_view what);
    void note_used(Table table);
    Transaction& transaction();
    std::unique_ptr<Transaction> take_idle();
    void give_back(std::unique_ptr<Transaction> transaction);
    void begin_snapshot(Transaction& transaction);
    static void end_snapshot(Transaction& transaction);
    Transaction& now(Transaction& of_long);
    bool is_as_it_was(Transaction& of_long, Table table, Bytes key);
    void discard(std::unique_ptr<Transaction> of_long);
    void commit(Transaction& transaction);
    void commit_with_steps(Transaction& transaction);
    void commit_rows(Transaction& transaction);
    void commit(Overlay& session);
    static void write_counters(Transaction& transaction);

    const std::unique_ptr<Map> map_;
    Expected found_;         // everything after end_start()
    std::set<Table> named_;  // until end_start()
    const InjectedConflict injected_conflict_;
    RowLocks row_locks_;
    std::mutex order_;  // held by a commit that has steps
    std::atomic<uint32_t> next_table_{kFirstTable};
    std::atomic<uint64_t> begun_bytes_{0};  // of all threads
    std::atomic<uint64_t> commits_{0};
    std::atomic<uint64_t> conflicts_{0};
    std::atomic<bool> refuses_long_{false};
    std::atomic<int> longs_{0};  // transactions over several requests that have begun
    journal::CommitSchedule* schedule_ = nullptr;
    std::mutex mutex_;
    uint32_t sessions_ = 0;                           // guarded by mutex_
    std::vector<std::unique_ptr<Transaction>> idle_;  // guarded by mutex_; the last one is warm
};

}  // namespace kv

// storage/ordered/home.h - one map and what the threads of a server do with it: sessions, commits,
// the numbers of tables.
//
// A thread has a session from its first access under a lock until it gives that up. Then its
// changes are committed, before the lock goes: the next holder sees them. Nothing is rolled
// back: what fails above undoes itself by further changes.
//
// Beside others (storage::LockManager::is_beside_others) a thread reads the rows of one moment, so
// that an entry of an index leads to a record, and to the one that it was made of. Before it
// changes a row it claims it (claims.h), and then reads rows as they are now; those that its change
// rests on stay as they are until it commits. Then it reads those of another moment.
//
//   table 0   the catalogue: a row for each database (database.h) and each collection
//             (collection.h)
//   table 1   counters: table number and number of the session -> rows and bytes that the session
//             has added to the table. Their sum is exact after any crash, since they are committed
//             with the rows that they count, and sessions do not wait for each other
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
#include "storage/lock.h"
#include "storage/ordered/claims.h"
#include "storage/ordered/map.h"
#include "storage/write_conflict.h"

namespace ordered {

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

// Rows of a table and their bytes, as they are committed.
struct Counter {
    explicit Counter(Table counted) : table(counted) {}

    Table table;
    std::atomic<int64_t> rows{0};
    std::atomic<int64_t> bytes{0};
};

// For tests: asked before each claim beside others. What it gives is thrown.
using ConflictOnPurpose = std::function<std::optional<storage::WriteConflict>()>;

// What a map is expected to hold at the start.
enum class Found {
    nothing,     // perhaps: it is new
    everything,  // what is missing is damage
    remains,     // what is missing is made anew, without rows; but for the catalogue
};

class Home final : public storage::LockHooks {
  public:
    // Finishes drops that a restart has interrupted. Throws base::Error where one of its own tables
    // is missing.
    Home(std::unique_ptr<Map> map, storage::LockManager& locks, Found found = Found::nothing,
         ConflictOnPurpose conflict_on_purpose = nullptr);
    ~Home() override;

    Map& map() const { return *map_; }
    // The calling thread's, to read. REQUIRES: a lock, but for the time before the server takes
    // requests and after it.
    Session& session();
    // The same, to change rows.
    Session& changing();
    // No other thread claims or changes the row before this one commits. Throws
    // storage::WriteConflict where another has it.
    void claim(Table table, Bytes key);
    bool has_claims() const;
    // Whether the row may be changed; for DCHECKs.
    bool may_change(Table table, Bytes key);
    // Of the calling thread; what it has changed becomes visible to others.
    void commit();
    size_t changed_bytes();
    // Asked before changes that take space, about so many bytes. Throws base::Error 14031 where the
    // disk has none, but not between two changes that are committed together.
    void check_space(size_t bytes = 0);

    // Makes a table with a number that no other has. Throws base::Error where there can be no more.
    Table new_table(Kind kind);
    // While the catalogue is read, which says that the table is `what`. Throws base::Error where it
    // is missing.
    void note_named(Table table, Kind kind, std::string_view what);
    // The catalogue has been read. What a kill has left of tables that it does not name goes.
    void end_start();
    // Once the changes of the calling thread are committed.
    void drop(Table table);

    // It hears of each commit from now on; null: no schedule does. REQUIRES: no thread commits.
    void tell_of_commits(journal::CommitSchedule* schedule) { schedule_ = schedule; }
    // How often something was committed, and how often one thread was in another's way.
    uint64_t commits() const { return commits_.load(std::memory_order_acquire); }
    uint64_t conflicts() const { return conflicts_.load(std::memory_order_relaxed); }

    // Adds to a counter with the commit.
    void count(Counter& counter, int64_t rows, int64_t bytes);
    // With what this thread has added since its last commit.
    Counts total(const Counter& counter) const;
    // The same as it follows from the rows that this thread sees.
    Counts seen(const Counter& counter);
    void read(Counter& counter);
    // It goes, and its rows.
    void forget(Counter& counter);
    // What its rows take on the device, about.
    int64_t disk_bytes(const Counter& counter) const {
        const int64_t known = map_->disk_bytes(counter.table).value_or(0);
        return known > 0 ? known : total(counter).bytes;
    }

    void before_write_lock() override {}
    void before_write_unlock() override {}
    void before_unlock() override;
    void await_conflict() override;

  private:
    struct Added {
        Counter* counter;
        Counts counts;
    };
    // What a thread has under its locks.
    struct Work {
        std::unique_ptr<Session> session;
        uint32_t number;         // of the session
        bool is_frozen = false;  // reads of one moment
        bool is_changing = false;
        Claims::Held claims = {};
        std::vector<Added> added = {};
        std::map<Table, Counts> counters = {};  // rows of the session, some of them
        std::vector<Table> dropped = {};
        bool has_space = false;    // until the commit
        uint64_t begun_bytes = 0;  // until the commit: for which space was asked
    };
    struct Held {
        const Home* home = nullptr;
        std::unique_ptr<Work> work;
    };
    static thread_local Held t_held;

    void start();
    void expect(Table table, Kind kind, std::string_view what);
    void note_used(Table table);
    Work& work();
    static void thaw(Work& work);
    void commit(Work& work);
    void commit(Session& session);
    static void write_counters(Work& work);

    const std::unique_ptr<Map> map_;
    Found found_;            // everything after end_start()
    std::set<Table> named_;  // until end_start()
    const ConflictOnPurpose conflict_on_purpose_;
    Claims claims_;
    std::atomic<uint32_t> next_table_{kFirstTable};
    std::atomic<uint64_t> begun_bytes_{0};  // of all threads
    std::atomic<uint64_t> commits_{0};
    std::atomic<uint64_t> conflicts_{0};
    journal::CommitSchedule* schedule_ = nullptr;
    std::mutex mutex_;
    uint32_t sessions_ = 0;                    // guarded by mutex_
    std::vector<std::unique_ptr<Work>> idle_;  // guarded by mutex_; the last one is warm
};

}  // namespace ordered

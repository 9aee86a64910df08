// storage/ordered/home.h - one map and what the threads of a server do with it: sessions, commits,
// the numbers of tables.
//
// A thread has a session from its first access under a lock until it gives that up. Then its
// changes are committed, before the lock goes: the next holder sees them. Nothing is rolled
// back: what fails above undoes itself by further changes.
//
//   table 0   the catalogue: a row for each database (database.h) and each collection
//             (collection.h)
//   table 1   counters: table number -> rows and bytes of it, exact after any crash, since they are
//             committed with the rows that they count
//   table 2   tables to be dropped
//   table 16  and on: records and indexes
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/lock.h"
#include "storage/ordered/map.h"

namespace ordered {

constexpr Table kCatalogue{0}, kCounters{1}, kDropped{2};
constexpr uint32_t kFirstTable = 16;

// Rows of a table and their bytes. Changed by the holder of the database's lock.
struct Counter {
    explicit Counter(Table counted) : table(counted) {}

    Table table;
    std::atomic<int64_t> rows{0};
    std::atomic<int64_t> bytes{0};
    bool is_touched = false;  // since the last commit
};

class Home final : public storage::LockHooks {
  public:
    // Finishes drops that a restart has interrupted.
    Home(std::unique_ptr<Map> map, storage::LockManager& locks);
    ~Home() override;

    Map& map() const { return *map_; }
    // The calling thread's. REQUIRES: a lock, but for the time before the server takes requests and
    // after it.
    Session& session();
    // Of the calling thread; what it has changed becomes visible to others.
    void commit();
    size_t changed_bytes();
    // Asked before changes that take space. Throws base::Error 14031 where the disk has none, but
    // not between two changes that are committed together.
    void check_space();

    // Makes a table with a number that no other has. Throws base::Error where there can be no more.
    Table new_table(Kind kind);
    // While the catalogue is read.
    void note_used(Table table);
    // Once the changes of the calling thread are committed.
    void drop(Table table);

    // How often something was committed.
    uint64_t commits() const { return commits_.load(std::memory_order_acquire); }

    // Adds to a counter; its row follows with the commit.
    void count(Counter& counter, int64_t rows, int64_t bytes);
    void read(Counter& counter);
    // It goes, and its row.
    void forget(Counter& counter);
    // What its rows take on the device, about.
    int64_t disk_bytes(const Counter& counter) const {
        const int64_t known = map_->disk_bytes(counter.table).value_or(0);
        return known > 0 ? known : counter.bytes.load();
    }

    void before_write_lock() override {}
    void before_write_unlock() override {}
    void before_unlock() override;

  private:
    // What a thread has under its locks.
    struct Work {
        std::unique_ptr<Session> session;
        std::vector<Counter*> touched = {};
        std::vector<Table> dropped = {};
        bool has_space = false;  // until the commit
    };
    struct Held {
        const Home* home = nullptr;
        std::unique_ptr<Work> work;
    };
    static thread_local Held t_held;

    void start();
    Work& work();
    void commit(Session& session);

    const std::unique_ptr<Map> map_;
    std::atomic<uint32_t> next_table_{kFirstTable};
    std::atomic<uint64_t> commits_{0};
    std::mutex mutex_;
    std::vector<std::unique_ptr<Work>> idle_;  // guarded by mutex_; the last one is warm
};

}  // namespace ordered

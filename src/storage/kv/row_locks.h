// storage/kv/row_locks.h - locks of rows for threads that change documents concurrently. A thread
// holds the lock of a row from before it reads what its change rests on until its commit, so no
// two sessions ever change one row, and a map need not look for conflicts.
//
// A thread that is going to add a key to a unique index locks the key, too.
//
// The locks of a transaction over several requests (storage/transaction.h) stay while no thread
// works for it: they are parked then. A thread that cannot wait for one wounds the
// holder, which loses all of them and gets no more.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "storage/kv/map.h"

namespace kv {

// Calls come from any thread.
class RowLocks {
  public:
    class Held;

  private:
    using Rows = std::map<std::string, Held*>;  // row -> who has it

  public:
    // The locks of one thread or transaction, and the one that it was refused. Releases nothing by
    // itself.
    class Held {
      public:
        bool empty() const { return rows_.empty(); }
        bool is_wounded() const { return is_wounded_.load(std::memory_order_acquire); }

      private:
        friend class RowLocks;
        std::vector<Rows::iterator> rows_;
        std::string refused_;
        bool is_parked_ = false;               // guarded by mutex_
        std::atomic<bool> is_wounded_{false};  // set with mutex_ held
    };

    enum class Taken { refused, before, now };
    // Refused: another has the row, or the holder is wounded.
    Taken take(Held& held, Table table, Bytes key);
    // Whether it has the row, or had it before it was wounded.
    bool has(const Held& held, Table table, Bytes key);
    // Releases all of them. REQUIRES: no other thread can wound it now.
    void release(Held& held);
    // The same for any holder, which is as new then.
    void end(Held& held);
    // Returns once the row that was refused last is free; throws what ends an operation. If the
    // locks of its holder are parked: returns false if `may_defer`, else wounds the holder.
    // REQUIRES: held.empty(), so that no two threads wait for each other.
    bool await_refused(Held& held, bool may_defer);

    void set_parked(Held& held, bool is_parked);
    // Wounds who has the row, if anyone has.
    void wound(Table table, Bytes key);
    void wound_all();

  private:
    // REQUIRES: mutex_ is held.
    void wound_locked(Held& held);

    std::mutex mutex_;
    std::condition_variable released_;
    Rows rows_;        // guarded by mutex_
    int waiting_ = 0;  // guarded by mutex_
};

}  // namespace kv

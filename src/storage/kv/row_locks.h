// storage/kv/row_locks.h - locks of rows for threads that change documents concurrently. A thread
// holds the lock of a row from before it reads what its change rests on until its commit, so no
// two sessions ever change one row, and a map need not look for conflicts.
//
// A thread that is going to add a key to a unique index locks the key, too.
#pragma once

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
    using Rows = std::map<std::string, const Held*>;  // row -> who has it

  public:
    // The locks of one thread, and the one that it was refused. Releases nothing by itself.
    class Held {
      public:
        bool empty() const { return rows_.empty(); }

      private:
        friend class RowLocks;
        std::vector<Rows::iterator> rows_;
        std::string refused_;
    };

    // False: another has the row.
    bool take(Held& held, Table table, Bytes key);
    bool has(const Held& held, Table table, Bytes key);
    // Releases all of them.
    void release(Held& held);
    // Returns once the row that was refused last is free; throws what ends an operation.
    // REQUIRES: held.empty(), so that no two threads wait for each other.
    void await_refused(Held& held);

  private:
    std::mutex mutex_;
    std::condition_variable released_;
    Rows rows_;        // guarded by mutex_
    int waiting_ = 0;  // guarded by mutex_
};

}  // namespace kv

// storage/ordered/claims.h - rows that threads change side by side. A row belongs to one of them
// from before it reads what its change rests on until its commit, so no two sessions ever change
// one row, and a map need not look for conflicts.
//
// A key that a unique index has not got yet is claimed too, by who is going to add it.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "storage/ordered/map.h"

namespace ordered {

// Calls come from any thread.
class Claims {
  public:
    class Held;

  private:
    using Rows = std::map<std::string, const Held*>;  // row -> who has it

  public:
    // What one thread has claimed, and what it could not. Gives nothing back by itself.
    class Held {
      public:
        bool empty() const { return rows_.empty(); }

      private:
        friend class Claims;
        std::vector<Rows::iterator> rows_;
        std::string refused_;
    };

    // False: another has the row.
    bool take(Held& held, Table table, Bytes key);
    bool has(const Held& held, Table table, Bytes key);
    // All of it.
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

}  // namespace ordered

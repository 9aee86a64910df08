// sched/lock_view.h - the locks of one operation as others see them: what it holds, whether it
// waits, and for how long it did either.
//
// Written by the operation's own thread only (that is what makes load-then-store enough), read by
// any.
#pragma once

#include <atomic>
#include <cstdint>

namespace sched {

// Microseconds that an operation has held and waited for locks, for reading and for writing.
struct LockTimes {
    int64_t locked_read = 0, locked_write = 0, acquiring_read = 0, acquiring_write = 0;
    LockTimes operator-(const LockTimes& earlier) const {
        return {locked_read - earlier.locked_read, locked_write - earlier.locked_write,
                acquiring_read - earlier.acquiring_read, acquiring_write - earlier.acquiring_write};
    }
};

class LockView {
  public:
    void reset();
    // The global mode and the database's ("r", "w", "R", "W"; 0: not held).
    void show(char global, char database);
    void set_waiting(bool on) { waiting_.store(on, std::memory_order_relaxed); }
    void add_acquiring(bool write, int64_t us);
    // Notes that the lock is held from `since_us` (steady clock) until released.
    void hold(bool write, int64_t since_us);
    void release(int64_t now_us);

    char global() const { return global_.load(std::memory_order_relaxed); }
    char database() const { return database_.load(std::memory_order_relaxed); }
    bool waiting() const { return waiting_.load(std::memory_order_relaxed); }
    // Returns the times of the locks; a lock that is held right now counts up to this moment.
    LockTimes times() const;

  private:
    std::atomic<char> global_{0}, database_{0};
    std::atomic<bool> waiting_{false}, writing_{false};
    std::atomic<int64_t> since_us_{0};  // 0: holds nothing
    std::atomic<int64_t> locked_read_{0}, locked_write_{0}, acquiring_read_{0}, acquiring_write_{0};
};

}  // namespace sched

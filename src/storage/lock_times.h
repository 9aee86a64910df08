// storage/lock_times.h - how long locks are held and waited for: added up for serverStatus, and
// shown in the operation of the thread (sched/operation.h). For lock.cpp.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "sched/operation.h"

namespace storage {

inline int64_t now_us() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// The times of one lock, added up by many threads.
struct AddedTimes {
    std::atomic<int64_t> locked_read{0}, locked_write{0}, acquiring_read{0}, acquiring_write{0};
    void add_locked(bool write, int64_t us) {
        (write ? locked_write : locked_read).fetch_add(us, std::memory_order_relaxed);
    }
    void add_acquiring(bool write, int64_t us) {
        (write ? acquiring_write : acquiring_read).fetch_add(us, std::memory_order_relaxed);
    }
};

// Returns where the calling thread's operation shows its locks; null: it has none.
inline sched::LockView* shown_locks() {
    sched::Operation* operation = sched::Operation::current();
    return operation == nullptr ? nullptr : &operation->locks();
}

// Shows the thread's operation as waiting for a lock, and adds up how long.
class ShownWait {
  public:
    explicit ShownWait(bool write) : write_(write), view_(shown_locks()) {
        if (view_ != nullptr) view_->set_waiting(true);
    }
    ~ShownWait() {
        if (view_ == nullptr) return;
        view_->set_waiting(false);
        view_->add_acquiring(write_, elapsed());
    }
    ShownWait(const ShownWait&) = delete;
    ShownWait& operator=(const ShownWait&) = delete;
    int64_t elapsed() const { return now_us() - start_; }

  private:
    const bool write_;
    const int64_t start_ = now_us();
    sched::LockView* const view_;
};

// Is one of the waiting threads while it lives.
class CountedWait {
  public:
    explicit CountedWait(std::atomic<int>& waiting) : waiting_(waiting) { ++waiting_; }
    ~CountedWait() { --waiting_; }
    CountedWait(const CountedWait&) = delete;
    CountedWait& operator=(const CountedWait&) = delete;

  private:
    std::atomic<int>& waiting_;
};

}  // namespace storage

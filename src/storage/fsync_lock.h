// storage/fsync_lock.h - fsync with lock: true: no write until a client unlocks (journal spec 5.4).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "sched/operation.h"
#include "storage/engine.h"

namespace storage {

// A thread of its own holds the global lock while the server is locked: locks belong to threads,
// and no connection has one of its own. Any thread may call anything.
//
//   open -> locking -> locked -> unlocking -> open     and from locking back to open, if it fails
//
// It leaves open only by lock(), and locked only by end() or by as many unlock() as there were
// lock(). After end() it stays open.
class FsyncLock {
  public:
    explicit FsyncLock(Engine& engine) : engine_(engine) {}
    ~FsyncLock() { end(); }
    FsyncLock(const FsyncLock&) = delete;
    FsyncLock& operator=(const FsyncLock&) = delete;

    bool locked() const;
    // Whether it is not open.
    bool busy() const;
    // Flushes everything and locks all writers out; returns when they are: how many unlock() give
    // them way again. Throws base::Error 11600 after end(), 96 if the flush fails; and what ends
    // the calling thread's operation, which then locks nothing.
    int64_t lock();
    // How many are still needed; behind the last one all locks have been given back. None if it was
    // not locked.
    std::optional<int64_t> unlock();
    // The server is shutting down: unlocks, waiting for a lock() that is under way, and refuses
    // further locks.
    void end();

  private:
    enum class State { open, locking, locked, unlocking };

    void hold();
    void start_unlocking(std::unique_lock<std::mutex>& guard);
    int64_t unlock_once(std::unique_lock<std::mutex>& guard);

    Engine& engine_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    // Guarded by mutex_:
    State state_ = State::open;
    int64_t count_ = 0;  // of unlock() that are needed; while locked
    bool ended_ = false;
    uint64_t attempt_ = 0;   // number of the lock() that state_ and failure_ are about
    std::string failure_;    // empty: none
    std::thread thread_;     // of the last attempt; joined before the next, and at the end
    sched::Operation wait_;  // the thread's, while it waits for its locks
};

}  // namespace storage

// command/fsync_lock.h - fsync with lock: true: no write until somebody unlocks (journal spec 5.4).
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "storage/engine.h"

namespace command {

// A thread of its own holds the global lock while the server is locked: locks belong to threads,
// and no connection has one of its own.
class FsyncLock {
  public:
    explicit FsyncLock(storage::Engine& engine) : engine_(engine) {}
    ~FsyncLock() { unlock(); }
    FsyncLock(const FsyncLock&) = delete;
    FsyncLock& operator=(const FsyncLock&) = delete;

    bool locked() const { return locked_.load(); }
    // Flushes everything and locks all writers out; returns when they are. Throws base::Error 20 if
    // locked already.
    void lock();
    // Returns false if it was not locked.
    bool unlock();

  private:
    struct Holder {
        std::mutex mutex;
        std::condition_variable changed;
        bool locked = false;
        bool release = false;
        std::string failure;
        std::thread thread;
    };
    void hold(Holder& holder);

    storage::Engine& engine_;
    std::atomic<bool> locked_{false};
    std::unique_ptr<Holder> holder_;
};

}  // namespace command

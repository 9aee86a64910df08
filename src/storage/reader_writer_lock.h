// storage/reader_writer_lock.h - the lock of one database: shared or exclusive, writer-greedy (a
// reader does not overtake a waiting writer). It knows nothing of threads: the caller says how it
// holds it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "storage/waiting.h"

namespace storage {

class ReaderWriterLock {
  public:
    // Tries for a moment; false: not taken.
    bool try_lock(bool exclusive);
    // Waits as long as it takes, or until `interrupt_check` throws: then nothing is held.
    void lock(bool exclusive, InterruptCheck interrupt_check = nullptr);
    // Whether try_lock() would succeed now.
    bool available(bool exclusive) const;
    void unlock(bool exclusive);

    // Whether a thread waits for what a holder of that kind has.
    bool contended(bool exclusive) const {
        return waiting_writers_ > 0 || (exclusive && waiting_readers_ > 0);
    }
    int waiting_readers() const { return waiting_readers_; }
    int waiting_writers() const { return waiting_writers_; }

  private:
    bool free_for(bool exclusive) const;
    void take(bool exclusive);

    std::atomic<int> waiting_readers_{0}, waiting_writers_{0};  // changed under mutex_

    mutable std::mutex mutex_;
    std::condition_variable readable_, writable_;
    // Guarded by mutex_:
    int readers_ = 0;
    bool writer_ = false;
};

}  // namespace storage

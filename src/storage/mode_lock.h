// storage/mode_lock.h - the global lock: five modes, and the ways from one to another.
//
// Modes (journal spec 1.4): r and w announce reading or writing somewhere below (a database lock
// follows), R reads everything and stops all writers, W is exclusive, X is exclusive reached from w
// while every other w holder waits in the same upgrade. Compatible (row asks, column held): r with
// r,w,R; w with r,w; R with r,R; W with none. A waiting W (and R against new w) is not overtaken.
//
// It knows nothing of threads: the caller says which mode it holds.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "storage/waiting.h"

namespace storage {

enum class GlobalMode : unsigned char { none, r, w, R, W, X };

constexpr bool is_write(GlobalMode mode) {
    return mode == GlobalMode::w || mode == GlobalMode::W || mode == GlobalMode::X;
}

class ModeLock {
  public:
    // r, w, R or W. Tries for a moment; false: not taken.
    bool try_lock(GlobalMode mode);
    // Waits as long as it takes, or until `interrupt_check` throws: then nothing is held.
    void lock(GlobalMode mode, InterruptCheck interrupt_check = nullptr);
    // Whether try_lock() would succeed now.
    bool available(GlobalMode mode) const;
    void unlock(GlobalMode mode);

    void W_to_R();
    // Waits until no other r or R holder is left. If two wait at a time, one starts over from
    // nothing.
    void R_to_W();
    // Returns when every other w holder waits here too. One of them gets true and holds X, which it
    // leaves by X_to_w(); the others still have w, and go on when it did.
    bool w_to_X();
    void X_to_w();

    // Around waiting for a database lock, holding r or w. Such a holder has not touched any data
    // yet and does not go on while X is held, so an upgrade need not wait for it; it could not,
    // since the upgrading thread may hold the very lock that is waited for.
    void park(GlobalMode mode);
    void unpark(GlobalMode mode);

    // Whether a thread waits for what a holder of `mode` has.
    bool contended(GlobalMode mode) const;
    // For serverStatus.
    int waiting_readers() const { return waiting_r_ + waiting_R_; }
    int waiting_writers() const { return waiting_w_ + waiting_W_; }
    int readers() const { return readers_; }
    int writers() const { return writers_; }

  private:
    bool free_for(GlobalMode mode) const;
    void take(GlobalMode mode);
    void wait_and_take(GlobalMode mode, std::unique_lock<std::mutex>& lock,
                       InterruptCheck interrupt_check);
    std::atomic<int>& waiting_for(GlobalMode mode);
    bool has_waiters() const;

    // Changed under the mutex, read anywhere:
    std::atomic<int> waiting_r_{0}, waiting_w_{0}, waiting_R_{0}, waiting_W_{0};  // by mode asked
    std::atomic<int> upgrading_{0};    // w holders that wait for X, the holder of X included
    std::atomic<bool> R_to_W_{false};  // an R holder waits for W
    std::atomic<int> readers_{0}, writers_{0};

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    // Guarded by mutex_:
    int r_ = 0, w_ = 0, R_ = 0;
    bool W_ = false, X_ = false;
    int parked_r_ = 0, parked_w_ = 0;
    uint64_t upgrades_done_ = 0;
};

}  // namespace storage

// wire/connection_table.h - which connections there are: how many may be, and the way to end them
// all.
//
// Inside wire/ only. The table keeps a connection alive until it is removed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "wire/receiving.h"

namespace wire {

// The connections of a listener. Thread-safe.
class ConnectionTable {
  public:
    // A connection, as the table keeps it.
    class Entry {
      public:
        virtual ~Entry() = default;
        // Any thread: ends after the exchange that is under way, if any.
        virtual void end_soon() = 0;
        // Any thread, after end_soon(): waits no longer for the client to take its answer.
        virtual void evict_reply() = 0;
    };

    // Replies that clients do not take share so much memory; beyond it the oldest are given up.
    static constexpr int64_t kUnsentBytesMax = int64_t{256} << 20;

    explicit ConnectionTable(int64_t max) : max_(max) {
        sending_.set_limits({.bytes = kUnsentBytesMax, .time = std::chrono::hours(24 * 365)});
    }

    // Returns a number for a connection about to be made; 0 if there are too many. Add() it, or
    // dismiss() it.
    int64_t admit();
    // Takes the number back of a connection that could not be made.
    void dismiss() { open_.fetch_sub(1); }
    void add(int64_t number, const std::shared_ptr<Entry>& connection);
    void remove(int64_t number);

    // These account for messages that arrive, and for replies that have not left yet.
    Receiving& receiving() { return receiving_; }
    Receiving& sending() { return sending_; }

    int64_t open() const { return open_.load(std::memory_order_relaxed); }
    int64_t max() const { return max_; }
    int64_t ever() const { return ever_.load(std::memory_order_relaxed); }

    // Ends every connection as soon as its exchange is over, also those that come later; clients
    // have kTakingTime for taking an answer. Returns true when all have gone, false after `limit`.
    static constexpr std::chrono::seconds kTakingTime{2};
    bool end_all(std::chrono::milliseconds limit);
    // Forgets all connections; no thread may be running a loop.
    void clear();

  private:
    const int64_t max_;
    Receiving receiving_;
    Receiving sending_;
    std::atomic<int64_t> open_{0};
    std::atomic<int64_t> ever_{0};
    std::mutex mutex_;
    std::condition_variable gone_;                                 // with mutex_
    std::unordered_map<int64_t, std::shared_ptr<Entry>> entries_;  // guarded by mutex_
    bool ending_ = false;                                          // guarded by mutex_
};

}  // namespace wire

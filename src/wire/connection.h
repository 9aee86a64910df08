// wire/connection.h - one client: reads messages, has its session serve them one after the other,
// sends the replies.
//
// Inside wire/ only. A connection belongs to one loop for life. It is always in exactly one place:
// reading (an asynchronous read is under way), serving (some thread is in its session), sending
// (an asynchronous write is under way), suspended (nothing is under way; wake() goes on), or ended.
// A message is taken from the buffer when its exchange has ended, so what the session sees stays
// valid while it is suspended.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "wire/event_loop.h"
#include "wire/handler.h"
#include "wire/receiving.h"

namespace wire {

class Connection;
class TlsContext;

// All connections of a listener. Thread-safe.
class ConnectionTable {
  public:
    // Replies that clients do not take share so much memory; beyond it the oldest are given up.
    static constexpr int64_t kUnsentBytesMax = int64_t{256} << 20;

    explicit ConnectionTable(int64_t max) : max_(max) {
        sending_.set_limits({.bytes = kUnsentBytesMax, .time = std::chrono::hours(24 * 365)});
    }

    // A number for a connection about to be made; 0 if there are too many. Add() it, or dismiss()
    // it.
    int64_t admit();
    // The one that was admitted could not be made.
    void dismiss() { open_.fetch_sub(1); }
    void add(int64_t number, std::shared_ptr<Connection> connection);
    void remove(int64_t number);

    // What arrives, and, counted in the same way, what has not left yet.
    Receiving& receiving() { return receiving_; }
    Receiving& sending() { return sending_; }

    int64_t open() const { return open_.load(std::memory_order_relaxed); }
    int64_t max() const { return max_; }
    int64_t ever() const { return ever_.load(std::memory_order_relaxed); }

    // Ends every connection as soon as its exchange is over, also those that come later. Returns
    // true when all have gone, false after `limit`.
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
    std::condition_variable gone_;                                      // with mutex_
    std::unordered_map<int64_t, std::shared_ptr<Connection>> entries_;  // guarded by mutex_
    bool ending_ = false;                                               // guarded by mutex_
};

// Takes over a connected, non-blocking stream socket, which is closed where this throws.
// `info.number` comes from admit(), and is dismissed then. `tls`: what clients may or must encrypt
// with; null: nothing.
void start_connection(EventLoop& loop, ConnectionTable& table, Handler& handler, int fd, int family,
                      ConnectionInfo info, const TlsContext* tls);

}  // namespace wire

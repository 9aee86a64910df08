// wire/event_loop.h - one event loop: its waiters and deadlines, and the thread that runs it.
//
// Inside wire/ only. One thread at a time runs a loop. The thread may be relieved of it while it is
// inside a call of a session (LoopThreads); it then finishes its handler beside the loop. Code of a
// connection that follows such a call therefore asks LoopThreads::settle() whether it is still on
// the loop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/dcheck.h"
#include "wire/handler_memory.h"

namespace boost::asio {
class io_context;
}

namespace wire {

// Something that waits on a loop for wake(). Several wakes before on_wake() count as one.
class Wakeable : public std::enable_shared_from_this<Wakeable> {
  public:
    virtual ~Wakeable() = default;
    // Called by the loop once for one or more wakes. May come late: after what was waited for has
    // ended otherwise.
    virtual void on_wake() = 0;

  private:
    friend class EventLoop;
    using Clock = std::chrono::steady_clock;
    std::optional<Clock::time_point> deadline_;  // guarded by the loop's deadline_mutex_
    std::atomic<bool> queued_{false};
    Wakeable* next_ = nullptr;        // in the loop's list of woken ones
    std::shared_ptr<Wakeable> self_;  // alive while it is in that list
};

class EventLoop {
  public:
    using Clock = std::chrono::steady_clock;

    EventLoop();
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    boost::asio::io_context& io();
    HandlerMemory& handler_memory() { return handler_memory_; }

    // Any thread, never blocks for long: on_wake() follows on the loop. Wakeables woken while the
    // loop is busy are notified in one pass, in the order of their wakes.
    void wake(Wakeable& wakeable);
    // Any thread. Wakes it at `deadline` unless that is dropped before. One deadline each. May
    // throw std::bad_alloc, and has then done nothing.
    void set_deadline(Wakeable& wakeable, Clock::time_point deadline);
    void drop_deadline(Wakeable& wakeable);

    // Runs at most one handler; false once stopped.
    bool run_one();
    void stop();

    // The thread that runs the loop. begin_call: it enters a session; returns the number of the
    // call. end_call: it returns; false if the loop was taken away in between. call: the number
    // of the one under way, 0 if there is none. take_away: relieves the thread that is in that
    // call. seat: a new thread runs the loop.
    uint64_t begin_call() {
        DCHECK(call() == 0);
        const uint64_t number = ++calls_;
        call_.store(number, std::memory_order_seq_cst);
        return number;  // from here on calls_ may be another thread's
    }
    bool end_call(uint64_t number) {
        return call_.compare_exchange_strong(number, 0, std::memory_order_acq_rel);
    }
    uint64_t call() const { return call_.load(std::memory_order_seq_cst); }
    bool take_away(uint64_t number);
    void seat() { call_.store(0, std::memory_order_release); }

    // Notes that a request of `connection` begins. Called by the thread that runs the loop.
    void note_request(const Wakeable* connection) {
        if (connection == last_) return;
        last_ = connection;
        changed_.store(true, std::memory_order_relaxed);
        shared_.store(true, std::memory_order_relaxed);
    }
    // Whether several connections were served of late, so that others may wait while one blocks.
    bool is_shared() const { return shared_.load(std::memory_order_relaxed); }
    // Now and then, by one thread: it is shared if the connection changed since the last call.
    void review_sharing() {
        if (!changed_.exchange(false)) shared_.store(false, std::memory_order_relaxed);
    }

    struct Counters {
        std::atomic<int64_t> bytes_in{0}, bytes_out{0}, requests{0};
    };
    Counters& counters() { return counters_; }

  private:
    struct Io;
    void tell_woken();
    void arm_timer();
    void on_timer();

    static constexpr uint64_t kTaken = ~uint64_t{0};

    HandlerMemory handler_memory_;
    std::unique_ptr<Io> io_;
    std::atomic<Wakeable*> woken_{nullptr};  // last woken first
    bool closed_ = false;                    // the destructor has begun: nothing is woken
    std::atomic<uint64_t> call_{0};
    uint64_t calls_ = 0;              // begun; belongs to the thread that runs the loop
    const Wakeable* last_ = nullptr;  // whose request was begun last
    std::atomic<bool> changed_{false};
    std::atomic<bool> shared_{false};
    Counters counters_;

    std::mutex deadline_mutex_;
    std::multimap<Clock::time_point, Wakeable*> deadlines_;  // guarded by deadline_mutex_
};

}  // namespace wire

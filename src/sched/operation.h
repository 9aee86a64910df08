// sched/operation.h - one running operation: its client, how long it may take, whether it was
// killed.
//
// Created per request by the connection, listed for currentOp, reachable by the code that runs for
// it as Operation::current(). Long loops call tick() (sched/tick.h), which ends an operation that
// was killed or has used its time; what waits, or has no loop, calls Operation::check().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "sched/lock_view.h"
#include "sched/tick.h"

namespace sched {

class Operation {
  public:
    using Clock = std::chrono::steady_clock;

    Operation() = default;
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    // The operation the calling thread runs, or null (background threads).
    static Operation* current() { return detail::t_state.operation; }

    // Starts counting: a fresh id, no deadline, not killed. A connection reuses one object for all
    // its requests.
    void start();
    void finish();

    // Any thread may ask.
    bool active() const { return active_.load(std::memory_order_acquire); }
    uint32_t id() const { return id_.load(std::memory_order_relaxed); }
    Clock::time_point started() const { return started_.load(std::memory_order_relaxed); }

    // Sets maxTimeMS; 0 = no limit.
    void set_deadline_ms(int64_t max_time_ms);
    // Sets when it has used its time, as deadline() gave it before.
    void set_deadline(std::optional<Clock::time_point> at) {
        has_deadline_ = at.has_value();
        if (at) deadline_ = *at;
    }
    // Returns when it has used its time. Belongs to the running thread.
    std::optional<Clock::time_point> deadline() const {
        return has_deadline_ ? std::optional(deadline_) : std::nullopt;
    }
    // Kills the operation, from any thread. Does nothing to the connection's next operation if `id`
    // has ended.
    void kill(uint32_t id) { killed_.store(id, std::memory_order_relaxed); }
    bool kill_pending() const { return killed_.load(std::memory_order_relaxed) == id(); }

    // Throws Error 11601 when killed, 11600 at shutdown, 50 when the deadline has passed. The clock
    // is read only when there is a deadline.
    void check_interrupt() const;
    // Whether check_interrupt would throw.
    bool interrupted() const;

    LockView& locks() { return locks_; }
    const LockView& locks() const { return locks_; }

    // The task that a long operation is busy with, for currentOp. `text` must be a literal; null:
    // nothing to tell. Any thread may read.
    struct Progress {
        const char* text = nullptr;
        int64_t done = 0;
        int64_t total = 0;
    };
    void set_progress(const Progress& progress);
    Progress progress() const;
    // So many bytes more are copied: a tick for them, and they count to the progress that the
    // current operation has begun.
    static void note_copied(uint64_t bytes);

    // check_interrupt of the current operation; only the shutdown flag where there is none.
    static void check();

    // Ends every operation at its next check; called at shutdown.
    static void interrupt_all();
    static bool shutting_down();

    // Makes this the calling thread's current operation while in scope. Null: what is done belongs
    // to none: only a shutdown ends it, no limit of memory refuses it and the reserve is open to it
    // (sched/memory.h); the outer one's slice goes on.
    class Scope {
      public:
        explicit Scope(Operation* op);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

      private:
        Operation* previous_;
        int64_t outer_held_;
    };

    // How many bytes of the heap it holds, counted on the threads that run it (sched/memory.h).
    // Belongs to the running thread.
    int64_t memory_held() const { return memory_held_; }
    void set_memory_held(int64_t bytes) { memory_held_ = bytes; }

  private:
    int64_t memory_held_ = 0;
    std::atomic<bool> active_{false};
    static constexpr int64_t kNone = -1;
    std::atomic<int64_t> killed_{kNone};  // an id
    std::atomic<uint32_t> id_{0};
    std::atomic<Clock::time_point> started_{};
    Clock::time_point deadline_{};
    bool has_deadline_ = false;
    LockView locks_;
    std::atomic<const char*> phase_{nullptr};
    std::atomic<int64_t> done_{0}, total_{0};
};

}  // namespace sched

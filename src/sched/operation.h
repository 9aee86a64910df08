// sched/operation.h - one running operation: its client, how long it may take, whether it was
// killed.
//
// Created per request by the connection, listed for currentOp, reachable by the code that runs for
// it as Operation::current(). Loops call check_interrupt() at their yield points.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace sched {

// Microseconds that an operation has held and waited for locks, for reading and for writing.
struct LockTimes {
    int64_t locked_read = 0, locked_write = 0, acquiring_read = 0, acquiring_write = 0;
    LockTimes operator-(const LockTimes& earlier) const {
        return {locked_read - earlier.locked_read, locked_write - earlier.locked_write,
                acquiring_read - earlier.acquiring_read, acquiring_write - earlier.acquiring_write};
    }
};

// The locks of one operation as others see them. Written by the operation's own thread only (that
// is what makes load-then-store enough), read by any.
class LockView {
  public:
    void reset();
    // The global mode and the database's ("r", "w", "R", "W"; 0: not held).
    void show(char global, char database);
    void set_waiting(bool on) { waiting_.store(on, std::memory_order_relaxed); }
    void add_acquiring(bool write, int64_t us);
    // From `since_us` (steady clock) until released.
    void hold(bool write, int64_t since_us);
    void release(int64_t now_us);

    char global() const { return global_.load(std::memory_order_relaxed); }
    char database() const { return database_.load(std::memory_order_relaxed); }
    bool waiting() const { return waiting_.load(std::memory_order_relaxed); }
    // What is held right now counts up to this moment.
    LockTimes times() const;

  private:
    std::atomic<char> global_{0}, database_{0};
    std::atomic<bool> waiting_{false}, writing_{false};
    std::atomic<int64_t> since_us_{0};  // 0: holds nothing
    std::atomic<int64_t> locked_read_{0}, locked_write_{0}, acquiring_read_{0}, acquiring_write_{0};
};

class Operation {
  public:
    using Clock = std::chrono::steady_clock;

    Operation();
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    // The operation the calling thread runs, or null (background threads).
    static Operation* current();

    // Starts counting: a fresh id, no deadline, not killed. A connection reuses one object for all
    // its requests.
    void start();
    void finish();

    // Any thread may ask.
    bool active() const { return active_.load(std::memory_order_acquire); }
    uint32_t id() const { return id_.load(std::memory_order_relaxed); }
    Clock::time_point started() const { return started_.load(std::memory_order_relaxed); }

    // maxTimeMS; 0 = no limit.
    void set_deadline_ms(int64_t max_time_ms);
    // From any thread. Does nothing to the connection's next operation if `id` has ended.
    void kill(uint32_t id) { killed_.store(id, std::memory_order_relaxed); }
    bool kill_pending() const { return killed_.load(std::memory_order_relaxed) == id(); }

    // Throws Error 11601 when killed, 11600 at shutdown, 50 when the deadline has passed. The clock
    // is read only when there is a deadline.
    void check_interrupt() const;
    // Whether check_interrupt would throw.
    bool interrupted() const;

    LockView& locks() { return locks_; }
    const LockView& locks() const { return locks_; }

    // What a long operation is busy with, for currentOp. `text` must be a literal; null: nothing to
    // tell. Any thread may read.
    struct Progress {
        const char* text = nullptr;
        int64_t done = 0;
        int64_t total = 0;
    };
    void set_progress(const Progress& progress);
    Progress progress() const;

    // check_interrupt of the current operation; only the shutdown flag where there is none.
    static void check();

    // For loops that input makes long: every round counts `cost`, about 100 ns each, and once in a
    // while that leads to check(). Work that lasts also gives its event loop to another thread
    // (sched/blocking.h). Costs a subtraction.
    static void tick(int64_t cost = 1) {
        if ((ticks_left_ -= cost) < 0) [[unlikely]]
            on_tick_budget_exhausted();
    }

    // While in scope the calling thread's tick() only gives its event loop away, and no memory
    // limit (sched/memory.h) throws: a write that has begun has to end.
    class Uninterruptible {
      public:
        Uninterruptible() { ++uninterruptible_; }
        ~Uninterruptible() { --uninterruptible_; }
        Uninterruptible(const Uninterruptible&) = delete;
        Uninterruptible& operator=(const Uninterruptible&) = delete;
    };
    static bool uninterruptible() { return uninterruptible_ != 0; }

    // While in scope an Uninterruptible, but not several in each other, lets tick() end the
    // operation after all. For what takes long before the first step of a write, or between steps
    // that it can undo. No memory limit throws all the same.
    class Undoable {
      public:
        Undoable() : previous_(undoable_) { undoable_ = 1; }
        ~Undoable() { undoable_ = previous_; }
        Undoable(const Undoable&) = delete;
        Undoable& operator=(const Undoable&) = delete;

      private:
        int previous_;
    };

    // What the calling thread has counted so far, but for the last few.
    static int64_t ticks() { return ticks_ - ticks_left_; }

    // A long operation yields every kSlice, if others wait: scans ask slice_over() between two
    // documents or keys, and then call start_slice().
    static constexpr std::chrono::milliseconds kSlice{10};
    static bool slice_over() { return slice_over_; }
    static void start_slice() {
        slice_over_ = false;
        slice_begun_ = false;
    }
    // Whether the calling thread has computed for its operation for longer than a slice. False
    // where it has none.
    static bool is_long() { return long_; }
    // While in scope, and where the calling thread holds no lock, tick() yields: computation that
    // needs no lock takes turns with others all the same (sched/compute_slots.h). REQUIRES: no
    // mutex is held where it ticks.
    class Preemptible {
      public:
        Preemptible() : previous_(preemptible_) { preemptible_ = true; }
        ~Preemptible() { preemptible_ = previous_; }
        Preemptible(const Preemptible&) = delete;
        Preemptible& operator=(const Preemptible&) = delete;

      private:
        bool previous_;
    };

    // At shutdown: every operation ends at its next check. Tests take it back.
    static void interrupt_all(bool all = true);
    static bool shutting_down();

    // Makes this the calling thread's current operation while in scope. Null: what is done belongs
    // to none, as to its memory and its end; the outer one's slice goes on.
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

    // What it holds of the heap, counted on the threads that run it (sched/memory.h). Belongs to
    // the running thread.
    int64_t memory_held() const { return memory_held_; }
    void set_memory_held(int64_t bytes) { memory_held_ = bytes; }

  private:
    static constexpr int64_t kTicksPerCheck = 64;
    static void on_tick_budget_exhausted();
    static inline thread_local constinit int64_t ticks_left_ = kTicksPerCheck;
    static inline thread_local constinit int64_t ticks_ = kTicksPerCheck;  // with ticks_left_
    static inline thread_local constinit int uninterruptible_ = 0;
    static inline thread_local constinit int undoable_ = 0;
    static inline thread_local constinit bool slice_over_ = false;
    static inline thread_local constinit bool slice_begun_ = false;
    static inline thread_local constinit bool long_ = false;
    static inline thread_local constinit bool preemptible_ = false;

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

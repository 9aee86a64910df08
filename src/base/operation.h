// base/operation.h - one running operation: who asked, how long it may take, whether it was killed.
//
// Created per request by the connection, listed for currentOp, reachable by the code that runs for
// it as Operation::current(). Loops call check_interrupt() at their yield points.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace base {

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
    bool active() const { return active_.load(std::memory_order_relaxed); }

    uint32_t id() const { return id_; }
    Clock::time_point started() const { return started_; }

    // maxTimeMS; 0 = no limit.
    void set_deadline_ms(int64_t max_time_ms);
    void kill() { killed_.store(true, std::memory_order_relaxed); }
    bool kill_pending() const { return killed_.load(std::memory_order_relaxed); }

    // Throws Error 11601 when killed, 11600 at shutdown, 50 when the deadline has passed. The clock
    // is read only when there is a deadline.
    void check_interrupt() const;

    // check_interrupt of the current operation; only the shutdown flag where there is none.
    static void check();

    // Set once at shutdown: every operation ends at its next check.
    static void interrupt_all();
    static bool shutting_down();

    // Makes this the calling thread's current operation while in scope.
    class Scope {
      public:
        explicit Scope(Operation* op);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

      private:
        Operation* previous_;
    };

  private:
    std::atomic<bool> active_{false};
    std::atomic<bool> killed_{false};
    uint32_t id_ = 0;
    Clock::time_point started_{};
    Clock::time_point deadline_{};
    bool has_deadline_ = false;
};

}  // namespace base

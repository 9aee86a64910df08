// os/testing/step_clock.h - a clock on which the sleeps of other threads end one at a time, when a
// test says so: a program with threads then does the same each time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "os/clock.h"

namespace os {

// A sleeper sleeps on the thread it was made for; which thread that is shows at its first sleep. A
// sleep on the thread that made the clock returns at once; the time moves.
class StepClock final : public Clock {
  public:
    int64_t monotonic_us() override { return now_us_; }
    int64_t wall_ms() override { return wall_start_ms_ + now_us_ / 1000; }
    std::unique_ptr<Sleeper> make_sleeper() override;

    void advance_us(int64_t us) { now_us_ += us; }
    // `told` is called by each thread whose sleep has ended, before it goes on. REQUIRES: no thread
    // sleeps yet.
    void set_on_wake(std::function<void()> told) { on_wake_ = std::move(told); }
    // Ends the sleep of a sleeper, by the order of their making, and returns when its thread
    // sleeps again, or has ended. The time moves by the length of the sleep, unless it was woken.
    void step(size_t sleeper);
    // Runs a step up to where its thread waits for the caller, which `waits` tells; returns whether
    // it does. Then step_end() returns when it sleeps again, or has ended.
    bool step_until(size_t sleeper, const std::function<bool()>& waits);
    void step_end(size_t sleeper);
    // Whether that sleep would have ended by itself, without a step.
    bool was_woken(size_t sleeper) const;
    // Whether the calling thread ever sleeps.
    bool has_slept() const;
    // The calling thread ends, and will not sleep any more.
    void thread_ends();
    // Lets woken threads go on from now on, and no other sleep ends: for a shutdown, which joins.
    void run_free();
    size_t sleepers() const;

  private:
    struct State {
        bool sleeping = false;
        bool granted = false;  // may go on
        bool woken = false;
        bool ended = false;
        std::thread::id thread;  // of the last sleep
        int64_t us = 0;
    };
    class StepSleeper;
    static bool is_asleep(const State& state);
    void grant(size_t sleeper);

    const std::thread::id maker_ = std::this_thread::get_id();
    std::atomic<int64_t> now_us_{1'000'000};
    const int64_t wall_start_ms_ = 1'395'592'334'000;
    std::function<void()> on_wake_ = [] {};
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    // Guarded by mutex_:
    std::vector<std::shared_ptr<State>> states_;
    bool free_ = false;
};

}  // namespace os

// os/testing/sim_clock.h - time for tests: it moves only by advance(), or when a thread sleeps.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "os/clock.h"

namespace os {

// A sleep moves the time by its length and returns at once. The callback, which runs after the time
// has moved, does what a test wants to happen during the sleep.
class SimClock final : public Clock {
  public:
    int64_t monotonic_us() override { return now_us_; }
    int64_t wall_ms() override { return wall_start_ms_ + now_us_ / 1000; }
    std::unique_ptr<Sleeper> make_sleeper() override { return std::make_unique<SimSleeper>(*this); }

    void advance_us(int64_t us) { now_us_ += us; }
    void set_during_sleep(std::function<void()> callback) { during_sleep_ = std::move(callback); }
    // Lengths of all sleeps so far, microseconds.
    std::vector<int64_t> sleeps() const {
        const std::lock_guard lock(mutex_);
        return sleeps_;
    }

  private:
    class SimSleeper final : public Sleeper {
      public:
        explicit SimSleeper(SimClock& clock) : clock_(clock) {}
        bool sleep_us(int64_t us) override {
            if (woken_.exchange(false)) return false;
            {
                const std::lock_guard lock(clock_.mutex_);
                clock_.sleeps_.push_back(us);
            }
            clock_.advance_us(us);
            if (clock_.during_sleep_) clock_.during_sleep_();
            return !woken_.exchange(false);
        }
        void wake() override { woken_ = true; }

      private:
        SimClock& clock_;
        std::atomic<bool> woken_{false};
    };

    std::atomic<int64_t> now_us_{1'000'000};
    const int64_t wall_start_ms_ = 1'395'592'334'000;
    std::function<void()> during_sleep_;
    mutable std::mutex mutex_;
    std::vector<int64_t> sleeps_;
};

}  // namespace os

// The clock of the machine, through the standard library only.

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "os/clock.h"

namespace os {

namespace {

class SystemSleeper final : public Sleeper {
  public:
    bool sleep_us(int64_t us) override {
        std::unique_lock lock(mutex_);
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
        woken_condition_.wait_until(lock, until, [this] { return woken_; });
        const bool slept = !woken_;
        woken_ = false;
        return slept;
    }
    void wake() override {
        {
            const std::lock_guard lock(mutex_);
            woken_ = true;
        }
        woken_condition_.notify_one();
    }

  private:
    std::mutex mutex_;
    std::condition_variable woken_condition_;
    bool woken_ = false;
};

class SystemClock final : public Clock {
  public:
    int64_t monotonic_us() override {
        return std::chrono::duration_cast<std::chrono::microseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }
    int64_t wall_ms() override {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::system_clock::now().time_since_epoch())
            .count();
    }
    std::unique_ptr<Sleeper> make_sleeper() override { return std::make_unique<SystemSleeper>(); }
};

}  // namespace

Clock& system_clock() {
    static SystemClock instance;
    return instance;
}

}  // namespace os

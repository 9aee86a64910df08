#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "os/system_sleeper.h"

namespace os {

namespace {

// Linux lets a thread's sleeps end 50 us late so as to wake the processor less often. The delay is
// much for a commit that waits 1 ms, and more than a commit delay may be long.
void end_sleeps_in_time() {
#ifdef __linux__
    constexpr unsigned long kSlackNs = 1000;
    static thread_local const int asked = prctl(PR_SET_TIMERSLACK, kSlackNs);
    (void)asked;
#endif
}

class SystemSleeper final : public Sleeper {
  public:
    bool sleep_us(int64_t us) override {
        end_sleeps_in_time();
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

}  // namespace

std::unique_ptr<Sleeper> make_system_sleeper() {
    return std::make_unique<SystemSleeper>();
}

}  // namespace os

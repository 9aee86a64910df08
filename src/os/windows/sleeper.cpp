// Waits of Windows end at a tick of its clock, 15.6 ms apart by default. A waitable timer of the
// finer kind, which Windows 10 has since 2018, ends within half a millisecond.

#include <windows.h>

#include <chrono>

#include "os/system_sleeper.h"
#include "os/windows/error.h"

namespace os {

namespace {

#ifndef CREATE_WAITABLE_TIMER_HIGH_RESOLUTION
constexpr DWORD CREATE_WAITABLE_TIMER_HIGH_RESOLUTION = 2;
#endif

// The shortest sleep of a timer: a thread that waits for less only yields its processor.
constexpr int64_t kFinestTimerUs = 500;

HANDLE make_timer() {
    const HANDLE fine = ::CreateWaitableTimerExW(
        nullptr, nullptr, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, TIMER_ALL_ACCESS);
    return fine != nullptr ? fine : ::CreateWaitableTimerExW(nullptr, nullptr, 0, TIMER_ALL_ACCESS);
}

class SystemSleeper final : public Sleeper {
  public:
    SystemSleeper() {
        if (timer_ == nullptr || woken_ == nullptr) fail_windows("making", "a timer");
    }
    ~SystemSleeper() override {
        ::CloseHandle(timer_);
        ::CloseHandle(woken_);
    }

    bool sleep_us(int64_t us) override {
        using Clock = std::chrono::steady_clock;
        const Clock::time_point until = Clock::now() + std::chrono::microseconds(us);
        if (us > kFinestTimerUs && !wait_for_timer(us)) return false;
        while (Clock::now() < until) {
            if (::WaitForSingleObject(woken_, 0) == WAIT_OBJECT_0) return false;
            ::SwitchToThread();
        }
        return ::WaitForSingleObject(woken_, 0) != WAIT_OBJECT_0;
    }
    void wake() override { ::SetEvent(woken_); }

  private:
    // False when woken.
    bool wait_for_timer(int64_t us) {
        LARGE_INTEGER due{};
        due.QuadPart = -us * 10;  // from now, in units of 100 ns
        ::SetWaitableTimer(timer_, &due, 0, nullptr, nullptr, FALSE);
        const HANDLE both[] = {woken_, timer_};
        return ::WaitForMultipleObjects(2, both, FALSE, INFINITE) != WAIT_OBJECT_0;
    }

    const HANDLE timer_ = make_timer();
    const HANDLE woken_ = ::CreateEventW(nullptr, FALSE, FALSE, nullptr);  // reset by a wait
};

}  // namespace

std::unique_ptr<Sleeper> make_system_sleeper() {
    return std::make_unique<SystemSleeper>();
}

}  // namespace os

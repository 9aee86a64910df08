// os/clock.h - time, and sleeping that another thread can end.
#pragma once

#include <cstdint>
#include <memory>

namespace os {

// One thread sleeps, any thread wakes it.
class Sleeper {
  public:
    Sleeper() = default;
    virtual ~Sleeper() = default;
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    // Returns true after that time, false when woken. A wake() before the call counts: the call
    // then returns at once. Each call uses up the wake-ups so far.
    virtual bool sleep_us(int64_t us) = 0;
    virtual void wake() = 0;
};

class Clock {
  public:
    Clock() = default;
    virtual ~Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;

    virtual int64_t monotonic_us() = 0;  // from an arbitrary start, never back
    virtual int64_t wall_ms() = 0;       // since 1970, UTC
    virtual std::unique_ptr<Sleeper> make_sleeper() = 0;
};

// The real one.
Clock& system_clock();

}  // namespace os

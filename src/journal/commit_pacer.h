// journal/commit_pacer.h - when the next group commit is due (journal spec 1.7).
//
// The journal thread calls wait() before each commit. With M the configured interval in ms:
//
//   t = floor(M / 3) + 1 ms
//   sleep t; then at most twice: stop if somebody waits for a commit or much is uncommitted, else
//   sleep t again
//
// so that a commit comes after t, 2t or 3t. Waiters are looked at between sleeps only; they end no
// sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "journal/commit_interval.h"
#include "os/clock.h"

namespace journal {

// What decides about an early end of the wait. Asked by the journal thread, without locks.
class CommitDemand {
  public:
    virtual ~CommitDemand() = default;
    virtual bool somebody_waits() const = 0;
    virtual bool much_uncommitted() const = 0;
};

class CommitPacer {
  public:
    static constexpr int kDefaultIntervalMs = 100;
    static constexpr int kOtherDeviceIntervalMs = 30;

    CommitPacer(os::Clock& clock, const CommitDemand& demand);

    // Configured interval. Read anew each cycle.
    void set_interval(CommitInterval interval) { interval_us_ = interval.value_or(kNotSet); }
    CommitInterval interval() const {
        const int64_t us = interval_us_;
        return us == kNotSet ? CommitInterval() : us;
    }
    void set_default_interval_ms(int ms) { default_interval_ms_ = ms; }

    // Returns when a commit is due, or at once after stop().
    void wait();
    void stop();
    bool stopping() const { return stopping_; }

    // t of an interval, both in us.
    static int64_t slice_us(int64_t interval_us) { return (interval_us / 1000 / 3 + 1) * 1000; }

  private:
    static constexpr int64_t kNotSet = -1;

    const CommitDemand& demand_;
    const std::unique_ptr<os::Sleeper> sleeper_;
    std::atomic<int64_t> interval_us_{kNotSet};
    std::atomic<int> default_interval_ms_{kDefaultIntervalMs};
    std::atomic<bool> stopping_{false};
};

}  // namespace journal

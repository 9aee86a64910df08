// journal/commit_schedule.h - when the next group commit is due (journal spec 1.7).
//
// The journal thread calls wait() before each commit. With M the configured interval in ms:
//
//   t = floor(M / 3) + 1 ms
//   sleep t; then at most twice: stop if a waiter exists or much is uncommitted, else sleep t again
//
// so that a commit comes after t, 2t or 3t. Waiters are checked between sleeps only; they end no
// sleep, but hurry() does: others wait for what these wait for. Every tenth commit of the journal
// thread is followed by a remap.
//
// Writers, waiters and commits tell the schedule of themselves by its hooks. What it makes of them
// is its own affair: another schedule derives from this one. Every storage engine has one: that of
// mmapv1's journal, and that of the log of the others (storage/kv/log_sync.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/dcheck.h"
#include "journal/metrics.h"
#include "os/clock.h"

namespace journal {

// The interval between group commits, as the option journalCommitInterval says (options/journal.h;
// journal spec 5.3, 5.8). Microseconds; nothing means "not set": 100 ms, or 30 ms with the journal
// on a device of its own.
using CommitInterval = std::optional<int64_t>;

// The option's value now.
CommitInterval configured_commit_interval();

// What a schedule may read: what no commit has taken yet. Any thread, without locks.
class CommitDemand {
  public:
    virtual ~CommitDemand() = default;
    virtual bool has_written() const = 0;
    virtual bool much_uncommitted() const = 0;
};

class CommitSchedule {
  public:
    static constexpr int kDefaultIntervalMs = 100;
    static constexpr int kOtherDeviceIntervalMs = 30;

    CommitSchedule(os::Clock& clock, const CommitDemand& demand);
    virtual ~CommitSchedule() = default;

    // Configured interval. Read anew each cycle.
    virtual void set_interval(CommitInterval interval) {
        interval_us_ = interval.value_or(kNotSet);
    }
    CommitInterval interval() const {
        const int64_t us = interval_us_;
        return us == kNotSet ? CommitInterval() : us;
    }
    void set_default_interval_ms(int ms) {
        DCHECK(ms > 0);
        default_interval_ms_ = ms;
    }

    // The journal thread's: returns when a commit is due, or at once after stop().
    virtual void wait();
    // Asked once in each cycle of the journal thread: is it to remap?
    virtual bool remap_due() { return ++cycles_ % kRemapEvery == 0; }
    // Any thread: a wait() under way, or else the next one, returns at its next look.
    void hurry() { sleeper_->wake(); }
    // Whether a waiter ends a wait() of itself, at the interval of now.
    virtual bool follows_demand() const { return false; }
    // What serverStatus().dur.commitInterval shows of it; none: it is left out.
    virtual std::vector<StatusField> status() const { return {}; }
    void stop();
    bool stopping() const { return stopping_; }

    // The hooks. Called by threads that write, wait or commit. REQUIRES: they are short.
    //
    // A writer has handed in what it wrote and is about to give up its lock.
    virtual void note_write() {}
    // A waiter was registered. The notifier's mutex is held, so that the order of these two is that
    // of the waiters' and commits' numbers.
    virtual void note_waiter() { ++visible_waiters_; }
    // A commit is durable, and with it the writes of so many waiters. Clears what wait() sees of
    // waiters, also of those that came while the commit ran and are not satisfied: they wait for
    // the full interval, as in the old server (D4).
    virtual void note_commit(int /*satisfied*/) { visible_waiters_ = 0; }

    // t of an interval, both in us.
    static int64_t slice_us(int64_t interval_us) {
        DCHECK(interval_us >= 0);
        return (interval_us / 1000 / 3 + 1) * 1000;
    }

  protected:
    int64_t default_interval_us() const { return default_interval_ms_ * int64_t{1000}; }

    const CommitDemand& demand_;
    const std::unique_ptr<os::Sleeper> sleeper_;

  private:
    static constexpr int64_t kNotSet = -1;
    static constexpr int kRemapEvery = 10;

    std::atomic<int64_t> interval_us_{kNotSet};
    std::atomic<int> default_interval_ms_{kDefaultIntervalMs};
    std::atomic<bool> stopping_{false};
    std::atomic<int> visible_waiters_{0};
    int cycles_ = 0;  // journal thread only
};

}  // namespace journal

#include "storage/ordered/log_sync.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "sched/blocking.h"
#include "storage/open_change.h"

namespace ordered {

namespace {

using std::chrono::microseconds;

microseconds interval_of(std::optional<int64_t> us) {
    constexpr microseconds kDefault{100'000}, kShortest{1000};
    return us ? std::max(microseconds(*us), kShortest) : kDefault;
}

}  // namespace

LogSync::LogSync(Home& home, const Options& options)
    : home_(home),
      journaling_(options.journaling),
      interval_(interval_of(options.commit_interval_us)),
      sync_delay_(options.sync_delay_seconds),
      last_checkpoint_(Clock::now()) {
    thread_ = std::thread([this] { run(); });
}

LogSync::~LogSync() {
    stop();
}

void LogSync::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

bool LogSync::await_commit(storage::CommitWaiter* waiter) {
    if (!journaling_) return true;
    {
        const std::lock_guard lock(mutex_);
        waiter->next = std::exchange(waiting_, waiter);
    }
    changed_.notify_one();
    return false;
}

void LogSync::await_commit_blocking() {
    struct PromiseWaiter : storage::CommitWaiter {
        std::promise<void> passed;
    };
    PromiseWaiter waiter;
    waiter.done = [](storage::CommitWaiter* w) {
        static_cast<PromiseWaiter*>(w)->passed.set_value();
    };
    std::future<void> passed = waiter.passed.get_future();
    if (await_commit(&waiter)) return;
    const sched::BlockingSection section;
    passed.get();
}

void LogSync::commit_now() {
    home_.commit();
    if (!journaling_) return;
    const sched::BlockingSection section;
    sync();
}

bool LogSync::commit_if_needed() {
    if (!home_.has_claims() && home_.changed_bytes() < kLargeBytes) return false;
    if (storage::OneCommit::is_open()) return false;
    DCHECK(storage::OpenChange::none());
    home_.commit();
    return true;
}

// The change that asks may have claimed its document already.
void LogSync::make_room(int64_t) {
    if (!home_.has_claims()) commit_if_needed();
}

int LogSync::flush_all(bool sync_wanted) {
    const sched::BlockingSection section;
    home_.commit();
    home_.map().checkpoint(sync_wanted);
    // fsync with lock has come to its last step: from now on nothing changes the files.
    if (frozen_.try_lock()) {
        if (is_frozen_ && !std::exchange(is_paused_, true)) home_.map().pause();
        frozen_.unlock();
    }
    return 1;
}

void LogSync::sync_and_truncate_journal() {
    commit_now();
    home_.map().checkpoint(true);
}

void LogSync::lock_commits() {
    frozen_.lock();
    is_frozen_ = true;
}

void LogSync::unlock_commits() {
    if (std::exchange(is_paused_, false)) home_.map().resume();
    is_frozen_ = false;
    frozen_.unlock();
}

void LogSync::set_commit_interval(std::optional<int64_t> interval_us) {
    {
        const std::lock_guard lock(mutex_);
        interval_ = interval_of(interval_us);
        has_new_interval_ = true;
    }
    changed_.notify_one();
}

void LogSync::set_sync_delay_seconds(double seconds) {
    const std::lock_guard lock(mutex_);
    sync_delay_ = std::chrono::duration<double>(seconds);
}

void LogSync::append_dur_status(bson::Builder& out) const {
    out.append("commits", static_cast<int64_t>(home_.commits())).append("syncs", syncs_.load());
}

void LogSync::append_flush_status(bson::Builder& out) const {
    out.append("flushes", checkpoints_.load());
}

void LogSync::run_latency_test(bson::Builder&) {
    base::fail(base::kCommandNotSupported, "this storage engine has no journal files to measure");
}

void LogSync::sync() {
    const std::lock_guard lock(frozen_);
    home_.map().sync_log();
    ++syncs_;
}

void LogSync::run() {
    const base::SignalStack signal_stack;
    base::log::set_context("logsync");
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait_for(lock, interval_, [this] {
            return waiting_ != nullptr || stopping_ || std::exchange(has_new_interval_, false);
        });
        storage::CommitWaiter* const waiters = std::exchange(waiting_, nullptr);
        const bool last = stopping_;
        lock.unlock();
        if (journaling_) sync_for(waiters);
        if (last) return;
        checkpoint_if_due();
        lock.lock();
    }
}

void LogSync::sync_for(storage::CommitWaiter* waiters) {
    // What a waiter has written was committed before it came.
    const uint64_t commits = home_.commits();
    if (commits != std::exchange(synced_commits_, commits)) sync();
    while (waiters != nullptr) {
        storage::CommitWaiter* const next = waiters->next;  // it may be gone after done
        waiters->done(waiters);
        waiters = next;
    }
}

void LogSync::checkpoint_if_due() {
    std::chrono::duration<double> delay;
    {
        const std::lock_guard lock(mutex_);
        delay = sync_delay_;
    }
    const Clock::time_point now = Clock::now();
    if (delay.count() <= 0 || now - last_checkpoint_ < delay) return;
    last_checkpoint_ = now;
    const std::lock_guard lock(frozen_);
    home_.map().checkpoint(false);
    ++checkpoints_;
}

}  // namespace ordered

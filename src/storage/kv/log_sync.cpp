#include "storage/kv/log_sync.h"

#include <future>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "journal/append_metrics.h"
#include "os/clock.h"
#include "storage/write_unit.h"

namespace kv {

LogSync::LogSync(Store& store, const Options& options)
    : store_(store),
      journaling_(options.journaling),
      sync_delay_(options.sync_delay_seconds),
      schedule_(os::system_clock(), *this) {
    schedule_.set_interval(options.commit_interval);
    store_.set_schedule(&schedule_);
    if (journaling_) sync_thread_ = std::thread([this] { run_syncs(); });
    checkpoint_thread_ = std::thread([this] { run_checkpoints(); });
}

LogSync::~LogSync() {
    stop();
    store_.set_schedule(nullptr);
}

void LogSync::stop() {
    {
        const std::lock_guard lock(mutex_);
        schedule_.stop();
    }
    sync_delay_changed_.notify_one();
    if (sync_thread_.joinable()) sync_thread_.join();
    if (checkpoint_thread_.joinable()) checkpoint_thread_.join();
}

bool LogSync::await_commit(storage::CommitWaiter* waiter) {
    if (!journaling_) return true;
    {
        const std::lock_guard lock(mutex_);
        waiter->next = std::exchange(waiting_, waiter);
        schedule_.note_waiter();
    }
    if (!schedule_.follows_demand()) schedule_.hurry();
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
    passed.get();
}

void LogSync::commit_now() {
    store_.commit();
    if (!journaling_) return;
    sync();
}

bool LogSync::commit_if_needed() {
    if (Store::is_long()) return false;
    if (!store_.has_row_locks() && store_.changed_bytes() < kLargeBytes) return false;
    if (store_.keeps_undo()) return false;
    DCHECK(storage::WriteUnit::none_has_begun());
    store_.commit();
    return true;
}

// The change that asks may have locked its document already.
void LogSync::make_room(int64_t document_bytes) {
    DCHECK(document_bytes >= 0);
    const int64_t most = store_.map().commit_bytes_max();
    if (document_bytes > most)
        base::fail(base::kOperationFailed,
                   "the document changes {} bytes, with its entry in the log, and with as little "
                   "memory as this server may have one commit carries {}; make the document "
                   "smaller, or give the server more memory",
                   document_bytes, most);
    if (!store_.has_row_locks()) commit_if_needed();
    // Its entry in the log must not be what there is no space for: the change would be made then.
    if (document_bytes > 0) store_.ask_for_space(static_cast<size_t>(document_bytes));
}

int LogSync::flush_all(bool sync_wanted) {
    store_.commit();
    store_.map().checkpoint(sync_wanted);
    // fsync with lock has come to its last step: from now on nothing changes the files.
    if (frozen_.try_lock()) {
        if (is_frozen_ && !std::exchange(is_paused_, true)) store_.map().pause();
        frozen_.unlock();
    }
    return 1;
}

void LogSync::sync_and_truncate_journal() {
    commit_now();
    store_.map().checkpoint(true);
}

void LogSync::lock_commits() {
    frozen_.lock();
    is_frozen_ = true;
}

void LogSync::unlock_commits() {
    DCHECK(is_frozen_);
    if (std::exchange(is_paused_, false)) store_.map().resume();
    is_frozen_ = false;
    frozen_.unlock();
}

void LogSync::set_commit_interval(journal::CommitInterval interval) {
    schedule_.set_interval(interval);
    schedule_.hurry();
}

void LogSync::set_sync_delay_seconds(double seconds) {
    {
        const std::lock_guard lock(mutex_);
        sync_delay_ = std::chrono::duration<double>(seconds);
    }
    sync_delay_changed_.notify_one();
}

void LogSync::append_dur_status(bson::Builder& out) const {
    out.append("commits", static_cast<int64_t>(store_.commits())).append("syncs", syncs_.load());
    if (journaling_) journal::append_options_status(out, schedule_);
}

void LogSync::append_flush_status(bson::Builder& out) const {
    out.append("flushes", checkpoints_.load());
}

void LogSync::run_latency_test(bson::Builder&) {
    base::fail(base::kCommandNotSupported, "this storage engine has no journal files to measure");
}

void LogSync::sync() {
    const std::lock_guard lock(frozen_);
    const uint64_t commits = store_.commits();
    store_.map().sync_log();
    synced_ = commits;
    ++syncs_;
}

void LogSync::run_syncs() {
    const base::SignalStack signal_stack;
    base::log::set_context("logsync");
    bool last = false;
    while (!last) {
        schedule_.wait();
        last = schedule_.stopping();
        sync_for_waiters();
    }
}

void LogSync::sync_for_waiters() {
    storage::CommitWaiter* waiters = nullptr;
    {
        const std::lock_guard lock(mutex_);
        waiters = std::exchange(waiting_, nullptr);
    }
    // A waiter's changes were committed before it came.
    if (store_.commits() != synced_) sync();
    int count = 0;
    for (const storage::CommitWaiter* waiter = waiters; waiter != nullptr; waiter = waiter->next)
        ++count;
    {
        const std::lock_guard lock(mutex_);
        schedule_.note_commit(count);
    }
    while (waiters != nullptr) {
        storage::CommitWaiter* const next = waiters->next;  // it may be gone after done
        waiters->done(waiters);
        waiters = next;
    }
}

void LogSync::run_checkpoints() {
    using Clock = std::chrono::steady_clock;
    const base::SignalStack signal_stack;
    base::log::set_context("checkpoint");
    Clock::time_point last = Clock::now();
    std::unique_lock lock(mutex_);
    while (!schedule_.stopping()) {
        if (sync_delay_.count() <= 0) {
            sync_delay_changed_.wait(lock);
            continue;
        }
        const auto due = last + std::chrono::duration_cast<Clock::duration>(sync_delay_);
        if (sync_delay_changed_.wait_until(lock, due) == std::cv_status::no_timeout) continue;
        lock.unlock();
        last = Clock::now();
        {
            const std::lock_guard frozen(frozen_);
            store_.map().checkpoint(false);
        }
        ++checkpoints_;
        lock.lock();
    }
}

}  // namespace kv

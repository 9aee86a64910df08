// storage/ordered/log_sync.h - when is what I wrote on disk? A thread that syncs the log of the
// map: at once when a client waits for it, else an interval after the last time; and that begins a
// checkpoint once in a while.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "storage/durability.h"
#include "storage/ordered/home.h"

namespace ordered {

class LogSync final : public storage::Durability {
  public:
    struct Options {
        bool journaling = true;  // the map has a log
        std::optional<int64_t> commit_interval_us = {};
        double sync_delay_seconds = 60;  // 0: no checkpoints by itself
    };

    LogSync(Home& home, const Options& options);
    ~LogSync() override;
    // Syncs for the last time, calls all waiters and ends the thread.
    void stop();

    bool journaling() const override { return journaling_; }
    bool await_commit(storage::CommitWaiter* waiter) override;
    void await_commit_blocking() override;
    void commit_now() override;
    // Beside others (home.h) each document is whole by itself: what was changed becomes visible.
    bool commit_if_needed() override;
    void make_room(int64_t document_bytes) override;
    int flush_all(bool sync) override;
    void sync_and_truncate_journal() override;
    void lock_commits() override;
    void unlock_commits() override;
    void set_commit_interval(std::optional<int64_t> interval_us) override;
    void set_sync_delay_seconds(double seconds) override;
    void append_dur_status(bson::Builder& out) const override;
    void append_flush_status(bson::Builder& out) const override;
    void run_latency_test(bson::Builder& out) override;

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr size_t kLargeBytes = size_t{4} << 20;  // of changes that are not committed

    void run();
    void sync();
    // Of the thread: what is due, for these waiters and without any.
    void sync_for(storage::CommitWaiter* waiters);
    void checkpoint_if_due();

    Home& home_;
    const bool journaling_;
    // Held while the log is synced, and between fsync with lock and unlock, whose thread syncs too.
    std::recursive_mutex frozen_;
    bool is_frozen_ = false;  // of the thread that holds frozen_: by fsync with lock
    bool is_paused_ = false;

    std::mutex mutex_;
    std::condition_variable changed_;
    storage::CommitWaiter* waiting_ = nullptr;  // guarded by mutex_; the latest first
    bool stopping_ = false;                     // guarded by mutex_
    std::chrono::microseconds interval_;        // guarded by mutex_
    bool has_new_interval_ = false;             // guarded by mutex_
    std::chrono::duration<double> sync_delay_;  // guarded by mutex_

    std::atomic<int64_t> syncs_{0}, checkpoints_{0};
    uint64_t synced_commits_ = 0;          // of the thread
    Clock::time_point last_checkpoint_{};  // of the thread
    std::thread thread_;
};

}  // namespace ordered

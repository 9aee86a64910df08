// storage/kv/log_sync.h - when is what I wrote on disk? A thread that syncs the log of the
// map, and one that begins a checkpoint once in a while.
//
// When it syncs is what the journal's schedule says, the same as mmapv1's, at the same settings
// (journal/commit_schedule.h). One thing differs, as it did with the old servers: at a fixed
// interval a client that waits is served at once, and not after a third of it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "journal/commit_schedule.h"
#include "storage/durability.h"
#include "storage/kv/store.h"

namespace kv {

class LogSync final : public storage::Durability, private journal::CommitDemand {
  public:
    struct Options {
        bool journaling = true;  // the map has a log
        journal::CommitInterval commit_interval = {};
        double sync_delay_seconds = 60;  // 0: no checkpoints by itself
    };

    LogSync(Store& store, const Options& options);
    ~LogSync() override;
    // Syncs for the last time, calls all waiters and ends the threads.
    void stop();

    bool journaling() const override { return journaling_; }
    bool await_commit(storage::CommitWaiter* waiter) override;
    void await_commit_blocking() override;
    void commit_now() override;
    // Concurrently (store.h) each document is whole by itself: what was changed becomes visible.
    bool commit_if_needed() override;
    void make_room(int64_t document_bytes) override;
    void begin_undo() override { store_.begin_undo(); }
    void undo() override { store_.undo(); }
    void end_undo() override { store_.end_undo(); }
    bool keeps_undo() const override { return store_.keeps_undo(); }
    void on_undo(std::function<void()> call) override { store_.on_undo(std::move(call)); }
    void add_step(std::unique_ptr<storage::CommitStep> step, size_t bytes) override {
        store_.add_step(std::move(step), bytes);
    }
    int flush_all(bool sync) override;
    void sync_and_truncate_journal() override;
    void lock_commits() override;
    void unlock_commits() override;
    void set_commit_interval(journal::CommitInterval interval) override;
    void set_sync_delay_seconds(double seconds) override;
    void append_dur_status(bson::Builder& out) const override;
    void append_flush_status(bson::Builder& out) const override;
    void run_latency_test(bson::Builder& out) override;

  private:
    static constexpr size_t kLargeBytes = size_t{4} << 20;  // of changes that are not committed

    // Tells the schedule whether there are commits that no sync has made durable.
    bool has_written() const override { return store_.commits() != synced_; }
    bool much_uncommitted() const override { return false; }

    void run_syncs();
    void sync_for_waiters();
    // Makes durable what was committed until now.
    void sync();
    void run_checkpoints();

    Store& store_;
    const bool journaling_;
    // Held while the log is synced, and between fsync with lock and unlock, whose thread syncs too.
    std::recursive_mutex frozen_;
    bool is_frozen_ = false;  // of the thread that holds frozen_: by fsync with lock
    bool is_paused_ = false;

    std::mutex mutex_;
    storage::CommitWaiter* waiting_ = nullptr;  // guarded by mutex_; the latest first
    std::chrono::duration<double> sync_delay_;  // guarded by mutex_
    std::condition_variable sync_delay_changed_;

    journal::CommitSchedule schedule_;
    std::atomic<int64_t> syncs_{0}, checkpoints_{0};
    std::atomic<uint64_t> synced_{0};  // so many commits are durable
    std::thread sync_thread_, checkpoint_thread_;
};

}  // namespace kv

// storage/mmapv1/commit/durable.h - the journal of an MMAPv1 engine: views, write intents, group
// commit, flush and recovery behind one object.
//
// This is where a writer asks for admission and for a commit (storage/durability.h). What a commit
// does stands in the head of group_commit.h.
//
// Life: construct, then recover() and start() by the start-up thread, then all of Durability and
// Views from any thread under the locks they name, then shutdown() once. The engine owns it, gives
// its LockManager to it and installs nothing itself: the constructor sets the lock hooks.
#pragma once

#include <memory>
#include <thread>

#include "journal/commit_schedule.h"
#include "os/clock.h"
#include "os/file_system.h"
#include "storage/durability.h"
#include "storage/lock.h"
#include "storage/mmapv1/commit/data_file_sync.h"
#include "storage/mmapv1/commit/durable_options.h"
#include "storage/mmapv1/commit/group_commit.h"
#include "storage/mmapv1/commit/journaled_views.h"
#include "storage/mmapv1/commit/write_admission.h"

namespace mmapv1 {

class Durable final : public storage::Durability, private storage::LockHooks {
  public:
    Durable(const DurableOptions& options, storage::LockManager& locks,
            os::FileSystem& files = os::real_file_system(), os::Clock& clock = os::system_clock());
    ~Durable() override;

    Views& views() { return views_; }

    // Before the lock file is written (DbpathLock::mark_running): journal/ exists and shows from
    // now on that a server with a journal runs, which a start after a crash insists on; or that
    // none does. Throws base::Error.
    void claim_journal();
    // Step 1 of a start, holding no lock: removes left-over _tmp/ directories and replays what the
    // journal holds (journal spec 4). Throws base::Error; the journal is then left as it was. With
    // journal::kScanOnly it always throws 13545.
    void recover();
    // Step 2: free-space check, preallocation, first journal file, threads. Throws base::Error.
    void start();
    // The end, holding no lock: final commit, flush, all files closed, journal removed. All of it
    // under W, and no lock is given afterwards: no write is acknowledged that the files do not
    // have. The caller empties the lock file afterwards (DbpathLock::clear). Later calls do
    // nothing.
    void shutdown();
    // After that: journal/ may be empty again.
    void release_journal();

    // storage::Durability
    bool journaling() const override;
    bool await_commit(storage::CommitWaiter* waiter) override;
    void hurry() override { schedule_.hurry(); }
    void await_commit_blocking() override;
    void commit_now() override;
    bool commit_if_needed() override;
    void make_room(int64_t document_bytes) override;
    void check_room() const override;
    void begin_undo() override;
    void undo() override;
    void end_undo() override;
    bool keeps_undo() const override { return collector_.keeps_undo(); }
    void on_undo(std::function<void()> call) override { collector_.on_undo(std::move(call)); }
    int64_t commit_bytes() const override { return static_cast<int64_t>(limits_.most_bytes); }
    int flush_all(bool sync) override;
    void sync_and_truncate_journal() override;
    void lock_commits() override;
    void unlock_commits() override;
    // Whether a thread waits for unlock_commits().
    bool is_commit_awaited() const { return commit_.hold().is_awaited(); }
    void append_dur_status(bson::Builder& out) const override;
    void append_flush_status(bson::Builder& out) const override;
    int64_t mapped_bytes() const override;

    void set_commit_interval(journal::CommitInterval interval) override;
    void set_sync_delay_seconds(double seconds) override;
    void run_latency_test(bson::Builder& out) override;

    journal::CommitInterval commit_interval() const { return schedule_.interval(); }

  private:
    uint64_t copied_bytes() const;
    void make_memory(int64_t document_bytes);
    void before_write_lock() override;
    void before_write_unlock() override;

    bool over_limit() const { return collector_.uncommitted_bytes() >= limits_.early_bytes; }
    // A commit by a holder of w, at a point where its data is consistent. Every other holder of w
    // has to come to such a point, or to its end, before. What the thread has announced stays so.
    void commit_as_writer();
    void run_journal_thread();
    // A flush by the thread of data_file_sync_. If the writer defers, commits go on beside it; they
    // wait while the private copies are dropped.
    int flush_in_background();
    void store_and_remap();
    int sync_files(bool sync);
    void stop_threads();

    const DurableOptions options_;
    const CommitLimits limits_ = CommitLimits::of_memory(options_.memory_bytes);
    storage::LockManager& locks_;
    os::FileSystem& os_files_;
    os::Clock& clock_;

    mutable journal::Counters counters_;  // a report may begin the next interval
    journal::Journal journal_;
    FileSet files_;
    CommitLatch latch_;
    WriteCollector collector_{latch_, limits_};
    journal::CommitSchedule schedule_;
    CommitNotifier notifier_{counters_, schedule_};
    const std::unique_ptr<DataFileWriter> writer_;
    GroupCommit commit_;
    JournaledViews views_;
    DataFileSync data_file_sync_;
    WriteAdmission admission_{limits_};
    std::thread journal_thread_;
    bool shut_down_ = false;
};

}  // namespace mmapv1

#include "storage/mmapv1/commit/durable.h"

#include <thread>

#include "base/blocking.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "journal/latency.h"
#include "storage/mmapv1/commit/data_file_sync.h"
#include "storage/mmapv1/commit/durable_parts.h"
#include "storage/mmapv1/commit/recovery.h"

namespace mmapv1 {

using storage::GlobalMode;
using storage::LockManager;

namespace {

class LockForGood {
  public:
    explicit LockForGood(LockManager& locks) : locks_(locks) { locks_.lock_global(GlobalMode::W); }
    ~LockForGood() { locks_.leave_locked(); }
    LockForGood(const LockForGood&) = delete;
    LockForGood& operator=(const LockForGood&) = delete;

  private:
    LockManager& locks_;
};

}  // namespace

Durable::Durable(const DurableOptions& options, LockManager& locks, os::FileSystem& files,
                 os::Clock& clock)
    : parts_(std::make_unique<DurableParts>(options, locks, files, clock, *this)) {
    locks.set_hooks(this);
}

Durable::~Durable() {
    parts_->stop_threads();
    parts_->locks.set_hooks(nullptr);
}

Views& Durable::views() {
    return parts_->views;
}

void Durable::claim_journal() {
    DurableParts& p = *parts_;
    if (!p.options.journal) {
        // What an earlier run left must not speak for this one.
        if (p.journal.was_in_use()) p.journal.unmark_directory();
        return;
    }
    p.journal.create_directory();
    // An lsn file that is there stays as it is.
    if (p.journal.was_in_use()) {
        p.journal.sync_directory();
    } else {
        p.journal.mark_directory();
    }
}

void Durable::release_journal() {
    if (parts_->options.journal) parts_->journal.unmark_directory();
}

void Durable::recover() {
    DurableParts& p = *parts_;
    if (p.options.journal) {
        p.journal.create_directory();
        base::log::info("journal dir={}", p.journal.directory());
        const storage::GlobalLock lock(p.locks, GlobalMode::W);
        Recovery(p.os_files, p.files, p.journal, p.counters,
                 {.dump = (p.options.journal_options & kDumpJournal) != 0,
                  .scan_only = (p.options.journal_options & kScanOnly) != 0,
                  .directory_per_db = p.options.directory_per_db})
            .run();
    }
    p.files.remove_scratch();
}

void Durable::start() {
    DurableParts& p = *parts_;
    p.data_file_sync.start();
    if (!p.options.journal) return;
    p.journal.prepare();
    const auto data = p.os_files.device_of(p.options.dbpath);
    const auto journal = p.os_files.device_of(p.journal.directory());
    if (data && journal && data != journal)
        p.schedule.set_default_interval_ms(journal::CommitSchedule::kOtherDeviceIntervalMs);
    p.journal_thread = std::thread([&p] { p.run_journal_thread(); });
}

void Durable::shutdown() {
    DurableParts& p = *parts_;
    DCHECK(LockManager::mode() == GlobalMode::none);
    if (p.shut_down) return;
    p.shut_down = true;
    p.stop_threads();
    // Kept for good: what is written afterwards would be acknowledged and lost.
    base::log::info("shutdown: lock for final commit...");
    const LockForGood lock(p.locks);
    if (p.options.journal) {
        base::log::info("shutdown: final commit...");
        commit_now();
    }
    flush_all(true);
    base::log::info("shutdown: closing all files...");
    p.files.close_all();
    base::log::info("closeAllFiles() finished");
    if (!p.options.journal) return;
    base::log::info("journalCleanup...");
    p.journal.remove_files();
}

bool Durable::journaling() const {
    return parts_->options.journal;
}

bool Durable::await_commit(storage::CommitWaiter* waiter) {
    if (!journaling()) return true;
    parts_->notifier.add(waiter);
    return false;
}

void Durable::await_commit_blocking() {
    struct Waiter : storage::CommitWaiter {
        std::mutex mutex;
        std::condition_variable finished_condition;
        bool finished = false;
    };
    Waiter waiter;
    waiter.done = [](storage::CommitWaiter* base) {
        auto* self = static_cast<Waiter*>(base);
        // Notified under the mutex: the waiter may go away as soon as it sees `finished`.
        const std::lock_guard lock(self->mutex);
        self->finished = true;
        self->finished_condition.notify_one();
    };
    if (await_commit(&waiter)) return;
    const base::BlockingSection section;
    std::unique_lock lock(waiter.mutex);
    waiter.finished_condition.wait(lock, [&waiter] { return waiter.finished; });
}

void Durable::commit_now() {
    if (!journaling()) return;
    parts_->counters.record(journal::Metric::early_commits);
    parts_->commit.commit_in_lock();
}

bool Durable::commit_if_needed() {
    DurableParts& p = *parts_;
    if (!journaling() || !p.over_limit()) return false;
    switch (LockManager::mode()) {
        case GlobalMode::none: {
            const storage::GlobalLock lock(p.locks, GlobalMode::R);
            if (p.over_limit()) commit_now();
            return true;
        }
        case GlobalMode::r:
            return false;
        case GlobalMode::w:
            break;
        default:
            commit_now();
            return true;
    }
    p.commit_as_writer();
    return true;
}

void Durable::make_room(int64_t document_bytes) {
    DurableParts& p = *parts_;
    if (!journaling()) return;
    if (document_bytes > static_cast<int64_t>(WriteCollector::kMostBytes))
        base::fail(base::kOperationFailed,
                   "the document changes {}MB of records and indexes, one commit carries {}MB; "
                   "make the document smaller, or drop an index",
                   document_bytes >> 20, WriteCollector::kMostBytes >> 20);
    p.admission.leave();
    if (document_bytes >= WriteAdmission::kLargeBytes && LockManager::mode() == GlobalMode::w) {
        p.collector.unspool();
        while (!p.admission.enter(document_bytes, p.collector.uncommitted_bytes()))
            p.commit_as_writer();
    }
    commit_if_needed();
}

void Durable::check_room() const {
    if (!journaling() || parts_->collector.changed_bytes() <= WriteCollector::kMostBytes) return;
    base::fail(base::kOperationFailed,
               "the operation changes more of the indexes than one commit can carry ({}MB); "
               "make the document smaller, or drop an index",
               WriteCollector::kMostBytes >> 20);
}

int Durable::flush_all(bool sync) {
    DurableParts& p = *parts_;
    const base::BlockingSection section;
    const bool counts = sync && journaling();
    const journal::Journal::FlushMark mark =
        counts ? p.journal.flush_started() : journal::Journal::FlushMark{};
    const auto files = p.files.snapshot();
    try {
        for (const auto& file : files)
            file->flush(sync);
    } catch (const os::IoError& e) {
        base::fatal(17346, fmt::format("error syncing data to disk: {}", e.what()));
    }
    if (counts) p.journal.flush_finished(mark);
    return static_cast<int>(files.size());
}

void Durable::sync_and_truncate_journal() {
    DCHECK(LockManager::mode() == GlobalMode::W);
    if (!journaling()) {
        flush_all(true);
        return;
    }
    commit_now();
    flush_all(true);
    const std::lock_guard gate(parts_->gate);
    parts_->journal.remove_files();
}

void Durable::lock_commits() {
    parts_->commit.hold().acquire();
}
void Durable::unlock_commits() {
    parts_->commit.hold().release();
}

int64_t Durable::mapped_bytes() const {
    return parts_->files.mapped_bytes();
}

journal::CommitInterval Durable::commit_interval() const {
    return parts_->schedule.interval();
}
void Durable::set_commit_interval(journal::CommitInterval interval) {
    parts_->schedule.set_interval(interval);
}
void Durable::set_sync_delay_seconds(double seconds) {
    parts_->data_file_sync.set_delay_seconds(seconds);
}

void Durable::run_latency_test(bson::Builder& out) {
    DurableParts& p = *parts_;
    const base::BlockingSection section;
    const std::string& directory = p.journal.directory();
    const auto report = journal::measure_latency(p.os_files, p.clock, directory);
    const auto append = [&out](const char* name, const journal::AppendLatency& figures) {
        bson::Builder entry = out.sub_object(name);
        entry.append("8KB", figures.small);
        entry.append("8KBWithPauses", figures.small_with_pauses);
        entry.append("1MB", figures.large);
    };
    append("timeMillis", report.growing);
    append("timeMillisWithPrealloc", report.overwriting);
    out.append("onSamePartition",
               p.os_files.device_of(p.options.dbpath) == p.os_files.device_of(directory));
}

void Durable::before_write_lock() {
    if (!GroupCommit::in_cycle()) commit_if_needed();
}
void Durable::before_write_unlock() {
    parts_->collector.unspool();
    parts_->admission.leave();
    parts_->schedule.note_write();
}

}  // namespace mmapv1

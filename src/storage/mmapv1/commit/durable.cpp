#include "storage/mmapv1/commit/durable.h"

#include <condition_variable>
#include <mutex>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "journal/log_file.h"
#include "storage/mmapv1/commit/recovery.h"

namespace mmapv1 {

using storage::GlobalMode;
using storage::LockManager;

namespace {

class PermanentGlobalLock {
  public:
    explicit PermanentGlobalLock(LockManager& locks) : locks_(locks) {
        locks_.lock_global(GlobalMode::W);
    }
    ~PermanentGlobalLock() { locks_.leave_locked(); }
    PermanentGlobalLock(const PermanentGlobalLock&) = delete;
    PermanentGlobalLock& operator=(const PermanentGlobalLock&) = delete;

  private:
    LockManager& locks_;
};

}  // namespace

Durable::Durable(const DurableOptions& options, LockManager& locks, os::FileSystem& files,
                 os::Clock& clock)
    : options_(options),
      locks_(locks),
      os_files_(files),
      clock_(clock),
      journal_(files, clock, counters_,
               {.directory = os::join(options.dbpath, "journal"),
                .limit_bytes = options.journal_file_bytes,
                .preallocation_allowed = !options.no_prealloc_journal,
                .check_space = (options.journal_options & kNoCheckSpace) == 0}),
      files_(files, options.dbpath),
      schedule_(clock, collector_),
      writer_(options.make_writer(
          {files_, journal_, counters_, clock, static_cast<uint64_t>(options.memory_bytes)})),
      commit_(locks, files_, collector_, latch_, notifier_, schedule_, journal_, *writer_,
              counters_, clock,
              {.always_remap = (options.journal_options & kAlwaysRemap) != 0,
               .paranoid = base::kDebugBuild || (options.journal_options & kParanoid) != 0}),
      views_(files_, files, collector_, *this, options.journal),
      data_file_sync_(clock, options.sync_delay_seconds, [this] { return flush_in_background(); }) {
    commit_.set_flush_request([this] { data_file_sync_.request(); });
    schedule_.set_interval(options.commit_interval);
    locks.set_hooks(this);
}

Durable::~Durable() {
    stop_threads();
    locks_.set_hooks(nullptr);
}

void Durable::claim_journal() {
    if (!options_.journal) {
        // A journal that an earlier run left must not speak for this one.
        if (journal_.was_in_use()) journal_.unmark_directory();
        return;
    }
    journal_.create_directory();
    // An lsn file that is there stays as it is.
    if (journal_.was_in_use()) {
        journal_.sync_directory();
    } else {
        journal_.check_space();  // before anything says that this server has begun
        journal_.mark_directory();
    }
}

void Durable::release_journal() {
    if (options_.journal) journal_.unmark_directory();
}

void Durable::recover() {
    DCHECK(LockManager::mode() == GlobalMode::none && !journal_thread_.joinable());
    if (options_.journal) {
        journal_.create_directory();
        base::log::info("journal dir={}", journal_.directory());
        const storage::GlobalLock lock(locks_, GlobalMode::W);
        Recovery(os_files_, files_, journal_, counters_,
                 {.dump = (options_.journal_options & kDumpJournal) != 0,
                  .scan_only = (options_.journal_options & kScanOnly) != 0,
                  .directory_per_db = options_.directory_per_db})
            .run();
    }
    files_.remove_scratch();
}

void Durable::start() {
    DCHECK(!shut_down_ && !journal_thread_.joinable());
    data_file_sync_.start();
    if (!options_.journal) return;
    journal_.prepare();
    const auto data = os_files_.device_of(options_.dbpath);
    const auto journal = os_files_.device_of(journal_.directory());
    if (data && journal && data != journal)
        schedule_.set_default_interval_ms(journal::CommitSchedule::kOtherDeviceIntervalMs);
    journal_thread_ = std::thread([this] { run_journal_thread(); });
}

void Durable::run_journal_thread() {
    const base::SignalStack signal_stack;
    base::log::set_context("journal");
    while (!schedule_.stopping()) {
        counters_.rotate_if_due(clock_.monotonic_us());
        schedule_.wait();
        commit_.run_cycle();
    }
}

void Durable::stop_threads() {
    data_file_sync_.stop();
    schedule_.stop();
    if (journal_thread_.joinable()) journal_thread_.join();
}

void Durable::shutdown() {
    DCHECK(LockManager::mode() == GlobalMode::none);
    if (shut_down_) return;
    shut_down_ = true;
    stop_threads();
    // Kept for good: what is written afterwards would be acknowledged and lost.
    base::log::info("shutdown: lock for final commit...");
    const PermanentGlobalLock lock(locks_);
    if (options_.journal) {
        base::log::info("shutdown: final commit...");
        commit_now();
    }
    flush_all(true);
    base::log::info("shutdown: closing all files...");
    files_.close_all();
    base::log::info("closeAllFiles() finished");
    if (!options_.journal) return;
    base::log::info("journalCleanup...");
    journal_.remove_files();
}

bool Durable::journaling() const {
    return options_.journal;
}

bool Durable::await_commit(storage::CommitWaiter* waiter) {
    if (!journaling()) return true;
    notifier_.add(waiter);
    return false;
}

void Durable::await_commit_blocking() {
    DCHECK(LockManager::mode() == GlobalMode::none);  // a commit waits for writers
    struct BlockingWaiter : storage::CommitWaiter {
        std::mutex mutex;
        std::condition_variable finished_condition;
        bool finished = false;
    };
    BlockingWaiter waiter;
    waiter.done = [](storage::CommitWaiter* base) {
        auto* self = static_cast<BlockingWaiter*>(base);
        // Notified under the mutex: the waiter may go away as soon as it sees `finished`.
        const std::lock_guard lock(self->mutex);
        self->finished = true;
        self->finished_condition.notify_one();
    };
    if (await_commit(&waiter)) return;
    std::unique_lock lock(waiter.mutex);
    waiter.finished_condition.wait(lock, [&waiter] { return waiter.finished; });
}

void Durable::commit_now() {
    if (!journaling()) return;
    DCHECK(!keeps_undo());
    counters_.record(journal::Metric::early_commits);
    commit_.commit_in_lock();
}

bool Durable::commit_if_needed() {
    if (!journaling() || !over_limit() || keeps_undo()) return false;
    switch (LockManager::mode()) {
        case GlobalMode::none: {
            const storage::GlobalLock lock(locks_, GlobalMode::R);
            if (over_limit()) commit_now();
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
    commit_as_writer();
    return true;
}

// Returns how many bytes a commit in X does away with.
uint64_t Durable::copied_bytes() const {
    return collector_.uncommitted_bytes() + commit_.private_bytes();
}

void Durable::commit_as_writer() {
    DCHECK(LockManager::mode() == GlobalMode::w);
    const uint64_t announced = admission_.leave();
    collector_.unspool();
    do {
        base::log::debug(1, "commitIfNeeded upgrading from shared write to exclusive write state");
        if (!locks_.w_to_X()) continue;  // another thread has committed
        if (collector_.has_written() || commit_.private_bytes() > 0) {
            counters_.record(journal::Metric::early_commits);
            commit_.commit_in_lock();
        }
        locks_.X_to_w();
    } while (!admission_.enter_again(announced, copied_bytes()));
    DCHECK(LockManager::mode() == GlobalMode::w);
}

// A commit that is under way gives back what it holds.
void Durable::make_memory(int64_t document_bytes) {
    if (LockManager::mode() == GlobalMode::w) commit_as_writer();
    if (!WriteAdmission::has_memory(document_bytes)) WriteAdmission::refuse_for_memory();
}

void Durable::make_room(int64_t document_bytes) {
    DCHECK(document_bytes >= 0);
    if (!journaling()) return;
    if (document_bytes > static_cast<int64_t>(limits_.most_bytes))
        base::fail(base::kOperationFailed,
                   "the document changes {}MB of records and indexes, one commit carries {}MB; "
                   "make the document smaller, or drop an index",
                   document_bytes >> 20, limits_.most_bytes >> 20);
    if (keeps_undo()) return;
    admission_.leave();
    if (!WriteAdmission::has_memory(document_bytes)) make_memory(document_bytes);
    if (document_bytes >= WriteAdmission::kLargeBytes && LockManager::mode() == GlobalMode::w) {
        collector_.unspool();
        while (!admission_.enter(document_bytes, copied_bytes()))
            commit_as_writer();
    }
    commit_if_needed();
}

void Durable::begin_undo() {
    collector_.begin_undo();
    views_.count_undo(1);
}

void Durable::undo() {
    collector_.undo();
    views_.count_undo(-1);
}

void Durable::end_undo() {
    collector_.end_undo();
    views_.count_undo(-1);
}

void Durable::check_room() const {
    DCHECK(LockManager::may_write());
    if (!journaling() || collector_.changed_bytes() <= limits_.most_bytes) return;
    base::fail(base::kOperationFailed,
               "the operation changes more of the indexes than one commit can carry ({}MB); "
               "make the document smaller, or drop an index",
               limits_.most_bytes >> 20);
}

void Durable::store_and_remap() {
    // Most of it while others commit.
    writer_->store_beside_commits(locks_, latch_, [this] { commit_.run_cycle(); });
    commit_.run_full_cycle();
    writer_->note_flush();
}

int Durable::flush_in_background() {
    if (!journaling() || !writer_->defers()) return flush_all(true);
    store_and_remap();
    writer_->write_stored([this] {
        if (writer_->flush_wanted()) store_and_remap();
        if (notifier_.has_waiters()) await_commit_blocking();
    });
    return sync_files(true);
}

int Durable::flush_all(bool sync) {
    if (journaling() && writer_->defers()) commit_.store_all();
    return sync_files(sync);
}

int Durable::sync_files(bool sync) {
    const bool counts = sync && journaling();
    const journal::Journal::FlushMark mark =
        counts ? journal_.flush_started() : journal::Journal::FlushMark{};
    const auto files = files_.snapshot();
    try {
        for (const auto& file : files)
            file->flush(sync);
    } catch (const os::IoError& e) {
        base::fatal(17346, fmt::format("error syncing data to disk: {}", e.what()));
    }
    if (counts) journal_.flush_finished(mark);
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
    const std::lock_guard latch(latch_);
    journal_.remove_files();
}

void Durable::lock_commits() {
    commit_.hold().acquire();
}
void Durable::unlock_commits() {
    commit_.hold().release();
}

int64_t Durable::mapped_bytes() const {
    return files_.mapped_bytes();
}

void Durable::set_commit_interval(journal::CommitInterval interval) {
    schedule_.set_interval(interval);
}
void Durable::set_sync_delay_seconds(double seconds) {
    data_file_sync_.set_delay_seconds(seconds);
}

void Durable::run_latency_test(bson::Builder& out) {
    const std::string& directory = journal_.directory();
    const auto report = journal::measure_latency(os_files_, clock_, directory);
    const auto append = [&out](const char* name, const journal::AppendLatency& metrics) {
        bson::Builder entry = out.sub_object(name);
        entry.append("8KB", metrics.small);
        entry.append("8KBWithPauses", metrics.small_with_pauses);
        entry.append("1MB", metrics.large);
    };
    append("timeMillis", report.growing);
    append("timeMillisWithPrealloc", report.overwriting);
    out.append("onSamePartition",
               os_files_.device_of(options_.dbpath) == os_files_.device_of(directory));
}

void Durable::before_write_lock() {
    DCHECK(LockManager::mode() == GlobalMode::none);
    if (!GroupCommit::in_cycle()) commit_if_needed();
}
void Durable::before_write_unlock() {
    DCHECK(LockManager::mode() == GlobalMode::w || LockManager::mode() == GlobalMode::W ||
           LockManager::mode() == GlobalMode::X);
    collector_.unspool();
    admission_.leave();
    schedule_.note_write();
}

}  // namespace mmapv1

#include "storage/mmapv1/commit/group_commit.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/unobserved_reads.h"
#include "journal/format.h"
#include "sched/operation.h"
#include "storage/mmapv1/commit/prepare.h"
#include "storage/mmapv1/commit/stage_timer.h"
#include "storage/waiting.h"

namespace mmapv1 {

namespace {

constexpr uint64_t kDifferencesShown = 60;

thread_local bool t_in_cycle = false;

bool holds_exclusive() {
    const storage::GlobalMode mode = storage::LockManager::mode();
    return mode == storage::GlobalMode::W || mode == storage::GlobalMode::X;
}

// The journal thread, which has none, is never to end.
void check_operation() {
    if (sched::Operation::current() != nullptr) sched::Operation::check();
}

}  // namespace

void CommitHold::acquire() {
    std::unique_lock lock(mutex_);
    const auto is_free = [this] { return !held_; };
    ++waiting_;
    try {
        storage::wait_until(free_, lock, is_free, check_operation);
    } catch (...) {
        --waiting_;
        throw;
    }
    --waiting_;
    held_ = true;
}

void CommitHold::release() {
    {
        const std::lock_guard lock(mutex_);
        held_ = false;
    }
    free_.notify_one();
}

bool CommitHold::is_awaited() const {
    const std::lock_guard lock(mutex_);
    return waiting_ > 0;
}

GroupCommit::GroupCommit(storage::LockManager& locks, FileSet& files, WriteCollector& collector,
                         CommitLatch& latch, CommitNotifier& notifier,
                         journal::CommitSchedule& schedule, journal::Journal& journal,
                         DataFileWriter& writer, journal::Counters& counters, os::Clock& clock,
                         const Options& options)
    : locks_(locks),
      files_(files),
      collector_(collector),
      latch_(latch),
      notifier_(notifier),
      schedule_(schedule),
      journal_(journal),
      writer_(writer),
      counters_(counters),
      clock_(clock),
      options_(options),
      remapper_(options.always_remap || writer.defers()) {}

bool GroupCommit::in_cycle() {
    return t_in_cycle;
}

void GroupCommit::run_cycle() {
    hold_.acquire();
    run_held_cycle(full_path_due() ? Path::full : Path::usual);
}

void GroupCommit::run_held_cycle(Path path) {
    const sched::Uninterruptible whole;
    t_in_cycle = true;
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::none);
    if (path == Path::full) {
        locks_.lock_global(storage::GlobalMode::W);
        locks_.downgrade_W_to_R();
        commit(Path::full);
        if (options_.paranoid && !collector_.has_written()) {
            const std::lock_guard latch(latch_);
            compare_views({});
        }
        locks_.upgrade_R_to_W();
        remap();
        locks_.unlock_global();
    } else {
        locks_.lock_global(storage::GlobalMode::R);
        commit(Path::usual);
    }
    hold_.release();
    t_in_cycle = false;
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::none);
}

bool GroupCommit::full_path_due() {
    return (schedule_.remap_due() && !writer_.defers()) || much_is_private();
}

bool GroupCommit::much_is_private() const {
    if (options_.always_remap) return true;
    if (writer_.defers()) return writer_.is_full();
    return remapper_.private_bytes() >= collector_.limits().early_bytes;
}

void GroupCommit::commit_in_lock() {
    const storage::GlobalMode mode = storage::LockManager::mode();
    if (mode != storage::GlobalMode::R && !holds_exclusive())
        base::fatal(16110, "a commit needs the global lock in R, W or X");
    commit(Path::early);
    if (!holds_exclusive()) return;
    counters_.record(journal::Metric::commits_in_write_lock);
    remap();
}

void GroupCommit::commit(Path path) {
    // A commit belongs to no operation, also where one makes it: the end of that does not end it,
    // and what it allocates may come from the reserve (sched/memory.h).
    const sched::Operation::Scope detached(nullptr);
    const std::lock_guard latch(latch_);
    try {
        commit_latched(path);
    } catch (const std::exception& e) {
        // Still with the latch: else another commit would go on with what is left of this one.
        base::fatal(
            0, fmt::format("exception in groupCommit causing immediate shutdown: {}", e.what()));
    }
}

void GroupCommit::commit_latched(Path path) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::R || holds_exclusive());
    DCHECK(ops_.empty() && intents_.empty());
    collector_.unspool_as_committer();
    const uint64_t number = notifier_.begin_commit();
    counters_.record(journal::Metric::commits);
    uint64_t sequence = 0;
    {
        const StageTimer timer(counters_, journal::Metric::prep_log_buffer_us, clock_);
        if (collector_.has_written()) {
            journal_.ensure_open();
            const CommitJob& job = collector_.take_job();
            DCHECK(!job.empty());
            prepare_ops(job, files_, intents_, ops_);
            remapper_.note_private_bytes(job.bytes);
        }
        // Before any waiter is notified: what was not declared is not durable.
        if (options_.paranoid && (!ops_.empty() || notifier_.has_waiters()))
            compare_views(intents_);
        if (path == Path::usual) locks_.unlock_global();
    }
    if (ops_.empty()) {
        notifier_.finish_commit(number);
        clear();
        return;
    }
    {
        const StageTimer timer(counters_, journal::Metric::write_to_journal_us, clock_);
        sequence = journal_.next_sequence();
        journal_.append(sections_.write(ops_, journal_.format(), sequence, journal_.file_id()),
                        ops_.ops().size());
        journal_.after_append();
    }
    notifier_.finish_commit(number);
    writer_.write(ops_.ops(), intents_, sequence);
    if (writer_.wants_flush()) request_flush_();
    clear();
}

void GroupCommit::clear() {
    ops_.clear();
    sections_.clear();
    intents_.clear();
    if (intents_.capacity() > WriteCollector::kKeptIntentsMax) intents_.shrink_to_fit();
    collector_.end_job();
}

void GroupCommit::store_all() {
    if (storage::LockManager::mode() == storage::GlobalMode::none) {
        const storage::GlobalLock no_writer(locks_, storage::GlobalMode::R);
        return store_all();
    }
    if (collector_.has_written()) commit(Path::early);
    const std::lock_guard latch(latch_);
    writer_.store_all();
}

void GroupCommit::run_full_cycle() {
    hold_.acquire();
    run_held_cycle(Path::full);
}

void GroupCommit::remap() {
    DCHECK(holds_exclusive());
    if (collector_.has_written()) return;  // what is not journaled exists in private copies only
    const std::lock_guard latch(latch_);
    writer_.store_all();
    const StageTimer timer(counters_, journal::Metric::remap_private_view_us, clock_);
    remapper_.run(files_, clock_.monotonic_us(), collector_.limits().early_bytes);
    writer_.note_dropped();
    base::log::debug(2, "journal REMAPPRIVATEVIEW done {}ms", timer.elapsed_us() / 1000);
}

// Outside of what was declared both views must show the same: a difference is an undeclared write.
// It would be lost with the next remap, or by a crash.
void GroupCommit::compare_views(std::vector<WriteIntent> declared) {
    uint64_t differences = 0;
    std::string first;
    // The comparison reads every byte of every file; no write is in progress.
    [[maybe_unused]] const base::UnobservedReads unobserved;
    const auto compare = [&](const DurableFile& file, size_t begin, size_t end) {
        const uint8_t* const seen = file.view();
        const uint8_t* const stored = file.shared_view();
        constexpr size_t kStep = 4096;
        for (size_t at = begin; at < end; at += kStep) {
            const size_t step = std::min(kStep, end - at);
            if (__builtin_memcmp(seen + at, stored + at, step) == 0) continue;
            for (size_t i = at; i < at + step; ++i) {
                if (seen[i] == stored[i]) continue;
                if (differences == 0) first = fmt::format("offset {:#x} of {}", i, file.path());
                if (++differences > kDifferencesShown) continue;
                base::log::error(
                    "journal paranoid check: {} differs at {:#x}: private {:02x} "
                    "shared {:02x}",
                    file.path(), i, seen[i], stored[i]);
            }
        }
    };
    writer_.append_waiting(declared);
    // REQUIRES: no writer is active.
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::R || holds_exclusive());
    std::sort(declared.begin(), declared.end(),
              [](const WriteIntent& x, const WriteIntent& y) { return x.start < y.start; });
    for (const auto& file : files_.snapshot()) {
        const uint8_t* const begin = file->view();
        const auto length = static_cast<size_t>(file->length());
        size_t at = 0;
        for (const WriteIntent& intent : declared) {
            if (intent.end() <= begin + at) continue;
            if (intent.start >= begin + length) break;
            if (intent.start > begin + at)
                compare(*file, at, static_cast<size_t>(intent.start - begin));
            at = std::min(length, static_cast<size_t>(intent.end() - begin));
        }
        compare(*file, at, length);
    }
    if (differences > 0)
        base::fatal(13599, fmt::format("{} bytes of private views were changed without a declared "
                                       "write intent, the first at {}",
                                       differences, first));
}

}  // namespace mmapv1

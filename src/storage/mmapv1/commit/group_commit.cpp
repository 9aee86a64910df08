#include "storage/mmapv1/commit/group_commit.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/unobserved_reads.h"
#include "journal/format.h"
#include "sched/blocking.h"
#include "sched/operation.h"
#include "storage/waiting.h"

namespace mmapv1 {

namespace {

constexpr uint64_t kDifferencesShown = 60;

thread_local bool t_in_cycle = false;

// Adds the time from its construction to its destruction to a metric.
class StageTimer {
  public:
    StageTimer(journal::Counters& counters, journal::Metric metric, os::Clock& clock)
        : counters_(counters), metric_(metric), clock_(clock), start_(clock.monotonic_us()) {}
    ~StageTimer() { counters_.record(metric_, static_cast<uint64_t>(elapsed_us())); }
    StageTimer(const StageTimer&) = delete;
    StageTimer& operator=(const StageTimer&) = delete;
    int64_t elapsed_us() const { return clock_.monotonic_us() - start_; }

  private:
    journal::Counters& counters_;
    const journal::Metric metric_;
    os::Clock& clock_;
    const int64_t start_;
};

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
    if (held_) {
        const sched::BlockingSection section;
        storage::wait_until(
            free_, lock, [this] { return !held_; }, check_operation);
    }
    held_ = true;
}

void CommitHold::release() {
    {
        const std::lock_guard lock(mutex_);
        held_ = false;
    }
    free_.notify_one();
}

GroupCommit::GroupCommit(storage::LockManager& locks, FileSet& files, WriteCollector& collector,
                         CommitLatch& latch, CommitNotifier& notifier,
                         journal::CommitSchedule& schedule, journal::Journal& journal,
                         journal::Counters& counters, os::Clock& clock, const Options& options)
    : locks_(locks),
      files_(files),
      collector_(collector),
      latch_(latch),
      notifier_(notifier),
      schedule_(schedule),
      journal_(journal),
      counters_(counters),
      clock_(clock),
      options_(options),
      remapper_(options.always_remap) {}

bool GroupCommit::in_cycle() {
    return t_in_cycle;
}

void GroupCommit::run_cycle() {
    hold_.acquire();
    const bool full = schedule_.remap_due() || options_.always_remap ||
                      remapper_.private_bytes() >= WriteCollector::kLimitBytes;
    run_held_cycle(full ? Path::full : Path::usual);
}

void GroupCommit::run_held_cycle(Path path) {
    const sched::Uninterruptible whole;
    t_in_cycle = true;
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::none);
    if (path == Path::full) {
        locks_.lock_global(storage::GlobalMode::W);
        locks_.downgrade_W_to_R();
        commit(Path::full);
        if (options_.paranoid && !collector_.has_written()) compare_views({});
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

void GroupCommit::commit_in_lock() {
    const storage::GlobalMode mode = storage::LockManager::mode();
    if (mode != storage::GlobalMode::R && !holds_exclusive())
        base::fatal(16110, "a commit needs the global lock in R, W or X");
    commit(Path::early);
    if (!holds_exclusive()) return;
    counters_.record(journal::Metric::commits_in_write_lock);
    remap();
}

void GroupCommit::commit(Path path) try {
    // A commit belongs to no operation, also where one makes it: the end of that does not end it,
    // and what it allocates may come from the reserve (sched/memory.h).
    const sched::Operation::Scope detached(nullptr);
    const std::lock_guard latch(latch_);
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::R || holds_exclusive());
    DCHECK(ops_.empty() && intents_.empty());
    const sched::BlockingSection section;
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
            prepare_ops(job);
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
    {
        const StageTimer timer(counters_, journal::Metric::write_to_data_files_us, clock_);
        apply_ops();
        journal_.note_applied(sequence);
        base::log::debug(2, "journal WRITETODATAFILES {}ms", timer.elapsed_us() / 1000);
    }
    clear();
} catch (const std::exception& e) {
    base::fatal(0,
                fmt::format("exception in groupCommit causing immediate shutdown: {}", e.what()));
}

void GroupCommit::clear() {
    ops_.clear();
    sections_.clear();
    intents_.clear();
    if (intents_.capacity() > WriteCollector::kKeptIntentsMax) intents_.shrink_to_fit();
    collector_.end_job();
}

// Copies the declared bytes as they are now, however often they were written since the last commit.
void GroupCommit::prepare_ops(const CommitJob& job) {
    for (const CreatedFile& created : job.created)
        ops_.file_created(created.path, static_cast<uint64_t>(created.length));
    intents_.assign(job.intents.begin(), job.intents.end());
    merge_for_journal(intents_);
    const std::shared_lock lock(files_.mutex());
    DurableFile* file = nullptr;
    for (WriteIntent intent : intents_) {
        while (intent.length > 0) {
            if (file == nullptr || intent.start < file->view() ||
                intent.start >= file->view() + file->length())
                file = files_.find_locked(intent.start);
            if (file == nullptr) base::fatal(0, "a declared write lies outside of all data files");
            const auto offset = static_cast<uint64_t>(intent.start - file->view());
            const uint64_t room = static_cast<uint64_t>(file->length()) - offset;
            const auto length = static_cast<uint32_t>(std::min<uint64_t>(intent.length, room));
            if (length < intent.length)
                base::log::info("journal info splitting prepBasicWrite at boundary");
            ops_.basic_write(file->prefix(), file->number(), static_cast<uint32_t>(offset),
                             intent.start, length);
            file->need_remap();
            intent.start += length;
            intent.length -= length;
        }
    }
}

// The journal's own reading of the section decides what reaches the data files.
void GroupCommit::apply_ops() {
    const std::shared_lock lock(files_.mutex());
    journal::OpReader reader(ops_.ops());
    journal::Op op;
    DurableFile* file = nullptr;
    uint64_t bytes = 0;
    while (reader.next(op)) {
        if (op.kind != journal::Op::Kind::basic_write) continue;
        if (file == nullptr || op.file_number != file->number() || op.prefix != file->prefix())
            file = files_.find_locked(op.prefix, op.file_number);
        if (file == nullptr)
            base::fatal(0, fmt::format("journal error applying writes, file {} is not open",
                                       journal::data_file_name(op.prefix, op.file_number)));
        if (op.offset + op.bytes.size() > static_cast<uint64_t>(file->length()))
            base::fatal(13622, "a journaled write goes beyond the end of its file");
        file->store(op.offset, op.bytes);
        bytes += op.bytes.size();
    }
    counters_.record(journal::Metric::data_file_bytes, bytes);
}

void GroupCommit::remap() {
    DCHECK(holds_exclusive());
    if (collector_.has_written()) return;  // what is not journaled exists in private copies only
    const std::lock_guard latch(latch_);
    const StageTimer timer(counters_, journal::Metric::remap_private_view_us, clock_);
    remapper_.run(files_, clock_.monotonic_us(), WriteCollector::kLimitBytes);
    base::log::debug(2, "journal REMAPPRIVATEVIEW done {}ms", timer.elapsed_us() / 1000);
}

// Outside of what was declared both views must show the same: a difference is an undeclared write.
// It would be lost with the next remap, or by a crash.
void GroupCommit::compare_views(std::vector<WriteIntent> declared) {
    uint64_t differences = 0;
    std::string first;
    // All of all files; no write is in progress.
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

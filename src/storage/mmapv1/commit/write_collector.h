// storage/mmapv1/commit/write_collector.h - what was written since the last commit (journal
// spec 1.2).
//
// A thread's declarations go into a small spool of its own; the spool is emptied into the running
// job when it is full and whenever the thread gives up its write lock. So a committer that holds R
// or W finds every spool but its own empty and the job complete.
//
//   writer                         committer (holds R, W or X)
//   ------                         ---------------------------
//   declare: into the spool        take the commit latch
//   unlock: through the latch,     take_job(): the collected job becomes the committer's, an
//     spool -> job                   empty one takes its place
//
// The job is double-buffered and has a mutex of its own. The commit latch is the outer one: the
// committer holds it until the data files are written, so a writer that ends during a commit waits
// for the disk. The old server did the same, and its effect is one of the things studied here (D5).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "journal/commit_schedule.h"
#include "storage/mmapv1/commit/commit_limits.h"

namespace mmapv1 {

struct WriteIntent {
    uint8_t* start;
    uint32_t length;
    uint8_t* end() const { return start + length; }
};

struct CreatedFile {
    std::string path;
    int64_t length;
};

// The declarations that one commit covers.
struct CommitJob {
    std::vector<WriteIntent> intents;
    std::vector<CreatedFile> created;
    uint64_t bytes = 0;  // estimate, see WriteCollector::uncommitted_bytes
    bool empty() const { return intents.empty() && created.empty(); }
    void clear() {
        intents.clear();
        created.clear();
        bytes = 0;
    }
};

// Sorts by end and merges what overlaps; ranges that only touch stay apart.
void merge_for_journal(std::vector<WriteIntent>& intents);

// Held by the committing thread, passed through by threads that hand intents in.
class CommitLatch {
  public:
    // The committer's side, for std::lock_guard.
    void lock();
    void unlock() { mutex_.unlock(); }
    // The writer's side: waits for a running commit. What is returned is kept while handing in.
    [[nodiscard]] std::unique_lock<std::mutex> pass();
    // Whether a committer waits for another one.
    bool is_awaited() const { return waiting_ > 0; }

  private:
    std::mutex mutex_;
    std::atomic<int> waiting_{0};
};

class WriteCollector final : public journal::CommitDemand {
  public:
    static constexpr int kSpoolEntries = 21;
    // A full spool that has more after merging is handed in: else adjacent intents would be one
    // entry of any length, which is not counted.
    static constexpr uint64_t kSpoolBytes = 256 << 10;
    static constexpr size_t kKeptIntentsMax = size_t{1} << 20;

    explicit WriteCollector(CommitLatch& latch, const CommitLimits& limits = {})
        : latch_(latch), limits_(limits) {}

    const CommitLimits& limits() const { return limits_; }

    // Notes a write by the calling thread. No lock and no allocation unless the spool overflows.
    void declare(void* start, uint32_t length);
    void note_created(const std::string& path, int64_t length);

    // storage::Durability's, for what the calling thread declares. A thread has one collector.
    void begin_undo();
    void undo();
    void end_undo();
    // Views's.
    bool keeps_undo() const;
    void on_undo(std::function<void()> call);
    void declare_for_good(void* start, uint32_t length);
    // Copies what a write will change where nothing is declared, since there is no journal.
    void copy_for_undo(void* start, uint32_t length);

    // Empties the calling thread's spool.
    void unspool();
    // The same for a thread that holds the commit latch.
    void unspool_as_committer();

    // Whether anything was declared or created since the last take_job().
    bool has_written() const override { return has_written_.load(std::memory_order_relaxed); }
    // Pages touched, in bytes: of every intent its length rounded up to pages, but for the first
    // one where the intent accepted before it starts in the same.
    uint64_t uncommitted_bytes() const {
        return uncommitted_bytes_.load(std::memory_order_relaxed);
    }
    // How many bytes the collected declarations cover, each byte once; now and then somewhat more
    // than that. What the spools still hold is not in it.
    uint64_t changed_bytes() const { return changed_bytes_.load(std::memory_order_relaxed); }
    // Half of what makes an operation commit by itself.
    bool much_uncommitted() const override { return uncommitted_bytes() > limits_.early_bytes / 2; }

    // The collected job. No writer may be active: global R, W or X. The caller holds the commit
    // latch, up to and with end_job().
    const CommitJob& take_job();
    // Ends what take_job() has returned, and the memory of intents that were exceptionally many.
    void end_job();

  private:
    static constexpr size_t kCacheSlots = 127;
    uint64_t drop_overlaps_bytes() const { return limits_.most_bytes / 4; }

    void hand_in();
    void accept(const WriteIntent& intent);
    void count(const WriteIntent& intent);
    void drop_overlaps();
    void warn_if_much();

    CommitLatch& latch_;
    const CommitLimits limits_;
    std::atomic<bool> has_written_{false};
    std::atomic<uint64_t> uncommitted_bytes_{0};
    std::atomic<uint64_t> changed_bytes_{0};

    size_t held_bytes_ = 0;  // the committer's; counted as memory while a job is committed
    std::mutex job_mutex_;
    // Guarded by job_mutex_:
    std::array<CommitJob, 2> jobs_;
    int collecting_ = 0;
    std::array<WriteIntent, kCacheSlots> cache_{};
    uintptr_t last_page_ = 0;
    uint64_t drop_overlaps_at_ = drop_overlaps_bytes();
    int warnings_ = 0;
    int64_t last_warning_ms_ = 0;
    bool warned_of_count_ = false;
};
static_assert(WriteCollector::kSpoolEntries > 1);

}  // namespace mmapv1

#include "storage/mmapv1/commit/write_collector.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "sched/memory.h"
#include "sched/operation.h"
#include "storage/mmapv1/commit/before_images.h"

namespace mmapv1 {

namespace {

constexpr uintptr_t kPageBytes = 4096;
constexpr size_t kManyIntents = 2'000'000;
constexpr int kUnthrottledWarnings = 99;
constexpr int64_t kWarningEveryMs = 60'000;

struct Spool {
    WriteCollector* owner = nullptr;
    int count = 0;
    int plain_below = WriteCollector::kSpoolEntries;  // with fewer entries the next one just fits
    BeforeImages* images = nullptr;                   // null: nothing can be taken back
    WriteIntent entries[WriteCollector::kSpoolEntries] = {};
};
// Trivial to destroy: reached without a guard.
constinit thread_local Spool t_spool{};

// Merges overlapping and touching entries; false if there were none.
bool compact(Spool& spool) {
    DCHECK(spool.count > 0);
    WriteIntent* begin = spool.entries;
    WriteIntent* end = begin + spool.count;
    std::sort(begin, end,
              [](const WriteIntent& a, const WriteIntent& b) { return a.start < b.start; });
    WriteIntent* last = begin;
    for (WriteIntent* next = begin + 1; next != end; ++next) {
        if (next->start <= last->end()) {
            last->length = static_cast<uint32_t>(std::max(last->end(), next->end()) - last->start);
        } else {
            *++last = *next;
        }
    }
    const int before = spool.count;
    spool.count = static_cast<int>(last - begin) + 1;
    return spool.count < before;
}

// Ends the copies with the outermost pair of begin_undo() and its end.
void stop_copies() {
    if (!t_spool.images->empty()) return;
    t_spool.images = nullptr;
    t_spool.plain_below = WriteCollector::kSpoolEntries;
}

// Whether the spool covers many bytes; call after compact().
bool holds_much(const Spool& spool) {
    uint64_t bytes = 0;
    for (int i = 0; i < spool.count; ++i)
        bytes += spool.entries[i].length;
    return bytes > WriteCollector::kSpoolBytes;
}

// Makes place for an entry, and copies the bytes if they may have to be put back.
void prepare_entry(WriteCollector& collector, Spool& spool, uint8_t* start, uint32_t length) {
    if (spool.images != nullptr) spool.images->copy(start, length);
    if (spool.count < WriteCollector::kSpoolEntries) return;
    if (!compact(spool) || holds_much(spool)) collector.unspool();
}

int64_t now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

void merge_for_journal(std::vector<WriteIntent>& intents) {
    if (intents.empty()) return;
    std::sort(intents.begin(), intents.end(),
              [](const WriteIntent& a, const WriteIntent& b) { return a.end() < b.end(); });
    size_t last = 0;
    for (size_t i = 1; i < intents.size(); ++i) {
        WriteIntent& merged = intents[last];
        const WriteIntent& next = intents[i];
        if (next.start < merged.end()) {
            uint8_t* const end = next.end();
            merged.start = std::min(merged.start, next.start);
            merged.length = static_cast<uint32_t>(end - merged.start);
        } else {
            intents[++last] = next;
        }
    }
    intents.resize(last + 1);
}

void CommitLatch::lock() {
    if (!mutex_.try_lock()) {
        ++waiting_;
        mutex_.lock();
        --waiting_;
    }
}

std::unique_lock<std::mutex> CommitLatch::pass() {
    return std::unique_lock(mutex_);
}

void WriteCollector::declare(void* start, uint32_t length) {
    if (!has_written()) has_written_.store(true, std::memory_order_relaxed);
    Spool& spool = t_spool;
    if (spool.count >= spool.plain_below) [[unlikely]]
        prepare_entry(*this, spool, static_cast<uint8_t*>(start), length);
    DCHECK(spool.count < kSpoolEntries && (spool.count == 0 || spool.owner == this));
    spool.owner = this;
    spool.entries[spool.count++] = {static_cast<uint8_t*>(start), length};
}

void WriteCollector::begin_undo() {
    BeforeImages& images = BeforeImages::of_thread();
    images.begin();
    t_spool.images = &images;
    t_spool.plain_below = 0;
}

void WriteCollector::undo() {
    t_spool.images->undo();
    stop_copies();
}

void WriteCollector::end_undo() {
    t_spool.images->end();
    stop_copies();
}

bool WriteCollector::keeps_undo() const {
    return t_spool.images != nullptr;
}

void WriteCollector::on_undo(std::function<void()> call) {
    t_spool.images->on_undo(std::move(call));
}

void WriteCollector::declare_for_good(void* start, uint32_t length) {
    BeforeImages* const images = std::exchange(t_spool.images, nullptr);
    declare(start, length);
    t_spool.images = images;
}

void WriteCollector::copy_for_undo(void* start, uint32_t length) {
    if (t_spool.images != nullptr) t_spool.images->copy(static_cast<uint8_t*>(start), length);
}

void WriteCollector::note_created(const std::string& path, int64_t length) {
    const auto pass = latch_.pass();
    const std::lock_guard lock(job_mutex_);
    jobs_[static_cast<size_t>(collecting_)].created.push_back({path, length});
    has_written_.store(true, std::memory_order_relaxed);
}

void WriteCollector::unspool() {
    if (t_spool.count == 0) return;
    const auto pass = latch_.pass();
    hand_in();
}

void WriteCollector::unspool_as_committer() {
    if (t_spool.count != 0) hand_in();
}

void WriteCollector::hand_in() {
    Spool& spool = t_spool;
    if (spool.owner != this) base::fatal(16731, "write intents of another engine in this thread");
    const std::lock_guard lock(job_mutex_);
    for (int i = 0; i < spool.count; ++i)
        accept(spool.entries[i]);
    spool.count = 0;
    if (changed_bytes() > drop_overlaps_at_) drop_overlaps();
    warn_if_much();
}

void WriteCollector::accept(const WriteIntent& intent) {
    const auto address = reinterpret_cast<uintptr_t>(intent.start);
    WriteIntent& known = cache_[(address ^ (address >> 9)) % kCacheSlots];
    if (known.start == intent.start && intent.length <= known.length) return;
    known = intent;
    CommitJob& job = jobs_[static_cast<size_t>(collecting_)];
    if (job.intents.size() == job.intents.capacity()) {
        // A write has begun: memory for its intents may come from the reserve.
        const sched::Operation::Scope detached(nullptr);
        job.intents.reserve(std::max<size_t>(1024, 2 * job.intents.size()));
    }
    job.intents.push_back(intent);
    count(intent);
}

void WriteCollector::count(const WriteIntent& intent) {
    CommitJob& job = jobs_[static_cast<size_t>(collecting_)];
    const auto address = reinterpret_cast<uintptr_t>(intent.start);
    changed_bytes_.store(changed_bytes() + intent.length, std::memory_order_relaxed);
    const uintptr_t page = address / kPageBytes;
    uint64_t pages = (intent.length + kPageBytes - 1) / kPageBytes;
    if (page == last_page_ && pages > 0) --pages;
    last_page_ = page;
    if (pages == 0) return;
    job.bytes += pages * kPageBytes;
    uncommitted_bytes_.store(job.bytes, std::memory_order_relaxed);
}

// Many declarations of the same few bytes are one. Done again when half as much has come to it, or
// a fixed amount, so that it stays cheap.
void WriteCollector::drop_overlaps() {
    std::vector<WriteIntent>& intents = jobs_[static_cast<size_t>(collecting_)].intents;
    DCHECK(!intents.empty());
    std::sort(intents.begin(), intents.end(),
              [](const WriteIntent& a, const WriteIntent& b) { return a.start < b.start; });
    size_t last = 0;
    uint64_t bytes = intents.front().length;
    for (size_t i = 1; i < intents.size(); ++i) {
        WriteIntent& before = intents[last];
        const WriteIntent next = intents[i];
        if (next.start >= before.end()) {
            intents[++last] = next;
            bytes += next.length;
        } else if (next.end() > before.end()) {
            bytes += static_cast<uint64_t>(next.end() - before.end());
            before.length = static_cast<uint32_t>(next.end() - before.start);
        }
    }
    DCHECK(bytes <= changed_bytes());
    intents.resize(last + 1);
    changed_bytes_.store(bytes, std::memory_order_relaxed);
    drop_overlaps_at_ = bytes + std::max(bytes / 2, drop_overlaps_bytes());
}

void WriteCollector::warn_if_much() {
    const CommitJob& job = jobs_[static_cast<size_t>(collecting_)];
    if (job.intents.size() > kManyIntents && !warned_of_count_) {
        warned_of_count_ = true;
        base::log::warning("{} write intents are waiting for a commit", job.intents.size());
    }
    if (job.bytes <= 3 * limits_.early_bytes) return;
    const int64_t now = now_ms();
    if (++warnings_ > kUnthrottledWarnings && now - last_warning_ms_ < kWarningEveryMs) return;
    last_warning_ms_ = now;
    base::log::warning("DR102 too much data written uncommitted {}MB",
                       static_cast<double>(job.bytes) / 1e6);
}

const CommitJob& WriteCollector::take_job() {
    const std::lock_guard lock(job_mutex_);
    const CommitJob& taken = jobs_[static_cast<size_t>(collecting_)];
    collecting_ = 1 - collecting_;
    DCHECK(jobs_[static_cast<size_t>(collecting_)].empty());  // end_job()
    // The private copies, the operations and the section.
    held_bytes_ = 3 * taken.bytes;
    sched::memory::count_taken(held_bytes_);
    cache_.fill({});
    uncommitted_bytes_.store(0, std::memory_order_relaxed);
    changed_bytes_.store(0, std::memory_order_relaxed);
    drop_overlaps_at_ = drop_overlaps_bytes();
    has_written_.store(false, std::memory_order_relaxed);
    return taken;
}

void WriteCollector::end_job() {
    sched::memory::count_released(held_bytes_);
    held_bytes_ = 0;
    const std::lock_guard lock(job_mutex_);
    CommitJob& taken = jobs_[static_cast<size_t>(1 - collecting_)];
    taken.clear();
    if (taken.intents.capacity() > kKeptIntentsMax) taken.intents.shrink_to_fit();
}

}  // namespace mmapv1

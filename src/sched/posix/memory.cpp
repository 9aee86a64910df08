#include "sched/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/dcheck.h"
#include "base/process_memory.h"
#include "sched/memory_metrics.h"
#include "sched/tick.h"

namespace sched::memory {

namespace {

// Smaller ones may exceed the limits by kSlackBytes.
constexpr size_t kSmallBytes = 1024;
constexpr int64_t kSlackBytes = 8 * 1024 * 1024;
// Malloc may keep this much, and no more than an eighth of what operations may hold.
constexpr size_t kUnusedBytes = size_t{16} * 1024 * 1024;
// Malloc maps larger blocks each by itself, and keeps no more than this on top of a heap. A heap
// has a larger block only where so much was free there. Where operations may hold little, what
// stays free between blocks of less would be a large part of it.
constexpr int kMappedBytes = 4 << 20;
constexpr int kMappedBytesInLittle = 1 << 20;
constexpr int64_t kLittleBytes = int64_t{256} << 20;
// An operation that holds less is not refused for the sum of all.
constexpr int64_t kFreeBytes = 1024 * 1024;
// A thread updates the sum when its own count is so far from what it last reported: idle threads
// make the sum wrong by so much each.
constexpr int64_t kReportBytes = 64 * 1024;

std::atomic<int64_t> g_operation_max{kOperationBytes};
std::atomic<int64_t> g_all_max{kAllBytes};
std::atomic<int64_t> g_held_by_all{0};
std::atomic<void*> g_reserve{nullptr};
std::atomic<bool> g_reserve_used{false};  // and not kept anew since

struct Account {
    int64_t held = 0;        // by the operation
    int64_t unreported = 0;  // not in g_held_by_all yet
    bool limited = false;    // an operation runs
};
constinit thread_local Account t_account;

void report() {
    g_held_by_all.fetch_add(t_account.unreported, std::memory_order_relaxed);
    t_account.unreported = 0;
}

// Unreported bytes of a thread that ends would be lost, perhaps each time in the same direction.
struct ReportAtThreadEnd {
    ~ReportAtThreadEnd() { report(); }
};

void add(int64_t bytes) {
    t_account.held += bytes;
    t_account.unreported += bytes;
    if (t_account.unreported > kReportBytes || t_account.unreported < -kReportBytes) [[unlikely]]
        report();
}

bool may_take(size_t bytes) {
    if (!t_account.limited || is_uninterruptible()) return true;
    const int64_t more = static_cast<int64_t>(bytes) - (bytes < kSmallBytes ? kSlackBytes : 0);
    if (t_account.held + more > g_operation_max.load(std::memory_order_relaxed)) return false;
    if (t_account.held + more < kFreeBytes) return true;
    return !g_reserve_used.load(std::memory_order_relaxed) &&
           g_held_by_all.load(std::memory_order_relaxed) + t_account.unreported + more <=
               g_all_max.load(std::memory_order_relaxed);
}

// Whether the reserve has been freed for the caller's allocation: an operation ends instead, but
// neither while it unwinds nor where it must not.
bool release_reserve() {
    if (t_account.limited && !is_uninterruptible() && std::uncaught_exceptions() == 0 &&
        std::current_exception() == nullptr)
        return false;
    void* const reserve = g_reserve.exchange(nullptr);
    if (reserve == nullptr) return false;
    g_reserve_used.store(true, std::memory_order_relaxed);
    std::free(reserve);
    return true;
}

// Called by operator new if the system gives nothing; it is tried again if this returns.
void on_no_memory() {
    if (!release_reserve()) throw std::bad_alloc();
}

// Limits malloc's heaps: by itself it makes eight for each processor and keeps up to 64 MB on top
// of each, which may be several times what the limits allow; what is freed in one is of no use to
// the others. Once, before there are many threads.
void keep_malloc_small() {
    [[maybe_unused]] static const bool done = [] {
        constexpr int kHeapsPerProcessor = 2;
        constexpr int kLeastHeaps = 4;
        constexpr int64_t kBytesPerHeap = int64_t{64} << 20;
        const auto processors = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
        const int64_t most = std::max<int64_t>(g_all_max.load() / kBytesPerHeap, 1);
        mallopt(M_ARENA_MAX, static_cast<int>(std::min<int64_t>(
                                 most, std::max(processors * kHeapsPerProcessor, kLeastHeaps))));
        const int mapped = g_all_max.load() < kLittleBytes ? kMappedBytesInLittle : kMappedBytes;
        mallopt(M_TRIM_THRESHOLD, mapped);
        return mallopt(M_MMAP_THRESHOLD, mapped) == 1;
    }();
}

}  // namespace

// Weak: tests have another one (sched/testing/failing_memory.h).
[[gnu::weak]] void* system_realloc(void* p, size_t bytes) {
    return std::realloc(p, bytes);  // NOLINT(clang-analyzer-optin.portability.UnixAPI)
}

void set_limits(int64_t operation_bytes, int64_t all_bytes) {
    g_operation_max.store(operation_bytes, std::memory_order_relaxed);
    g_all_max.store(all_bytes, std::memory_order_relaxed);
}

int64_t operation_limit() {
    return g_operation_max.load(std::memory_order_relaxed);
}

int64_t all_limit() {
    return g_all_max.load(std::memory_order_relaxed);
}

bool may_hold_more(size_t bytes) {
    return !t_account.limited || is_uninterruptible() ||
           g_held_by_all.load(std::memory_order_relaxed) + t_account.unreported +
                   static_cast<int64_t>(bytes) <=
               g_all_max.load(std::memory_order_relaxed);
}

int64_t held() {
    return t_account.held;
}

bool is_scarce() {
    if (!t_account.limited) return false;
    return t_account.held > g_operation_max.load(std::memory_order_relaxed) / 2 ||
           g_held_by_all.load(std::memory_order_relaxed) >
               g_all_max.load(std::memory_order_relaxed) / 4 * 3;
}

void keep_reserve() {
    keep_malloc_small();
    std::set_new_handler(&on_no_memory);
    if (g_reserve.load() == nullptr) std::free(g_reserve.exchange(std::malloc(kReserveBytes)));
    if (g_reserve.load() != nullptr) g_reserve_used.store(false, std::memory_order_relaxed);
}

void give_back_unused() {
    // free() never returns memory between blocks in use. Returned memory is still "free" for
    // malloc, so that two numbers together tell whether there is more.
    static std::atomic<size_t> free_before{0};
    static std::atomic<size_t> resident_before{0};
    const size_t kept =
        std::min(kUnusedBytes, static_cast<size_t>(g_all_max.load(std::memory_order_relaxed)) / 8);
    const auto has_grown = [kept](std::atomic<size_t>& before, size_t now) {
        if (now < before.load(std::memory_order_relaxed))
            before.store(now, std::memory_order_relaxed);
        return now - before.load(std::memory_order_relaxed) >= kept;
    };
    const size_t free = mallinfo2().fordblks;
    const bool is_more = has_grown(free_before, free);
    const bool is_back = has_grown(resident_before, base::process_memory().own());
    if (free < kept || (!is_more && !is_back)) return;
    malloc_trim(0);
    free_before.store(mallinfo2().fordblks, std::memory_order_relaxed);
    resident_before.store(base::process_memory().own(), std::memory_order_relaxed);
}

int64_t enter(int64_t held, bool limited) {
    // Made before anything else of its kind, it goes after all of it.
    [[maybe_unused]] static thread_local const ReportAtThreadEnd at_thread_end;
    const int64_t before = t_account.held;
    t_account.held = held;
    t_account.limited = limited;
    return before;
}

void* reallocate(void* p, size_t bytes, Reserve reserve) {
    DCHECK(bytes > 0);
    // Blocks that malloc has mapped grow by their page tables; what is smaller may be there twice
    // for a moment.
    constexpr size_t kAlwaysMapped = 2 * kMappedBytes;
    const auto before = static_cast<int64_t>(malloc_usable_size(p));
    const size_t old =
        static_cast<size_t>(before) > kAlwaysMapped ? static_cast<size_t>(before) : 0;
    if (bytes > old && !may_take(bytes - old)) throw LimitExceeded();
    const bool never = reserve == Reserve::never;
    if (never && bytes > kFreeBytes && g_reserve_used.load(std::memory_order_relaxed))
        throw std::bad_alloc();
    void* now = system_realloc(p, bytes);
    if (now == nullptr && !never && release_reserve()) now = system_realloc(p, bytes);
    if (now == nullptr) throw std::bad_alloc();
    add(static_cast<int64_t>(malloc_usable_size(now)) - before);
    return now;
}

void release(void* p) {
    if (p == nullptr) return;
    add(-static_cast<int64_t>(malloc_usable_size(p)));
    std::free(p);
}

void count_taken(size_t bytes) {
    if (!may_take(bytes)) throw LimitExceeded();
    add(static_cast<int64_t>(bytes));
}

void count_released(size_t bytes) {
    add(-static_cast<int64_t>(bytes));
}

}  // namespace sched::memory

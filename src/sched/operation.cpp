#include "sched/operation.h"

#include "base/error.h"
#include "sched/blocking.h"
#include "sched/compute_slots.h"
#include "sched/memory.h"
#include "sched/work_limit.h"

namespace sched {

thread_local void (*BlockingSection::hook)() = nullptr;

namespace {
thread_local Operation* t_current = nullptr;
thread_local Operation::Clock::time_point t_slice_end;
std::atomic<uint32_t> g_next_id{1};
std::atomic<bool> g_shutting_down{false};

int64_t us_of(Operation::Clock::time_point when) {
    return std::chrono::duration_cast<std::chrono::microseconds>(when.time_since_epoch()).count();
}

void add(std::atomic<int64_t>& sum, int64_t value) {
    sum.store(sum.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}
}  // namespace

void LockView::reset() {
    show(0, 0);
    set_waiting(false);
    for (std::atomic<int64_t>* time :
         {&since_us_, &locked_read_, &locked_write_, &acquiring_read_, &acquiring_write_})
        time->store(0, std::memory_order_relaxed);
}

void LockView::show(char global, char database) {
    global_.store(global, std::memory_order_relaxed);
    database_.store(database, std::memory_order_relaxed);
}

void LockView::add_acquiring(bool write, int64_t us) {
    add(write ? acquiring_write_ : acquiring_read_, us);
}

void LockView::hold(bool write, int64_t since_us) {
    writing_.store(write, std::memory_order_relaxed);
    since_us_.store(since_us, std::memory_order_relaxed);
}

void LockView::release(int64_t now_us) {
    const int64_t since = since_us_.load(std::memory_order_relaxed);
    if (since == 0) return;
    since_us_.store(0, std::memory_order_relaxed);
    add(writing_.load(std::memory_order_relaxed) ? locked_write_ : locked_read_, now_us - since);
}

LockTimes LockView::times() const {
    LockTimes times{locked_read_.load(std::memory_order_relaxed),
                    locked_write_.load(std::memory_order_relaxed),
                    acquiring_read_.load(std::memory_order_relaxed),
                    acquiring_write_.load(std::memory_order_relaxed)};
    if (const int64_t since = since_us_.load(std::memory_order_relaxed); since != 0) {
        const int64_t held = us_of(Operation::Clock::now()) - since;
        (writing_.load(std::memory_order_relaxed) ? times.locked_write : times.locked_read) += held;
    }
    return times;
}

Operation::Operation() = default;
Operation::~Operation() = default;

Operation* Operation::current() {
    return t_current;
}

void Operation::start() {
    id_.store(g_next_id.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    killed_.store(kNone, std::memory_order_relaxed);
    has_deadline_ = false;
    memory_held_ = 0;
    locks_.reset();
    set_progress({});
    started_.store(Clock::now(), std::memory_order_relaxed);
    active_.store(true, std::memory_order_release);
}

void Operation::finish() {
    active_.store(false, std::memory_order_release);
}

void Operation::set_deadline_ms(int64_t max_time_ms) {
    has_deadline_ = max_time_ms > 0;
    if (has_deadline_) deadline_ = started() + std::chrono::milliseconds(max_time_ms);
}

void Operation::set_progress(const Progress& progress) {
    done_.store(progress.done, std::memory_order_relaxed);
    total_.store(progress.total, std::memory_order_relaxed);
    phase_.store(progress.text, std::memory_order_relaxed);
}

Operation::Progress Operation::progress() const {
    return {phase_.load(std::memory_order_relaxed), done_.load(std::memory_order_relaxed),
            total_.load(std::memory_order_relaxed)};
}

void Operation::check_interrupt() const {
    if (shutting_down()) base::fail(base::kInterruptedAtShutdown, "interrupted at shutdown");
    if (kill_pending()) base::fail(base::kInterrupted, "operation was interrupted");
    if (has_deadline_ && Clock::now() >= deadline_)
        base::fail(base::kExceededTimeLimit, "operation exceeded time limit");
}

bool Operation::interrupted() const {
    return shutting_down() || kill_pending() || (has_deadline_ && Clock::now() >= deadline_);
}

void Operation::check() {
    if (t_current != nullptr) {
        t_current->check_interrupt();
    } else if (shutting_down()) {
        base::fail(base::kInterruptedAtShutdown, "interrupted at shutdown");
    }
}

void Operation::on_tick_budget_exhausted() {
    ticks_ += kTicksPerCheck - ticks_left_;
    ticks_left_ = kTicksPerCheck;
    const bool may_end = uninterruptible_ <= undoable_;
    if (may_end) check();
    if (t_current == nullptr) return;
    if (may_end) WorkLimit::check();
    const Clock::time_point now = Clock::now();
    // As long as a connection's neighbours may have to wait for it.
    constexpr std::chrono::milliseconds kBlockingSectionAfter{2};
    if (BlockingSection::hook != nullptr && now - t_current->started() > kBlockingSectionAfter)
        const BlockingSection section;
    if (!slice_begun_) {
        slice_begun_ = true;
        t_slice_end = now + kSlice;
    } else if (now >= t_slice_end) {
        slice_over_ = true;
        long_ = true;
        if (!preemptible_ || uninterruptible_ != 0 || t_current->locks().global() != 0) return;
        start_slice();
        ComputeSlots::yield_slot();
    }
}

void Operation::interrupt_all(bool all) {
    g_shutting_down.store(all, std::memory_order_relaxed);
}
bool Operation::shutting_down() {
    return g_shutting_down.load(std::memory_order_relaxed);
}

Operation::Scope::Scope(Operation* op)
    : previous_(t_current),
      outer_held_(memory::enter(op == nullptr ? 0 : op->memory_held(), op != nullptr)) {
    t_current = op;
    if (op == nullptr) return;  // work of its thread under this scope counts for the outer one
    ComputeSlots::release();
    long_ = false;
    start_slice();
}
Operation::Scope::~Scope() {
    const int64_t held = memory::enter(outer_held_, previous_ != nullptr);
    if (t_current != nullptr) {
        t_current->set_memory_held(held);
        ComputeSlots::release();
        long_ = false;
    }
    t_current = previous_;
}

}  // namespace sched

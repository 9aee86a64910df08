#include "sched/operation.h"

#include <algorithm>

#include "base/error.h"
#include "sched/compute_slots.h"
#include "sched/memory.h"

namespace sched {

std::atomic<bool> g_shutting_down{false};  // sched/testing/shutdown.h

namespace {
std::atomic<uint32_t> g_next_id{1};

// The thread's work for one operation ends, or begins.
void change_work() {
    ComputeSlots::release();
    detail::t_state.is_long = false;
}
}  // namespace

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

void Operation::note_copied(uint64_t bytes) {
    tick_bytes(bytes, PerTick::copied);
    Operation* const operation = current();
    if (operation == nullptr) return;
    Progress progress = operation->progress();
    progress.done += static_cast<int64_t>(bytes);
    progress.total = std::max(progress.total, progress.done);
    operation->set_progress(progress);
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
    if (const Operation* const operation = current()) {
        operation->check_interrupt();
    } else if (shutting_down()) {
        base::fail(base::kInterruptedAtShutdown, "interrupted at shutdown");
    }
}

void Operation::interrupt_all() {
    g_shutting_down.store(true, std::memory_order_relaxed);
}
bool Operation::shutting_down() {
    return g_shutting_down.load(std::memory_order_relaxed);
}

Operation::Scope::Scope(Operation* op)
    : previous_(current()),
      outer_held_(memory::enter(op == nullptr ? 0 : op->memory_held(), op != nullptr)) {
    detail::t_state.operation = op;
    if (op == nullptr) return;  // work of its thread under this scope counts for the outer one
    change_work();
    start_slice();
}
Operation::Scope::~Scope() {
    const int64_t held = memory::enter(outer_held_, previous_ != nullptr);
    if (Operation* const op = current()) {
        op->set_memory_held(held);
        change_work();
    }
    detail::t_state.operation = previous_;
}

}  // namespace sched

#include "base/operation.h"

#include "base/blocking.h"
#include "base/error.h"

namespace base {

thread_local void (*BlockingSection::hook)() = nullptr;

namespace {
thread_local Operation* t_current = nullptr;
std::atomic<uint32_t> g_next_id{1};
std::atomic<bool> g_shutting_down{false};
}  // namespace

Operation::Operation() = default;
Operation::~Operation() = default;

Operation* Operation::current() {
    return t_current;
}

void Operation::start() {
    id_ = g_next_id.fetch_add(1, std::memory_order_relaxed);
    killed_.store(false, std::memory_order_relaxed);
    has_deadline_ = false;
    started_ = Clock::now();
    active_.store(true, std::memory_order_release);
}

void Operation::finish() {
    active_.store(false, std::memory_order_release);
}

void Operation::set_deadline_ms(int64_t max_time_ms) {
    has_deadline_ = max_time_ms > 0;
    if (has_deadline_) deadline_ = started_ + std::chrono::milliseconds(max_time_ms);
}

void Operation::check_interrupt() const {
    if (shutting_down()) fail(kInterruptedAtShutdown, "interrupted at shutdown");
    if (kill_pending()) fail(kInterrupted, "operation was interrupted");
    if (has_deadline_ && Clock::now() >= deadline_)
        fail(kExceededTimeLimit, "operation exceeded time limit");
}

void Operation::check() {
    if (t_current != nullptr) {
        t_current->check_interrupt();
    } else if (shutting_down()) {
        fail(kInterruptedAtShutdown, "interrupted at shutdown");
    }
}

void Operation::interrupt_all() {
    g_shutting_down.store(true, std::memory_order_relaxed);
}
bool Operation::shutting_down() {
    return g_shutting_down.load(std::memory_order_relaxed);
}

Operation::Scope::Scope(Operation* op) : previous_(t_current) {
    t_current = op;
}
Operation::Scope::~Scope() {
    t_current = previous_;
}

}  // namespace base

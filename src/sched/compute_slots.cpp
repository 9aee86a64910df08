#include "sched/compute_slots.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "sched/operation.h"

namespace sched {

namespace {

// More than processors: some of them may wait for the disk.
constexpr int kSlotsPerProcessor = 4;
constexpr int kSlotsMin = 8;
// How often a waiter checks for an interrupt.
constexpr std::chrono::milliseconds kInterruptCheckInterval{50};

struct SlotWaiter {
    std::condition_variable called;
    bool has_slot = false;
    SlotWaiter* behind = nullptr;
};

std::mutex g_mutex;
// Guarded by g_mutex. The queue is linked through the waiters: queueing must not fail for want of
// memory.
SlotWaiter* g_first = nullptr;
int g_slots_taken = 0;
std::atomic<int> g_waiting{0};

Operation::Clock::time_point slice_from_now() {
    return Operation::Clock::now() + kSlice;
}

void queue(SlotWaiter& waiter) {
    SlotWaiter** last = &g_first;
    while (*last != nullptr)
        last = &(*last)->behind;
    *last = &waiter;
    g_waiting.fetch_add(1, std::memory_order_relaxed);
}

void unqueue(const SlotWaiter& waiter) {
    SlotWaiter** at = &g_first;
    while (*at != &waiter)
        at = &(*at)->behind;
    *at = waiter.behind;
    g_waiting.fetch_sub(1, std::memory_order_relaxed);
}

// Hands a slot that its thread releases to the next waiter.
void hand_slot_on() {
    if (g_first == nullptr) {
        --g_slots_taken;
        return;
    }
    SlotWaiter& next = *g_first;
    unqueue(next);
    next.has_slot = true;
    next.called.notify_one();
}

// Returns whether it got a slot. False: the operation is interrupted.
bool wait(std::unique_lock<std::mutex>& lock, const Operation& operation) {
    SlotWaiter self;
    queue(self);
    while (
        !self.called.wait_for(lock, kInterruptCheckInterval, [&self] { return self.has_slot; })) {
        if (!operation.interrupted()) continue;
        unqueue(self);
        return false;
    }
    // hand_slot_on() has taken it out of the queue. NOLINTNEXTLINE(clang-analyzer-core.*)
    return true;
}

}  // namespace

int ComputeSlots::capacity() {
    static const int capacity = std::max(
        kSlotsMin, kSlotsPerProcessor * static_cast<int>(std::thread::hardware_concurrency()));
    return capacity;
}

bool ComputeSlots::must_yield() {
    if (!is_long()) return false;
    if (detail::t_state.has_slot)
        return g_waiting.load(std::memory_order_relaxed) != 0 &&
               Operation::Clock::now() >= detail::t_state.slot_end;
    const std::lock_guard lock(g_mutex);
    if (g_first != nullptr || g_slots_taken >= capacity()) return true;
    ++g_slots_taken;
    detail::t_state.has_slot = true;
    detail::t_state.slot_end = slice_from_now();
    return false;
}

void ComputeSlots::yield_slot() {
    if (!must_yield()) return;
    const Operation* const operation = Operation::current();
    std::unique_lock lock(g_mutex);
    if (detail::t_state.has_slot) hand_slot_on();
    detail::t_state.has_slot = false;
    if (g_first == nullptr && g_slots_taken < capacity()) {
        ++g_slots_taken;
        detail::t_state.has_slot = true;
    } else {
        detail::t_state.has_slot = wait(lock, *operation);
    }
    detail::t_state.slot_end = slice_from_now();
}

void ComputeSlots::release_held() {
    const std::lock_guard lock(g_mutex);
    hand_slot_on();
    detail::t_state.has_slot = false;
}

int ComputeSlots::waiting() {
    return g_waiting.load(std::memory_order_relaxed);
}

}  // namespace sched

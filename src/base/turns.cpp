#include "base/turns.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/blocking.h"
#include "base/operation.h"

namespace base {

namespace {

// More than processors: some of them may wait for the disk.
constexpr int kPlacesPerProcessor = 4;
constexpr int kLeastPlaces = 8;
// Who waits looks this often whether its operation is to end.
constexpr std::chrono::milliseconds kLook{50};

struct Waiter {
    std::condition_variable called;
    bool has_place = false;
    Waiter* behind = nullptr;
};

std::mutex g_mutex;
// Guarded by g_mutex. The queue is linked through who waits: this may not fail for want of memory.
Waiter* g_first = nullptr;
int g_taken = 0;
std::atomic<int> g_waiting{0};

thread_local Operation::Clock::time_point t_until;  // of the place that the thread has

Operation::Clock::time_point slice_from_now() {
    return Operation::Clock::now() + Operation::kSlice;
}

void queue(Waiter& waiter) {
    Waiter** last = &g_first;
    while (*last != nullptr)
        last = &(*last)->behind;
    *last = &waiter;
    g_waiting.fetch_add(1, std::memory_order_relaxed);
}

void unqueue(const Waiter& waiter) {
    Waiter** at = &g_first;
    while (*at != &waiter)
        at = &(*at)->behind;
    *at = waiter.behind;
    g_waiting.fetch_sub(1, std::memory_order_relaxed);
}

// A place that its thread leaves.
void hand_on() {
    if (g_first == nullptr) {
        --g_taken;
        return;
    }
    Waiter& next = *g_first;
    unqueue(next);
    next.has_place = true;
    next.called.notify_one();
}

// Whether it has been given a place. False: the operation is to end.
bool wait(std::unique_lock<std::mutex>& lock, const Operation& operation) {
    Waiter self;
    queue(self);
    while (!self.called.wait_for(lock, kLook, [&self] { return self.has_place; })) {
        if (!operation.is_to_end()) continue;
        unqueue(self);
        return false;
    }
    return true;
}

}  // namespace

int Turns::places() {
    static const int places = std::max(
        kLeastPlaces, kPlacesPerProcessor * static_cast<int>(std::thread::hardware_concurrency()));
    return places;
}

bool Turns::over() {
    if (!Operation::is_long()) return false;
    if (has_place_)
        return g_waiting.load(std::memory_order_relaxed) != 0 && Operation::Clock::now() >= t_until;
    const std::lock_guard lock(g_mutex);
    if (g_first != nullptr || g_taken >= places()) return true;
    ++g_taken;
    has_place_ = true;
    t_until = slice_from_now();
    return false;
}

void Turns::pass() {
    if (!over()) return;
    const Operation* const operation = Operation::current();
    const BlockingSection away;
    std::unique_lock lock(g_mutex);
    if (has_place_) hand_on();
    has_place_ = false;
    if (g_first == nullptr && g_taken < places()) {
        ++g_taken;
        has_place_ = true;
    } else {
        has_place_ = wait(lock, *operation);
    }
    t_until = slice_from_now();
}

void Turns::give_back() {
    const std::lock_guard lock(g_mutex);
    hand_on();
    has_place_ = false;
}

int Turns::waiting() {
    return g_waiting.load(std::memory_order_relaxed);
}

}  // namespace base

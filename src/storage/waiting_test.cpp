// Waits give the thread's compute slot away: for a lock, and for whatever else.

#include "storage/waiting.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "sched/compute_slots.h"
#include "sched/operation.h"
#include "storage/lock.h"

namespace storage {
namespace {

// Long operations that compute at once have compute slots; while all of these wait, others get one.
// `poll` is called until one does.
void expect_slots_of_waiters(const std::function<void()>& wait, const std::function<void()>& poll,
                             const std::function<void()>& end_waits) {
    const auto compute = [] {
        while (!sched::is_long())
            sched::tick(1000);
    };
    std::atomic<int> with_slot{0};
    std::vector<std::thread> waiting;
    for (int i = 0; i < sched::ComputeSlots::capacity(); ++i)
        waiting.emplace_back([&] {
            sched::Operation operation;
            operation.start();
            const sched::Operation::Scope scope(&operation);
            compute();
            if (!sched::ComputeSlots::must_yield()) ++with_slot;
            wait();
        });
    sched::Operation operation;
    operation.start();
    const sched::Operation::Scope scope(&operation);
    compute();
    while (with_slot < sched::ComputeSlots::capacity())
        std::this_thread::yield();
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (sched::ComputeSlots::must_yield() && std::chrono::steady_clock::now() < limit)
        poll();
    EXPECT_FALSE(sched::ComputeSlots::must_yield());
    sched::ComputeSlots::release();
    end_waits();
    for (std::thread& each : waiting)
        each.join();
}

// A thread that waits for fsyncUnlock needs no compute slot.
TEST(Waiting, WhoWaitsForLongGivesItsPlaceToOthers) {
    LockManager manager;
    std::optional<GlobalLock> held(std::in_place, manager, GlobalMode::W);
    expect_slots_of_waiters([&] { const DatabaseLock lock(manager, "a", true); },
                            [] { std::this_thread::yield(); }, [&] { held.reset(); });
}

// Others that come and go wake all waiters of the same lock.
TEST(Waiting, WhoIsWokenInVainGivesItsPlaceToOthers) {
    for (const InterruptCheck interrupt_check :
         {InterruptCheck{nullptr}, InterruptCheck{sched::Operation::check}}) {
        std::mutex mutex;
        std::condition_variable changed;
        bool ready = false;
        expect_slots_of_waiters(
            [&] {
                std::unique_lock lock(mutex);
                wait_until(
                    changed, lock, [&] { return ready; }, interrupt_check);
            },
            [&] {
                changed.notify_all();
                std::this_thread::yield();
            },
            [&] {
                const std::lock_guard lock(mutex);
                ready = true;
                changed.notify_all();
            });
    }
}

}  // namespace
}  // namespace storage

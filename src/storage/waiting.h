// storage/waiting.h - waiting for a condition, with or without an interrupt check.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "sched/compute_slots.h"

namespace storage {

// Called now and then by a waiting thread: throws if the thread may not go on waiting. null: it
// waits as long as it takes.
using InterruptCheck = void (*)();

// A thread that waits for longer than a moment does not compute: its compute slot
// (sched/compute_slots.h) goes to others.
template <typename Ready>
void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Ready&& ready,
                InterruptCheck interrupt_check) {
    constexpr std::chrono::milliseconds kBetweenLooks{50};
    if (changed.wait_for(lock, kBetweenLooks, ready)) return;
    sched::ComputeSlots::release();
    if (interrupt_check == nullptr) {
        changed.wait(lock, ready);
        return;
    }
    do
        interrupt_check();
    while (!changed.wait_for(lock, kBetweenLooks, ready));
}

}  // namespace storage

// storage/waiting.h - waiting for a condition, with or without a way out.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/turns.h"

namespace storage {

// What a waiting thread asks now and then whether it may go on waiting: throws if not. null: it
// waits as long as it takes.
using WayOut = void (*)();

// Who waits for longer than a moment computes nothing meanwhile: its place (base/turns.h) goes to
// others.
template <typename Ready>
void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Ready&& ready,
                WayOut way_out) {
    constexpr std::chrono::milliseconds kBetweenLooks{50};
    if (changed.wait_for(lock, kBetweenLooks, ready)) return;
    base::Turns::leave();
    if (way_out == nullptr) {
        changed.wait(lock, ready);
        return;
    }
    do
        way_out();
    while (!changed.wait_for(lock, kBetweenLooks, ready));
}

}  // namespace storage

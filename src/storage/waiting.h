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
    bool long_wait = false;
    while (!ready()) {
        if (way_out == nullptr && long_wait) {
            changed.wait(lock);
            continue;
        }
        if (changed.wait_for(lock, kBetweenLooks) == std::cv_status::timeout) {
            base::Turns::leave();
            long_wait = true;
        }
        if (way_out != nullptr) way_out();
    }
}

}  // namespace storage

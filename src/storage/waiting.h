// storage/waiting.h - waiting for a condition, with or without a way out.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace storage {

// What a waiting thread asks now and then whether it may go on waiting: throws if not. null: it
// waits as long as it takes.
using WayOut = void (*)();

template <typename Ready>
void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Ready&& ready,
                WayOut way_out) {
    constexpr std::chrono::milliseconds kBetweenLooks{50};
    while (!ready()) {
        if (way_out == nullptr) {
            changed.wait(lock);
        } else {
            changed.wait_for(lock, kBetweenLooks);
            way_out();
        }
    }
}

}  // namespace storage

// storage/contract/memory_undo.h - how the engine in memory takes back what a thread has changed:
// it does the opposite, step by step.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/dcheck.h"

namespace storage::contract {

class MemoryUndo {
  public:
    static MemoryUndo& of_thread() {
        static std::mutex mutex;
        static std::map<std::thread::id, MemoryUndo> all;
        const std::lock_guard lock(mutex);
        return all[std::this_thread::get_id()];
    }
    bool is_kept() const { return !begun_.empty(); }
    void begin() { begun_.push_back(steps_.size()); }
    void undo() {
        const size_t first = begun_.back();
        std::vector<std::function<void()>> steps(steps_.begin() + static_cast<ptrdiff_t>(first),
                                                 steps_.end());
        for (; !steps.empty(); steps.pop_back())
            steps.back()();
        steps_.resize(first);
        end();
    }
    void end() {
        DCHECK(is_kept());
        begun_.pop_back();
        if (begun_.empty()) steps_.clear();
    }
    // The opposite of what has just been done.
    void note(std::function<void()> step) {
        if (is_kept()) steps_.push_back(std::move(step));
    }

  private:
    std::vector<size_t> begun_;
    std::vector<std::function<void()>> steps_;
};

}  // namespace storage::contract

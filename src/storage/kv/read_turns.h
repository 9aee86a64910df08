// storage/kv/read_turns.h - calls that have a large row two or three times for a while, one at a
// time where there is little memory (base::is_little_memory): a library that reads it, or a commit
// that becomes a batch of the library.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/available_memory.h"

namespace kv {

class ReadTurns {
  public:
    explicit ReadTurns(int64_t memory_bytes) : are_taken_(base::is_little_memory(memory_bytes)) {}
    ReadTurns(const ReadTurns&) = delete;
    ReadTurns& operator=(const ReadTurns&) = delete;

    // Returns a turn, which lasts until it goes; where there is memory, an empty one at once.
    std::unique_lock<std::mutex> take() {
        return are_taken_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
    }

  private:
    const bool are_taken_;
    std::mutex mutex_;
};

}  // namespace kv

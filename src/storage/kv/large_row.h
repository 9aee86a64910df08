// storage/kv/large_row.h - a large row that a library has copied for its reader, as it counts
// towards the operation (sched/memory.h).
#pragma once

#include <cstddef>
#include <utility>

#include "sched/memory.h"

namespace kv {

class LargeRow {
  public:
    // Smaller ones are within what an operation may hold besides.
    static constexpr size_t kBytesMin = (size_t{1} << 20) + 1;
    static constexpr bool is_large(size_t bytes) { return bytes >= kBytesMin; }

    LargeRow() = default;
    ~LargeRow() { release(); }
    LargeRow(const LargeRow&) = delete;
    LargeRow& operator=(const LargeRow&) = delete;

    // Counts a row in place of the one before, if it is large. Throws
    // sched::memory::LimitExceeded, having counted none.
    void hold(size_t bytes) {
        release();
        if (!is_large(bytes)) return;
        sched::memory::count_taken(bytes);
        bytes_ = bytes;
    }
    void release() {
        if (bytes_ != 0) sched::memory::count_released(std::exchange(bytes_, 0));
    }

  private:
    size_t bytes_ = 0;
};

}  // namespace kv

// options/megabyte.h - what the options that patches add to the journal take for a megabyte.
#pragma once

#include <atomic>
#include <cstdint>

namespace options {

// Less in tests on a disk in memory, which would never come to such a limit.
inline std::atomic<uint64_t> journal_megabyte{uint64_t{1} << 20};

inline uint64_t journal_megabytes(int64_t n) {
    return static_cast<uint64_t>(n) * journal_megabyte.load(std::memory_order_relaxed);
}

}  // namespace options

// options/memory_limit.h - the parameter memoryLimitMB, and the limits that follow from it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/available_memory.h"
#include "options/option.h"

namespace options {

struct MemoryLimits {
    int64_t all_operations_bytes;  // of all operations and what waits for them, together
    int64_t operation_bytes;
    int64_t incomplete_messages_bytes;  // what is arriving, all connections together
    int64_t messages_bytes;             // with large ones that are being served
    int64_t temporary_files_bytes;      // on the disk, of sorts and groups
    int64_t cursors;
    int64_t cursors_per_connection;
    int64_t sessions;
};

constexpr MemoryLimits limits_of_memory(int64_t megabytes) {
    const int64_t bytes = megabytes << 20;
    return {.all_operations_bytes = bytes,
            // A document of a pipeline, of up to 64 MB, is there several times while a stage makes
            // another of it. A reply of 16 MB is there twice while it grows.
            .operation_bytes = std::max(bytes / 5 * 2, int64_t{40} << 20),
            .incomplete_messages_bytes = std::max(bytes / 4, int64_t{16} << 20),
            .messages_bytes = std::max(bytes / 2, int64_t{16} << 20),
            .temporary_files_bytes = bytes * 16,
            .cursors = megabytes * 10,
            .cursors_per_connection = megabytes * 2,
            .sessions = megabytes * 1'000};
}

constexpr int64_t kMemoryLimitMB = 1024;
constexpr int64_t kMemoryLimitLeastMB = 32;

// A third: messages that arrive, what waits for a commit, and malloc have the rest. Of little
// memory what the server needs itself is a larger part.
constexpr int64_t memory_limit_of(int64_t memory_bytes) {
    const int64_t parts = base::is_little_memory(memory_bytes) ? 4 : 3;
    return std::clamp(memory_bytes / parts >> 20, kMemoryLimitLeastMB, kMemoryLimitMB);
}

inline Integer memory_limit_mb({
    .name = "memoryLimitMB",
    .group = Group::parameters,
    .unit = "MB",
    .default_value = kMemoryLimitMB,
    .default_text = "1024, or a third of the memory of the machine or control group, a quarter of "
                    "less than 1 GB",
    .default_of_memory = [](int64_t bytes) -> Value { return memory_limit_of(bytes); },
    .range = Range{kMemoryLimitLeastMB, 1 << 20},
    .help =
        "Memory that all operations, and what waits for them, may hold together, at least {low} "
        "MB; beyond it, operations that need more than a megabyte end with an error. Shares of it: "
        "one operation may hold two fifths; idle cursors half, beyond which those that hold most "
        "end. Besides: messages that are still arriving a quarter; on the disk, sorts and groups "
        "with allowDiskUse 16 times as much in _tmp of the dbpath, of which idle cursors half. For "
        "each MB: 10 open cursors, 2 of one connection, and 1000 logical sessions.",
    .parameter = Parameter::always,
});

// Returns the limits that follow from the value in force now.
inline MemoryLimits memory_limits() {
    return limits_of_memory(memory_limit_mb.get());
}

}  // namespace options

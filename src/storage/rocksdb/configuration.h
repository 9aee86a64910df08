// storage/rocksdb/configuration.h - how the library is set up.
#pragma once

#include <rocksdb/options.h>

#include <cstdint>
#include <limits>
#include <memory>

#include "storage/kv/host.h"
#include "storage/rocksdb/watch.h"

namespace rocks {

// Returns the bytes that a commit may change where the process may have so much memory; 0: as much
// as it needs. The library has a large row more than a dozen times: in the batch, in each memtable,
// and, whole, in each file that a merge reads or writes, beside what it is compressed into.
constexpr int64_t commit_bytes_of_memory(int64_t memory_bytes) {
    constexpr int64_t kTimes = 24;
    return memory_bytes > 0 ? memory_bytes / kTimes : std::numeric_limits<int64_t>::max();
}

// Returns our options, with the words of settings.config, "name=value;name=value", over them.
// Throws base::Error for other words than those that only trade speed, memory and space.
rocksdb::Options configuration(const kv::MapSettings& settings, rocksdb::Env* env,
                               std::shared_ptr<Watch> watch);

}  // namespace rocks

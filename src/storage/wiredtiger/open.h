// storage/wiredtiger/open.h - an ordered map (storage/kv/map.h) of the library WiredTiger.
//
// Each table is one of the library, called t and its number, in a file of its own. A commit is a
// transaction of the library, made again where the library rolls it back; no two sessions change
// one row. Nothing is synced but by sync_log() and checkpoint(). The log is written whatever
// MapSettings::log says: recovery of the library passes over changes that are logged later of a
// table that a run without a log has written.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "storage/kv/host.h"
#include "storage/kv/map.h"

namespace wt {

// Returns the bytes that a commit may change where the process may have so much memory; 0: as much
// as it needs. They are there as changes of the thread, in the library's cache, as a record of the
// log and compressed for that; and each of several clients that read such rows has the page of one
// in the cache, however small that is to be.
constexpr int64_t commit_bytes_of_memory(int64_t memory_bytes) {
    constexpr int64_t kTimes = 24;
    return memory_bytes > 0 ? memory_bytes / kTimes : std::numeric_limits<int64_t>::max();
}

// Faults for tests, in the place of what is real.
struct Faults {
    std::function<uint64_t()> free_bytes = {};  // what the disk has left
    std::function<bool()> rolls_back = {};      // whether the next call finds the cache full
};

// Throws base::Error where the directory holds what is none of ours, is damaged or cannot be used,
// and for words of the configuration that the library does not know or that would break what a map
// promises.
std::unique_ptr<kv::Map> open_map(const kv::MapSettings& settings, const Faults& faults = {});

}  // namespace wt

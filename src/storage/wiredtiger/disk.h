// storage/wiredtiger/disk.h - how much room the disk of a directory has, and how much the library
// needs.
#pragma once

#include <cstdint>
#include <string>

#include "storage/kv/host.h"

namespace wt {

// Changes of the log in one file, and one that is made before it is needed.
constexpr uint64_t kLogFileBytes = uint64_t{64} << 20;
// The library ends the process that cannot write its log or a checkpoint.
constexpr uint64_t kReservedBytes = 2 * kLogFileBytes + (uint64_t{64} << 20);

// Throws base::Error with what errno says of a path.
[[noreturn]] void fail_errno(const kv::Host& host, const std::string& path);
// Syncs a file or directory.
void sync_path(const kv::Host& host, const std::string& path);
// Returns the free bytes of the disk that the directory is on; the largest number if that is
// unknown.
uint64_t free_bytes_of(const std::string& directory);
// Returns "the disk of DIRECTORY has so many MB left, and WiredTiger needs so many MB".
std::string full_disk_text(const std::string& directory, uint64_t free_bytes, uint64_t needed);

}  // namespace wt

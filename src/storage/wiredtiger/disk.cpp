#include "storage/wiredtiger/disk.h"

#include <sys/statvfs.h>

#include <limits>

namespace wt {

uint64_t free_bytes_of(const std::string& directory) {
    struct statvfs disk {};
    if (::statvfs(directory.c_str(), &disk) != 0) return std::numeric_limits<uint64_t>::max();
    return uint64_t{disk.f_bavail} * disk.f_frsize;
}

std::string full_disk_text(const std::string& directory, uint64_t free_bytes, uint64_t needed) {
    return "the disk of " + directory + " has " + std::to_string(free_bytes >> 20) +
           " MB left, and WiredTiger needs " + std::to_string(needed >> 20) + " MB";
}

}  // namespace wt

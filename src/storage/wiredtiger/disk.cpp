#include "storage/wiredtiger/disk.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "base/error_codes.h"
#include "storage/wiredtiger/status.h"

namespace wt {

void fail_errno(const kv::Host& host, const std::string& path) {
    const int error = errno;
    fail(host, error == ENOSPC ? base::kOutOfDiskSpace : base::kInternalError,
         path + ": " + std::strerror(error));
}

void sync_path(const kv::Host& host, const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail_errno(host, path);
    const bool is_synced = ::fsync(file) == 0;
    ::close(file);
    if (!is_synced) fail_errno(host, path);
}

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

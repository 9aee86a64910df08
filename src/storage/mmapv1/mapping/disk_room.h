// storage/mmapv1/mapping/disk_room.h - whether the disk has room for one more file of a database.
//
// Files are made under the write lock. A system that is asked for more than it has allocates what
// is left, finds that it does not do, and gives it back: tens of milliseconds, in which the journal
// may be refused its room, too. The free space is therefore compared first. If the disk refuses all
// the same (a quota, space that the file system keeps for itself), twice in succession, nothing is
// tried for a second.
//
// The log says when a disk gets full and when it is not any more; clients hear of the refusals in
// between.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "os/clock.h"
#include "os/file_system.h"
#include "storage/mmapv1/mapping/views.h"

namespace mmapv1 {

// Safe to call from several threads.
class DiskRoom {
  public:
    DiskRoom(os::FileSystem& files, os::Clock& clock, std::string dbpath)
        : files_(files), clock_(clock), dbpath_(std::move(dbpath)) {}

    // Returns the free bytes on the device of a file, which need not exist yet. Throws base::Error.
    uint64_t free_bytes(const std::string& relative_path) const;

    // Calls `make`, which makes a file of that length. Throws base::Error 14031 if there is no room
    // for it, most often without a call.
    MappedFile& make_file(const std::string& relative_path, int64_t length,
                          const std::function<MappedFile&()>& make);

  private:
    // The state of a device that has refused a file, until it has room for what was wanted last.
    struct Shortage {
        int64_t since_us = 0;
        int64_t refused = 0;
        int64_t wanted_bytes = 0;
        bool was_tried = false;  // and refused by the system
        int64_t next_attempt_us = 0;
    };

    std::string folder_of(const std::string& relative_path) const;
    bool may_try(uint64_t device) const;
    [[noreturn]] void refuse(uint64_t device, int64_t length, bool tried, const std::string& why);
    void note_made(uint64_t device, const std::string& folder, int64_t length, int64_t left);

    os::FileSystem& files_;
    os::Clock& clock_;
    const std::string dbpath_;
    mutable std::mutex mutex_;
    std::map<uint64_t, Shortage> shortages_;  // by device; guarded by mutex_
};

}  // namespace mmapv1

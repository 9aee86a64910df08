#include "storage/mmapv1/mapping/disk_room.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/error.h"
#include "base/log.h"

namespace mmapv1 {

namespace {

constexpr int64_t kRetryUs = 1'000'000;

// Whether the device is full, or its user has used up its share.
bool has_no_room(const os::IoError& error) {
#ifdef EDQUOT
    if (error.reason() == std::error_code(EDQUOT, std::generic_category())) return true;
#endif
    return error.reason() == std::errc::no_space_on_device;
}

}  // namespace

std::string DiskRoom::folder_of(const std::string& relative_path) const {
    std::string folder = os::parent(os::join(dbpath_, relative_path));
    return files_.exists(folder) ? folder : dbpath_;
}

uint64_t DiskRoom::free_bytes(const std::string& relative_path) const {
    return files_.free_bytes(folder_of(relative_path));
}

MappedFile& DiskRoom::make_file(const std::string& relative_path, int64_t length,
                                const std::function<MappedFile&()>& make) {
    const std::string folder = folder_of(relative_path);
    const uint64_t device = files_.device_of(folder).value_or(0);
    const auto free = static_cast<int64_t>(
        std::min<uint64_t>(files_.free_bytes(folder), std::numeric_limits<int64_t>::max()));
    if (free < length)
        refuse(device, length, false,
               fmt::format("{} needs {} MB, {} MB are left in {}", relative_path, length >> 20,
                           free >> 20, folder));
    if (!may_try(device))
        refuse(device, length, false,
               fmt::format("{} has refused a file less than a second ago", folder));
    try {
        MappedFile& file = make();
        note_made(device, folder, length, free - length);
        return file;
    } catch (const os::IoError& error) {
        if (!has_no_room(error)) throw;
        refuse(device, length, true, error.what());
    }
}

bool DiskRoom::may_try(uint64_t device) const {
    const std::lock_guard guard(mutex_);
    const auto found = shortages_.find(device);
    return found == shortages_.end() || clock_.monotonic_us() >= found->second.next_attempt_us;
}

void DiskRoom::refuse(uint64_t device, int64_t length, bool tried, const std::string& why) {
    const int64_t now = clock_.monotonic_us();
    bool begins = false;
    {
        const std::lock_guard guard(mutex_);
        const auto [shortage, is_new] = shortages_.try_emplace(device, Shortage{.since_us = now});
        begins = is_new;
        ++shortage->second.refused;
        shortage->second.wanted_bytes = length;
        if (tried && shortage->second.was_tried) shortage->second.next_attempt_us = now + kRetryUs;
        shortage->second.was_tried = shortage->second.was_tried || tried;
    }
    if (begins)
        base::log::error("the disk is full: {}; writes that need a new data file are refused", why);
    base::fail(base::kOutOfDiskSpace, "the disk is full: {}", why);
}

// `left` is free behind it. A smaller file than the last one that was refused proves little.
void DiskRoom::note_made(uint64_t device, const std::string& folder, int64_t length, int64_t left) {
    Shortage over;
    {
        const std::lock_guard guard(mutex_);
        const auto found = shortages_.find(device);
        if (found == shortages_.end()) return;
        if (std::max(length, left) < found->second.wanted_bytes) return;
        over = found->second;
        shortages_.erase(found);
    }
    constexpr double kUsPerSecond = 1e6;
    base::log::error(
        "the disk has room again: {} was full for {:.1f} s, in which {} writes were refused",
        folder, static_cast<double>(clock_.monotonic_us() - over.since_us) / kUsPerSecond,
        over.refused);
}

}  // namespace mmapv1

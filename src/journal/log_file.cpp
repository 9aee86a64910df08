#include "journal/log_file.h"

#include "base/error.h"
#include "base/log.h"

namespace journal {

LogFile::LogFile(os::FileSystem& files, const std::string& path) {
    try {
        file_ = files.open(path, log_file_options());
    } catch (const os::IoError& e) {
        base::fail(13516, "couldn't open file {} for writing: {}", path, e.what());
    }
    files.sync_directory(os::parent(path));
}

void LogFile::write(std::span<const uint8_t> bytes) {
    const size_t size = bytes.size();
    start_ = file_->position();
    unsynced_ = size;
    try {
        while (!bytes.empty())
            bytes = bytes.subspan(file_->write_some(bytes));
    } catch (const os::IoError& e) {
        base::log::error(
            "LogFile::synchronousAppend failed with {} bytes unwritten out of {} bytes; {}",
            bytes.size(), size, e.what());
        throw;
    }
}

void LogFile::sync() {
    try {
        file_->sync_data();
    } catch (const os::IoError& e) {
        base::log::error("error appending to file on fsync {}", e.what());
        throw;
    }
    if (!file_->is_direct()) file_->drop_cache(start_, unsynced_);
}

void LogFile::truncate_here() {
    file_->truncate(file_->position());
    file_->sync();
}

}  // namespace journal

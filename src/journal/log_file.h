// journal/log_file.h - a file that is only appended to, each append on the device before it returns
// (journal spec 3.1, 3.2).
//
// One append is, as a system-call trace shows it: lseek to learn the position, write, fdatasync;
// and a cache hint where direct I/O is not available. On Windows it is the write alone, of a file
// with write-through. Buffers start at a multiple of kBufferAlignment and lengths are multiples of
// the device's block.
//
// How long such appends take here is what the command journalLatencyTest tells (journal spec 5.4).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "os/clock.h"
#include "os/file_system.h"

namespace journal {

// How a LogFile opens its file (journal spec 3.1).
os::OpenOptions log_file_options();

class LogFile {
  public:
    // Opens or creates the file, position 0, and syncs its directory. Throws base::Error 13516.
    LogFile(os::FileSystem& files, const std::string& path);

    const std::string& path() const { return file_->path(); }

    // write() and sync() are the halves of append(); they throw os::IoError.
    void write(std::span<const uint8_t> bytes);
    void sync();
    void append(std::span<const uint8_t> bytes) {
        write(bytes);
        sync();
    }
    void rewind() { file_->seek(0); }
    // Cuts the file off at the position and syncs it.
    void truncate_here();

  private:
    std::unique_ptr<os::File> file_;
    uint64_t start_ = 0;  // of the bytes that are written but not synced
    uint64_t unsynced_ = 0;
};

// Mean milliseconds per append.
struct AppendLatency {
    double small = 0;              // 8 KB
    double small_with_pauses = 0;  // 8 KB, with 4 ms between them
    double large = 0;              // 1 MB
};
struct LatencyReport {
    AppendLatency growing, overwriting;
};

// Uses and removes the scratch file journalLatencyTest in `directory`. Throws os::IoError, and
// what ends the operation that runs it.
LatencyReport measure_latency(os::FileSystem& files, os::Clock& clock,
                              const std::string& directory);

}  // namespace journal

// journal/journal.h - the directory journal/ of a running server: appending sections, rotation, the
// lsn file, removal of what is not needed any more (journal spec 2, 3).
//
// Safety rules kept here:
//  J1 append() returns only when the section is on the device; otherwise the process ends.
//  J2 A file is removed only when every section in it was applied to the data files before the
//     start of a flush of all of them that has completed.
//  J3 Files are removed in ascending order, so what a crash leaves is a run that can be replayed.
//  J4 Nothing is removed before recovery has completed (allow_removal).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "journal/counters.h"
#include "journal/file_pool.h"
#include "journal/format.h"
#include "journal/log_file.h"
#include "os/clock.h"
#include "os/file_system.h"

namespace journal {

struct Settings {
    std::string directory;     // <dbpath>/journal
    uint64_t limit_bytes = 0;  // section bytes after which a file is left for the next one
    bool preallocation_allowed = true;
    bool check_space = true;
};

constexpr uint64_t kLimitBytes = uint64_t{1} << 30;
constexpr uint64_t kSmallLimitBytes = uint64_t{128} << 20;

// One journal file found on disk.
struct FoundFile {
    uint32_t number = 0;
    std::string path;
};
// All j._<n>, ascending. Throws base::Error 13531 for two files of one number, 13532 for a gap.
std::vector<FoundFile> find_journal_files(os::FileSystem& files, const std::string& directory);
bool has_journal_files(os::FileSystem& files, const std::string& directory);
// What the lsn file says, for the log; 0 without a usable one. Recovery does not rely on it: the
// numbers of older servers allow it to skip sections that are needed.
uint64_t read_lsn(os::FileSystem& files, const std::string& directory);

class Journal {
  public:
    Journal(os::FileSystem& files, os::Clock& clock, Counters& counters, const Settings& settings);

    const std::string& directory() const { return settings_.directory; }

    // Start-up, in this order; recovery lies between the first two.
    void create_directory();
    void allow_removal() { removal_allowed_ = true; }
    void prepare();  // space check (15926), preallocation, first file

    // The commit's part. One commit at a time: the caller serialises these five.
    void ensure_open();  // there is a file to append to
    const FileFormat& format() const { return format_; }
    uint64_t file_id() const { return file_id_; }
    uint64_t next_sequence();  // rising from section to section, about ms since start
    void append(std::span<const uint8_t> section, uint64_t raw_bytes);
    // lsn file and rotation, after an append.
    void after_append();

    // All sections up to `sequence` are in the shared views.
    void note_applied(uint64_t sequence) { applied_sequence_ = sequence; }

    // Around a synchronous flush of all data files. Any thread; flushes may overlap.
    struct FlushMark {
        uint64_t sequence = 0;
        int64_t started_ms = 0;
    };
    FlushMark flush_started() const;
    void flush_finished(const FlushMark& mark);

    // Closes the current file and removes all j._*; serialised with the commits. The next commit
    // opens a new file with the next number. What is left is a marked directory.
    void remove_files();

    // A start that finds the lock file of a server that did not end cleanly refuses an empty
    // journal/: it may be a mount point without its device. So journal/ is never empty while the
    // lock file says that a server runs: where no other file is sure to stay, an lsn file of zero
    // bytes does, which says nothing to a recovery.
    void mark_directory();    // before the lock file is written
    void unmark_directory();  // after it has been emptied

  private:
    struct ClosedFile {
        std::string path;
        int64_t closed_ms;
        uint64_t last_sequence;
    };

    int64_t elapsed_ms() const;
    void open_next();
    void write_file_header(LogFile& file);
    void rotate();
    void remove_unneeded();
    void write_lsn(uint64_t lsn);
    void check_space();

    os::FileSystem& files_;
    os::Clock& clock_;
    Counters& counters_;
    const Settings settings_;
    const int64_t started_us_;
    FilePool pool_;

    // Only used by the serialised calls:
    std::unique_ptr<LogFile> file_;
    FileFormat format_ = kClassicFormat;
    uint64_t file_id_ = 0;
    uint32_t next_number_ = 0;
    uint64_t written_ = 0;  // section bytes in file_
    uint64_t last_sequence_ = 0;
    std::deque<ClosedFile> closed_;
    bool removal_allowed_ = false;

    std::atomic<uint64_t> applied_sequence_{0};
    mutable std::mutex flush_mutex_;
    FlushMark last_flush_;    // guarded by flush_mutex_
    bool lsn_stale_ = false;  // guarded by flush_mutex_
};

}  // namespace journal

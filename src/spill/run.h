// spill/run.h - entries in a temporary file, for what does not fit into memory: sorted runs, and
// what is to be read again.
//
// The room spill/ is what sorts beside the data: run.h has the files, sorted_runs.h merges them,
// sorter.h sorts entries of bytes. It knows neither documents nor their order.
//
// A file "extsort.<process>.<n>" can be read by its owner only (mode 0600) and nobody had it before
// (O_EXCL, no link followed). It goes with the object, whether what made it ends well, fails or is
// killed. What a crash leaves behind goes with the next start, which empties the dbpath's _tmp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "bson/builder.h"
#include "os/file_system.h"

namespace spill {

// What holds for the files of all operations together. Index builds are not counted: theirs are as
// large as the index.
constexpr int64_t kAllBytes = int64_t{16} << 30;
// So much of the disk is left to data files and journal.
constexpr uint64_t kLeftFreeBytes = uint64_t{256} << 20;
// At any time, from any thread.
void set_limit(int64_t all_bytes);
int64_t limit();
// Bytes in files of operations at this moment.
int64_t bytes_on_disk();
// By how much the calling thread has made these grow so far; where it removes what others wrote,
// less than 0.
int64_t bytes_by_this_thread();
// The same for the descriptors of files and their folders.
int64_t descriptors_by_this_thread();

// So many bytes of memory, less where operations may hold little.
int64_t fair_share(int64_t bytes);
// Whether memory that would hold `bytes` should rather be written out: they are more than the fair
// share of `limit`, or the operation has little left.
bool is_full(int64_t bytes, int64_t limit);

// Where the files of one sort go. Outlives them.
class Folder {
  public:
    enum class Use { operation, index_build };
    // Touches nothing: `path` is made with the first file, one level, and must not be a link then.
    // Empty: the system's folder for temporary files, which is looked for then.
    Folder(std::string path, Use use) : given_(std::move(path)), use_(use) {}
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const std::string& given() const { return given_; }

  private:
    friend class Run;
    const std::string& path();
    os::FileSystem& files();

    const std::string given_;
    const Use use_;
    std::string path_;                       // empty before the first file
    std::unique_ptr<os::FileSystem> files_;  // null before the first file
};

// Written from the first entry to the last one, then read in this order, any number of times. Calls
// throw base::Error 14031 when the file cannot be written or read, or is not to grow (set_limit,
// kLeftFreeBytes); writing and reading count ticks (base/operation.h), so that they can be
// interrupted.
class Run {
  public:
    explicit Run(Folder& folder);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // One entry, of two parts so that nobody has to put them together.
    void append(std::span<const uint8_t> head, std::span<const uint8_t> tail = {});
    // Ends the writing; the next entry is the first one.
    void rewind();
    // Moves to the next entry; false at the end.
    bool advance();
    // Valid until the next advance().
    std::span<const uint8_t> entry() const { return {read_.get() + entry_, position_ - entry_}; }

    // What reading it holds in memory, at most.
    size_t memory_bytes() const;

  private:
    void write(std::span<const uint8_t> bytes);
    void write_chunk();
    void check_room(size_t more);
    bool have(size_t bytes);

    Folder& folder_;
    const std::string path_;
    std::unique_ptr<os::File> file_;
    uint64_t offset_ = 0;      // in the file: what was written, or read, last ends there
    uint64_t end_ = 0;         // of the file
    uint64_t checked_to_ = 0;  // the file may grow so far
    size_t largest_ = 0;       // of the entries, in bytes
    bson::Buffer chunk_;       // to be written
    std::unique_ptr<uint8_t[]> read_;
    size_t capacity_ = 0;  // of read_
    size_t held_ = 0;      // of it, how much has been read
    size_t position_ = 0;  // in it, behind the entry
    size_t entry_ = 0;     // in it
};

}  // namespace spill

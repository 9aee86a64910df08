// spill/temporary_file.h - the files of data that does not fit into memory, and their limits.
//
// A file "extsort.<process>.<n>" can be read by its owner only (mode 0600) and did not exist before
// (O_EXCL, no link followed). It goes with the object, whether what made it ends well, fails or is
// killed. The next start, which empties the dbpath's _tmp, removes the files that a crash leaves.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "os/file_system.h"

namespace spill {

// The limit for the files of all operations together. Index builds are not counted: theirs are as
// large as the index.
constexpr int64_t kAllBytes = int64_t{16} << 30;
// The space of the disk that is left to data files and journal.
constexpr uint64_t kLeftFreeBytes = uint64_t{256} << 20;
// Sets the limit; at any time, from any thread.
void set_limit(int64_t all_bytes);
int64_t limit();
// Returns how many bytes the files of operations have at this moment.
int64_t bytes_on_disk();
// Returns by how much the calling thread has made these grow so far; less than 0 if it has removed
// what others wrote.
int64_t bytes_by_this_thread();
// Returns by how much it has made the number of descriptors of files and their folders grow.
int64_t descriptors_by_this_thread();

// The folder of the files of one sort. Outlives them.
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
    friend class TemporaryFile;
    const std::string& path();
    os::FileSystem& files();

    const std::string given_;
    const Use use_;
    std::string path_;                       // empty before the first file
    std::unique_ptr<os::FileSystem> files_;  // null before the first file
};

// Written at its end, read anywhere. Calls throw base::Error 14031 when that fails, or the file is
// not to grow (set_limit, kLeftFreeBytes).
class TemporaryFile {
  public:
    explicit TemporaryFile(Folder& folder);
    ~TemporaryFile();
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    void append(std::span<const uint8_t> bytes);
    uint64_t size() const { return size_; }
    // Fills `to`, which must lie in the file.
    void read(uint64_t offset, std::span<uint8_t> to);

  private:
    void check_limits(size_t more);

    Folder& folder_;
    const std::string path_;
    std::unique_ptr<os::File> file_;
    uint64_t size_ = 0;
    uint64_t counted_to_ = 0;  // so much of it is counted among the bytes of all
    uint64_t checked_to_ = 0;  // it may grow so far
};

}  // namespace spill

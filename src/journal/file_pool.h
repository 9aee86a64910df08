// journal/file_pool.h - journal files made in advance or kept from earlier use: prealloc.0 to
// prealloc.2 (journal spec 2.11, 2.12).
//
// Writing over existing blocks spares the sync the new length and the block allocation. Whether
// that pays is measured once per start, unless such files already exist.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/clock.h"
#include "os/file_system.h"

namespace journal {

class FilePool {
  public:
    static constexpr int kSlots = 3;

    FilePool(os::FileSystem& files, os::Clock& clock, std::string directory, uint64_t file_bytes);

    // Of a file made in advance, and after which one is left for the next.
    uint64_t file_bytes() const { return file_bytes_; }

    // Decides whether to preallocate and, if so, creates the missing files. `allowed`:
    // --nopreallocj was not given.
    void prepare(bool allowed);
    bool enabled() const { return enabled_; }

    // The lowest existing slot's path, whether preallocation is on or not.
    std::optional<std::string> find_file();
    // Takes a journal file that is not needed any more: into a free slot, or away. False: it is
    // still there, and the log says why. The caller syncs the directory.
    bool retire(const std::string& path);
    // Lengths of the existing slots together.
    uint64_t bytes_on_disk();

  private:
    std::string slot_path(int slot) const;
    bool has_file(int slot);
    bool wanted(bool allowed);
    bool preallocation_is_faster();
    int64_t overwrite_gain_us();  // of one measured round
    void create(const std::string& path);
    void recycle(const std::string& path, const std::string& slot);

    os::FileSystem& files_;
    os::Clock& clock_;
    const std::string directory_;
    const uint64_t file_bytes_;
    bool enabled_ = false;
};

}  // namespace journal

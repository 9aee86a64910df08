// storage/mmapv1/commit/remap.h - stage REMAPPRIVATEVIEW: throwing away copied pages of private
// views, some files at a time (journal spec 1.5).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "storage/mmapv1/mapping/file_set.h"

namespace mmapv1 {

class Remapper {
  public:
    static constexpr int64_t kTargetUs = 2'000'000;  // all files about that often

    explicit Remapper(bool always_all) : always_all_(always_all) {}

    // A commit has left so many bytes of private copies (an estimate). These two: any thread.
    void note_private_bytes(uint64_t bytes) { private_bytes_ += bytes; }
    uint64_t private_bytes() const { return private_bytes_; }

    // How many of `files` to visit: the larger of the time fraction and the memory fraction of
    // them, at least one. The first remap of a process visits all.
    size_t files_to_visit(size_t files, int64_t now_us, uint64_t limit_bytes) const;
    // Visits files in a circle, starting where the last visit stopped. Global W or X, nothing
    // pending, and no other thread calls this object.
    void run(FileSet& files, int64_t now_us, uint64_t limit_bytes);

  private:
    const bool always_all_;
    std::atomic<uint64_t> private_bytes_{0};  // since the last remap
    std::optional<int64_t> last_us_;
    std::string resume_after_;  // path of the file visited last
};

}  // namespace mmapv1

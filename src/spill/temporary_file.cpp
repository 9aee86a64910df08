#include "spill/temporary_file.h"

#include <atomic>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "base/log.h"
#include "os/confined_file_system.h"
#include "sched/tick.h"

namespace spill {

namespace {

// How often the disk is asked how much is free.
constexpr uint64_t kCheckBytes = uint64_t{4} << 20;

std::atomic<int64_t> g_all_max{kAllBytes};
std::atomic<int64_t> g_bytes{0};
// What the calling thread holds.
struct Held {
    int64_t bytes = 0, descriptors = 0;
};
thread_local Held t_held;

// Returns how much it is then.
int64_t count(int64_t more) {
    t_held.bytes += more;
    return g_bytes.fetch_add(more, std::memory_order_relaxed) + more;
}

// Runs `work` on a file.
template <typename Work>
auto on_disk(Work&& work) {
    try {
        return work();
    } catch (const os::IoError& e) {
        base::fail(base::kOutOfDiskSpace, "external sort: {}", e.what());
    }
}

std::string new_path(const std::string& directory) {
    static std::atomic<uint64_t> next{1};
    static const unsigned process = std::random_device{}();  // servers may share the directory
    return os::join(directory, fmt::format("extsort.{:08x}.{}", process, next.fetch_add(1)));
}

}  // namespace

void set_limit(int64_t all_bytes) {
    g_all_max.store(all_bytes, std::memory_order_relaxed);
}

int64_t limit() {
    return g_all_max.load(std::memory_order_relaxed);
}

int64_t bytes_on_disk() {
    return g_bytes.load(std::memory_order_relaxed);
}

int64_t bytes_by_this_thread() {
    return t_held.bytes;
}

int64_t descriptors_by_this_thread() {
    return t_held.descriptors;
}

const std::string& Folder::path() {
    if (path_.empty())
        path_ = given_.empty() ? std::filesystem::temp_directory_path().string() : given_;
    return path_;
}

os::FileSystem& Folder::files() {
    if (files_ == nullptr) {
        files_ = os::confined_file_system(os::parent(path()));
        ++t_held.descriptors;
    }
    return *files_;
}

Folder::~Folder() {
    if (files_ != nullptr) --t_held.descriptors;
}

TemporaryFile::TemporaryFile(Folder& folder) : folder_(folder), path_(new_path(folder.path())) {
    on_disk([this] {
        folder_.files().create_directory(folder_.path());
        file_ = folder_.files().open(path_, {.access = os::Access::read_write,
                                             .create = true,
                                             .fresh = true,
                                             .leaves_spare = true});
    });
    ++t_held.descriptors;
}

TemporaryFile::~TemporaryFile() {
    const sched::Uninterruptible whole;  // no limit of memory ends the process here
    file_.reset();
    --t_held.descriptors;
    try {
        folder_.files().remove(path_);
    } catch (const std::exception& e) {
        base::log::warning("external sort: {}", e.what());
    }
    if (folder_.use_ == Folder::Use::operation) count(-static_cast<int64_t>(counted_to_));
}

void TemporaryFile::append(std::span<const uint8_t> bytes) {
    check_limits(bytes.size());
    on_disk([&] { file_->write(bytes); });
    size_ += bytes.size();
}

void TemporaryFile::check_limits(size_t more) {
    const uint64_t end = size_ + more;
    if (folder_.use_ == Folder::Use::index_build) return;
    // Counted first: what is refused or fails is taken back with the file.
    counted_to_ = end;
    const int64_t all = count(static_cast<int64_t>(more));
    if (all > limit())
        base::fail(base::kOutOfDiskSpace,
                   "external sort: the files of all operations would hold {} bytes, more than the "
                   "parameter memoryLimitMB allows (16 times as much)",
                   all);
    if (end <= checked_to_) return;
    const uint64_t left = on_disk([this] { return folder_.files().free_bytes(folder_.path()); });
    const uint64_t wanted = std::max<uint64_t>(more, kCheckBytes);
    if (left < kLeftFreeBytes + wanted)
        base::fail(base::kOutOfDiskSpace,
                   "external sort: the disk of {} has only {} bytes left, too few for files of "
                   "operations, which leave {} to data and journal",
                   folder_.path(), left, kLeftFreeBytes);
    checked_to_ = size_ + wanted;
}

void TemporaryFile::read(uint64_t offset, std::span<uint8_t> to) {
    on_disk([&] {
        if (file_->read_at(offset, to) != to.size())
            base::fail(base::kOutOfDiskSpace, "external sort: {} was cut", path_);
    });
}

}  // namespace spill

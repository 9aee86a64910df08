#include "spill/run.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/blocking.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/operation.h"
#include "os/confined_file_system.h"

namespace spill {

namespace {

constexpr size_t kLengthBytes = sizeof(uint32_t);
// What is written or read at once.
constexpr size_t kChunkBytes = size_t{256} << 10;
// How often the disk is asked how much is free.
constexpr uint64_t kCheckBytes = uint64_t{4} << 20;
// What is copied or checked in the time of a tick (base/operation.h), about.
constexpr size_t kBytesPerTick = 1024;
// Less than this is not worth a file.
constexpr int64_t kWorthwhileBytes = 1 << 20;

std::atomic<int64_t> g_all_max{kAllBytes};
std::atomic<int64_t> g_bytes{0};
thread_local int64_t t_bytes = 0;
thread_local int64_t t_descriptors = 0;

// Returns how much it is then.
int64_t count(int64_t more) {
    t_bytes += more;
    return g_bytes.fetch_add(more, std::memory_order_relaxed) + more;
}

// Runs `work` on the file of a run.
template <typename Work>
auto on_disk(Work&& work) {
    const base::BlockingSection away;
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

void tick_for(size_t bytes) {
    base::Operation::tick(1 + static_cast<int64_t>(bytes / kBytesPerTick));
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
    return t_bytes;
}

int64_t descriptors_by_this_thread() {
    return t_descriptors;
}

int64_t fair_share(int64_t bytes) {
    return std::min(bytes, base::memory::operation_limit() / 4);
}

bool is_full(int64_t bytes, int64_t limit) {
    return bytes > fair_share(limit) || (bytes > kWorthwhileBytes && base::memory::is_scarce());
}

const std::string& Folder::path() {
    if (path_.empty())
        path_ = given_.empty() ? std::filesystem::temp_directory_path().string() : given_;
    return path_;
}

os::FileSystem& Folder::files() {
    if (files_ == nullptr) {
        files_ = os::confined_file_system(os::parent(path()));
        ++t_descriptors;
    }
    return *files_;
}

Folder::~Folder() {
    if (files_ != nullptr) --t_descriptors;
}

Run::Run(Folder& folder) : folder_(folder), path_(new_path(folder.path())) {
    on_disk([this] {
        folder_.files().create_directory(folder_.path());
        file_ = folder_.files().open(path_, {.access = os::Access::read_write,
                                             .create = true,
                                             .fresh = true,
                                             .leaves_spare = true});
    });
    ++t_descriptors;
}

Run::~Run() {
    const base::Operation::Uninterruptible whole;  // no limit of memory ends the process here
    file_.reset();
    --t_descriptors;
    try {
        folder_.files().remove(path_);
    } catch (const std::exception& e) {
        base::log::warning("external sort: {}", e.what());
    }
    if (folder_.use_ == Folder::Use::operation) count(-static_cast<int64_t>(end_));
}

void Run::append(std::span<const uint8_t> head, std::span<const uint8_t> tail) {
    const size_t bytes = head.size() + tail.size();
    tick_for(bytes);
    largest_ = std::max(largest_, bytes);
    chunk_.append_value<uint32_t>(static_cast<uint32_t>(bytes));
    write(head);
    write(tail);
}

// What is large goes past the chunk.
void Run::write(std::span<const uint8_t> bytes) {
    if (chunk_.size() + bytes.size() <= kChunkBytes) {
        chunk_.append(bytes.data(), bytes.size());
        return;
    }
    write_chunk();
    if (bytes.size() < kChunkBytes) {
        chunk_.append(bytes.data(), bytes.size());
        return;
    }
    check_room(bytes.size());
    on_disk([&] { file_->write(bytes); });
    offset_ += bytes.size();
}

void Run::write_chunk() {
    if (chunk_.size() == 0) return;
    check_room(chunk_.size());
    on_disk([this] { file_->write({chunk_.data(), chunk_.size()}); });
    offset_ += chunk_.size();
    chunk_.clear();
}

void Run::check_room(size_t more) {
    end_ = offset_ + more;
    if (folder_.use_ == Folder::Use::index_build) return;
    // Counted first: what is refused or fails is taken back with the file.
    const int64_t all = count(static_cast<int64_t>(more));
    if (all > limit())
        base::fail(base::kOutOfDiskSpace,
                   "external sort: the files of all operations would hold {} bytes, more than the "
                   "parameter allOperationsDiskBytes allows",
                   all);
    if (end_ <= checked_to_) return;
    const uint64_t left = on_disk([this] { return folder_.files().free_bytes(folder_.path()); });
    const uint64_t wanted = std::max<uint64_t>(more, kCheckBytes);
    if (left < kLeftFreeBytes + wanted)
        base::fail(base::kOutOfDiskSpace,
                   "external sort: the disk of {} has only {} bytes left, too few for files of "
                   "operations, which leave {} to data and journal",
                   folder_.path(), left, kLeftFreeBytes);
    checked_to_ = offset_ + wanted;
}

void Run::rewind() {
    write_chunk();
    chunk_ = bson::Buffer();
    offset_ = 0;
    held_ = position_ = entry_ = 0;
}

// Whether that many bytes follow the position; they are then in memory.
bool Run::have(size_t bytes) {
    const size_t kept = held_ - position_;
    if (kept >= bytes) return true;
    if (kept + (end_ - offset_) < bytes) return false;
    const size_t more = std::min<uint64_t>(std::max(bytes - kept, kChunkBytes), end_ - offset_);
    if (capacity_ < kept + more) {
        auto larger = std::make_unique_for_overwrite<uint8_t[]>(kept + more);
        if (kept != 0) std::memcpy(larger.get(), read_.get() + position_, kept);
        read_ = std::move(larger);
        capacity_ = kept + more;
    } else if (kept != 0) {
        std::memmove(read_.get(), read_.get() + position_, kept);
    }
    held_ = kept;
    position_ = 0;
    tick_for(more);
    on_disk([&] {
        if (file_->read_at(offset_, {read_.get() + held_, more}) != more)
            base::fail(base::kOutOfDiskSpace, "external sort: {} was cut", path_);
    });
    offset_ += more;
    held_ += more;
    return true;
}

bool Run::advance() {
    if (!have(kLengthBytes)) return false;
    uint32_t bytes = 0;
    std::memcpy(&bytes, read_.get() + position_, sizeof bytes);
    position_ += kLengthBytes;
    if (!have(bytes)) base::fail(base::kOutOfDiskSpace, "external sort: {} was cut", path_);
    entry_ = position_;
    position_ += bytes;
    tick_for(bytes);
    return true;
}

size_t Run::memory_bytes() const {
    return std::max(largest_, kChunkBytes) + kChunkBytes;
}

}  // namespace spill

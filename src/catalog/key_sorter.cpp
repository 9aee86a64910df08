#include "catalog/key_sorter.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "bson/compare.h"

namespace catalog {

namespace {

constexpr size_t kIdBytes = 8;
constexpr int kOutOfDiskSpace = 14031;

[[noreturn]] void io_failed(const char* what, const std::string& path) {
    base::fail(kOutOfDiskSpace, "external sort: cannot {} {}: {}", what, path,
               std::strerror(errno));
}

std::string new_run_path(const std::string& directory) {
    static std::atomic<uint64_t> next{1};
    static const unsigned process = std::random_device{}();  // servers may share the directory
    const std::filesystem::path base = directory.empty() ? std::filesystem::temp_directory_path()
                                                         : std::filesystem::path(directory);
    std::filesystem::create_directories(base);
    return (base / fmt::format("extsort.{:08x}.{}", process, next.fetch_add(1))).string();
}

}  // namespace

// One sorted run in a file that is removed with the object.
struct KeySorter::Run {
    explicit Run(const std::string& directory) : path(new_run_path(directory)) {
        file = std::fopen(path.c_str(), "wb+");
        if (file == nullptr) io_failed("create", path);
    }
    ~Run() {
        std::fclose(file);
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
    }
    void write(const uint8_t* entry, size_t size) {
        if (std::fwrite(entry, 1, size, file) != size) io_failed("write", path);
    }
    void rewind_for_reading() {
        if (std::fflush(file) != 0 || std::fseek(file, 0, SEEK_SET) != 0) io_failed("read", path);
    }
    // Reads the next entry into `entry`; false at the end.
    bool advance() {
        uint8_t head[kIdBytes + 4];
        if (std::fread(head, 1, sizeof head, file) != sizeof head) {
            if (std::ferror(file) != 0) io_failed("read", path);
            return false;
        }
        const auto size = static_cast<size_t>(bson::load<int32_t>(head + kIdBytes));
        entry.clear();
        entry.append(head, sizeof head);
        if (std::fread(entry.extend(size - 4), 1, size - 4, file) != size - 4)
            io_failed("read", path);
        return true;
    }

    std::string path;
    std::FILE* file = nullptr;
    bson::Buffer entry;
};

KeySorter::KeySorter(uint32_t descending, std::string directory, size_t memory_bytes)
    : descending_(descending), directory_(std::move(directory)), memory_bytes_(memory_bytes) {}

KeySorter::~KeySorter() = default;

bool KeySorter::less(const uint8_t* a, const uint8_t* b) const {
    const int order =
        bson::compare_keys(bson::Doc(a + kIdBytes), bson::Doc(b + kIdBytes), descending_);
    return order != 0 ? order < 0 : bson::load<uint64_t>(a) < bson::load<uint64_t>(b);
}

void KeySorter::add(bson::Doc key, storage::RecordId id) {
    offsets_.push_back(held_.size());
    held_.append_value<uint64_t>(id.value);
    held_.append(key.data(), static_cast<size_t>(key.size()));
    ++count_;
    if (held_.size() + offsets_.size() * sizeof(size_t) > memory_bytes_) spill();
}

void KeySorter::sort_held() {
    std::ranges::stable_sort(
        offsets_, [this](size_t a, size_t b) { return less(held_.data() + a, held_.data() + b); });
}

void KeySorter::spill() {
    sort_held();
    auto run = std::make_unique<Run>(directory_);
    for (const size_t offset : offsets_) {
        const uint8_t* entry = held_.data() + offset;
        run->write(entry, kIdBytes + static_cast<size_t>(bson::Doc(entry + kIdBytes).size()));
    }
    runs_.push_back(std::move(run));
    held_.clear();
    offsets_.clear();
}

void KeySorter::finish() {
    if (runs_.empty()) {
        sort_held();
        return;
    }
    if (!offsets_.empty()) spill();
    for (const auto& run : runs_) {
        run->rewind_for_reading();
        if (run->advance()) heap_.push_back(run.get());
    }
    std::ranges::make_heap(heap_, [this](const Run* a, const Run* b) {
        return less(b->entry.data(), a->entry.data());
    });
}

bool KeySorter::next(bson::Doc* key, storage::RecordId* id) {
    const uint8_t* entry = nullptr;
    if (runs_.empty()) {
        if (position_ == offsets_.size()) return false;
        entry = held_.data() + offsets_[position_++];
    } else {
        const auto later = [this](const Run* a, const Run* b) {
            return less(b->entry.data(), a->entry.data());
        };
        if (last_ != nullptr && last_->advance()) {
            heap_.push_back(last_);
            std::ranges::push_heap(heap_, later);
        }
        last_ = nullptr;
        if (heap_.empty()) return false;
        std::ranges::pop_heap(heap_, later);
        last_ = heap_.back();
        heap_.pop_back();
        entry = last_->entry.data();
    }
    id->value = bson::load<uint64_t>(entry);
    *key = bson::Doc(entry + kIdBytes);
    return true;
}

}  // namespace catalog

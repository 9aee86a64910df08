#include "catalog/key_sorter.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "base/log.h"
#include "bson/compare.h"
#include "os/confined_file_system.h"

namespace catalog {

namespace {

constexpr size_t kIdBytes = 8;
constexpr size_t kLengthBytes = 4;

// What is written or read at once.
constexpr size_t kChunkBytes = size_t{256} << 10;

// Runs `work` on the files of a sort.
template <typename Work>
auto on_disk(Work&& work) {
    try {
        return work();
    } catch (const os::IoError& e) {
        base::fail(base::kOutOfDiskSpace, "external sort: {}", e.what());
    }
}

std::string new_run_path(const std::string& directory) {
    static std::atomic<uint64_t> next{1};
    static const unsigned process = std::random_device{}();  // servers may share the directory
    return os::join(directory, fmt::format("extsort.{:08x}.{}", process, next.fetch_add(1)));
}

}  // namespace

// One sorted run in a file that is removed with the object.
class KeySorter::Run {
  public:
    Run(os::FileSystem& files, const std::string& directory)
        : files_(files), path_(new_run_path(directory)) {
        files.create_directory(directory);
        file_ =
            files.open(path_, {.access = os::Access::read_write, .create = true, .fresh = true});
    }
    ~Run() {
        file_.reset();
        try {
            files_.remove(path_);
        } catch (const os::IoError& e) {
            base::log::warning("external sort: {}", e.what());
        }
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    void write(const uint8_t* entry, size_t size) {
        chunk_.append(entry, size);
        if (chunk_.size() >= kChunkBytes) write_chunk();
    }
    void rewind_for_reading() {
        write_chunk();
        end_ = offset_;
        offset_ = 0;
    }
    // Moves to the next entry; false at the end.
    bool advance() {
        if (!have(kIdBytes + kLengthBytes)) return false;
        const auto bytes =
            static_cast<size_t>(bson::load<int32_t>(chunk_.data() + position_ + kIdBytes));
        if (!have(kIdBytes + bytes)) return false;
        entry_ = position_;
        position_ += kIdBytes + bytes;
        return true;
    }
    const uint8_t* entry() const { return chunk_.data() + entry_; }

  private:
    void write_chunk() {
        file_->write({chunk_.data(), chunk_.size()});
        offset_ += chunk_.size();
        chunk_.clear();
    }
    // Whether that many bytes follow the position; they are then in memory.
    bool have(size_t bytes) {
        size_t held = chunk_.size() - position_;
        if (held >= bytes) return true;
        if (held + (end_ - offset_) < bytes) return false;
        bson::Buffer next;
        next.append(chunk_.data() + position_, held);
        const size_t more = std::min<uint64_t>(std::max(bytes - held, kChunkBytes), end_ - offset_);
        const size_t got = file_->read_at(offset_, {next.extend(more), more});
        if (got != more) base::fail(base::kOutOfDiskSpace, "external sort: {} was cut", path_);
        offset_ += more;
        chunk_ = std::move(next);
        position_ = 0;
        return true;
    }

    os::FileSystem& files_;
    const std::string path_;
    std::unique_ptr<os::File> file_;
    bson::Buffer chunk_;   // to be written, or read already
    uint64_t offset_ = 0;  // in the file, behind the chunk
    uint64_t end_ = 0;     // of the file, while reading
    size_t position_ = 0;  // in the chunk
    size_t entry_ = 0;     // in the chunk
};

KeySorter::KeySorter(uint32_t descending, std::string directory, size_t memory_bytes)
    : descending_(descending),
      directory_(directory.empty() ? std::filesystem::temp_directory_path().string()
                                   : std::move(directory)),
      memory_bytes_(memory_bytes) {}

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
    if (held_.size() + offsets_.size() * sizeof(size_t) > memory_bytes_)
        on_disk([this] { spill(); });
}

void KeySorter::sort_held() {
    std::ranges::stable_sort(
        offsets_, [this](size_t a, size_t b) { return less(held_.data() + a, held_.data() + b); });
}

void KeySorter::spill() {
    sort_held();
    if (files_ == nullptr) files_ = os::confined_file_system(os::parent(directory_));
    auto run = std::make_unique<Run>(*files_, directory_);
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
    on_disk([this] {
        if (!offsets_.empty()) spill();
        for (const auto& run : runs_) {
            run->rewind_for_reading();
            if (run->advance()) heap_.push_back(run.get());
        }
    });
    std::ranges::make_heap(
        heap_, [this](const Run* a, const Run* b) { return less(b->entry(), a->entry()); });
}

bool KeySorter::next(bson::Doc* key, storage::RecordId* id) {
    const uint8_t* entry = nullptr;
    if (runs_.empty()) {
        if (position_ == offsets_.size()) return false;
        entry = held_.data() + offsets_[position_++];
    } else {
        const auto later = [this](const Run* a, const Run* b) {
            return less(b->entry(), a->entry());
        };
        if (last_ != nullptr && on_disk([this] { return last_->advance(); })) {
            heap_.push_back(last_);
            std::ranges::push_heap(heap_, later);
        }
        last_ = nullptr;
        if (heap_.empty()) return false;
        std::ranges::pop_heap(heap_, later);
        last_ = heap_.back();
        heap_.pop_back();
        entry = last_->entry();
    }
    id->value = bson::load<uint64_t>(entry);
    *key = bson::Doc(entry + kIdBytes);
    return true;
}

}  // namespace catalog

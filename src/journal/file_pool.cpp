#include "journal/file_pool.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "journal/aligned_buffer.h"
#include "journal/format.h"
#include "journal/log_file.h"

namespace journal {

namespace {

constexpr uint64_t kMB = uint64_t{1} << 20;
constexpr int kTestWrites = 50;
constexpr int64_t kWorthwhileGainUs = 100'000;  // over kTestWrites: 2 ms per write
constexpr int64_t kLongTestUs = 3'000'000;
constexpr int64_t kProgressEveryUs = 5'000'000;

// Files are made and headers wiped by whole blocks.
static_assert(kMB % kBufferAlignment == 0 && kFileHeaderBytes % kBufferAlignment == 0);

AlignedBuffer zeros(size_t bytes) {
    AlignedBuffer buffer(bytes);
    buffer.resize(bytes);
    std::memset(buffer.data(), 0, bytes);
    return buffer;
}

std::span<const uint8_t> span_of(const AlignedBuffer& buffer) {
    return {buffer.data(), buffer.size()};
}

}  // namespace

FilePool::FilePool(os::FileSystem& files, os::Clock& clock, std::string directory,
                   uint64_t file_bytes)
    : files_(files), clock_(clock), directory_(std::move(directory)), file_bytes_(file_bytes) {}

std::string FilePool::slot_path(int slot) const {
    DCHECK(slot >= 0 && slot < kSlots);
    return os::join(directory_, fmt::format("prealloc.{}", slot));
}

void FilePool::prepare(bool allowed) {
    enabled_ = wanted(allowed);
    if (!enabled_) return;
    for (int slot = 0; slot < kSlots; ++slot) {
        const std::string path = slot_path(slot);
        try {
            if (!files_.exists(path)) create(path);
        } catch (const base::Error& e) {
            base::log::warning("preallocating journal file {} failed, going on without: {}", path,
                               e.what());
        }
    }
}

// A directory of that name is nothing to write a journal to.
bool FilePool::has_file(int slot) {
    return files_.exists(slot_path(slot)) && !files_.is_directory(slot_path(slot));
}

// Files from an earlier run decide before everything else; a lone prealloc.2 does not count.
bool FilePool::wanted(bool allowed) {
    if (has_file(0) || has_file(1)) return true;
    return allowed && preallocation_is_faster();
}

bool FilePool::preallocation_is_faster() {
    const int64_t start = clock_.monotonic_us();
    bool faster = false;
    try {
        faster = overwrite_gain_us() > kWorthwhileGainUs && overwrite_gain_us() > kWorthwhileGainUs;
        if (faster) {
            clock_.make_sleeper()->sleep_us(1'000'000);
            faster = overwrite_gain_us() > kWorthwhileGainUs;
        }
    } catch (const base::Error& e) {
        base::log::info("info preallocateIsFaster couldn't run: {}; returning false", e.what());
    }
    const int64_t took = clock_.monotonic_us() - start;
    if (took > kLongTestUs)
        base::log::info("preallocateIsFaster check took {} secs", static_cast<double>(took) / 1e6);
    return faster;
}

int64_t FilePool::overwrite_gain_us() {
    const std::string path = os::join(directory_, "tempLatencyTest");
    files_.remove_all(path);
    const AlignedBuffer block = zeros(8192);
    const auto pass = [&] {
        LogFile file(files_, path);
        const int64_t start = clock_.monotonic_us();
        for (int i = 0; i < kTestWrites; ++i)
            file.append(span_of(block));
        return clock_.monotonic_us() - start;
    };
    int64_t growing = 0, overwriting = 0;
    try {
        growing = pass();
        overwriting = pass();
    } catch (const base::Error&) {
        files_.remove_all(path);  // a full disk has no room for it
        throw;
    }
    files_.remove(path);
    const int64_t gain = growing - overwriting;
    if (gain > kWorthwhileGainUs)
        base::log::info("preallocateIsFaster=true {}",
                        static_cast<double>(gain) / (1000.0 * kTestWrites));
    return gain;
}

void FilePool::create(const std::string& path) {
    base::log::info("preallocating a journal file {}", path);
    const auto file = files_.open(path, {.access = os::Access::read_write, .create = true});
    const AlignedBuffer block = zeros(kMB);
    int64_t last_line = clock_.monotonic_us();
    try {
        for (uint64_t done = 0; done < file_bytes(); done += kMB) {
            file->write_at(done, span_of(block).first(std::min(kMB, file_bytes() - done)));
            if (clock_.monotonic_us() - last_line < kProgressEveryUs) continue;
            last_line = clock_.monotonic_us();
            base::log::info("File Preallocator Progress: {}/{}\t{}%", done, file_bytes(),
                            100 * done / file_bytes());
        }
        file->sync();
    } catch (const base::Error&) {
        files_.remove(path);  // on a full disk the data needs the room more
        throw;
    }
}

std::optional<std::string> FilePool::find_file() {
    for (int slot = 0; slot < kSlots; ++slot) {
        if (has_file(slot)) return slot_path(slot);
    }
    return std::nullopt;
}

bool FilePool::retire(const std::string& path) {
    try {
        for (int slot = 0; enabled_ && slot < kSlots; ++slot) {
            if (files_.exists(slot_path(slot))) continue;
            recycle(path, slot_path(slot));
            return true;
        }
    } catch (const base::Error& e) {
        base::log::warning("couldn't recycle journal file {}: {}", path, e.what());
    }
    try {
        if (files_.exists(path)) files_.remove(path);
        return true;
    } catch (const base::Error& e) {
        base::log::warning("couldn't remove journal file {}: {}", path, e.what());
        return false;
    }
}

// The file passes through a name that is never read, and loses its old one for good before its
// header is wiped: a crash leaves either a journal file with its header or a slot without one.
void FilePool::recycle(const std::string& path, const std::string& slot) {
    const std::string transient = slot + ".temp";
    files_.rename(path, transient);
    files_.sync_directory(directory_);
    {
        const auto file = files_.open(transient, {.access = os::Access::read_write});
        file->write_at(0, span_of(zeros(kFileHeaderBytes)));
        if (file->length() > file_bytes()) file->truncate(file_bytes());
        file->sync();
    }
    files_.rename(transient, slot);
}

uint64_t FilePool::bytes_on_disk() {
    uint64_t total = 0;
    for (int slot = 0; slot < kSlots; ++slot) {
        if (has_file(slot)) total += files_.file_length(slot_path(slot));
    }
    return total;
}

}  // namespace journal

#include "journal/log_file.h"

#include <algorithm>
#include <cstring>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "journal/aligned_buffer.h"
#include "journal/format.h"
#include "sched/operation.h"

namespace journal {

LogFile::LogFile(os::FileSystem& files, const std::string& path) {
    try {
        file_ = files.open(path, log_file_options());
    } catch (const os::IoError& e) {
        base::fail(13516, "couldn't open file {} for writing: {}", path, e.what());
    }
    files.sync_directory(os::parent(path));
}

void LogFile::write(std::span<const uint8_t> bytes) {
    DCHECK(reinterpret_cast<uintptr_t>(bytes.data()) % kBufferAlignment == 0);
    const size_t size = bytes.size();
    start_ = file_->position();
    unsynced_ = size;
    try {
        while (!bytes.empty())
            bytes = bytes.subspan(file_->write_some(bytes));
    } catch (const os::IoError& e) {
        base::log::error(
            "LogFile::synchronousAppend failed with {} bytes unwritten out of {} bytes; {}",
            bytes.size(), size, e.what());
        throw;
    }
}

void LogFile::sync() {
    try {
        file_->sync_data();
    } catch (const os::IoError& e) {
        base::log::error("error appending to file on fsync {}", e.what());
        throw;
    }
    if (!file_->is_direct()) file_->drop_cache(start_, unsynced_);
}

void LogFile::truncate_here() {
    file_->truncate(file_->position());
    file_->sync();
}

namespace {

constexpr int kSmallAppends = 100, kPausedAppends = 50, kLargeAppends = 20;
constexpr size_t kSmallBytes = 8192, kLargeBytes = size_t{1} << 20;
constexpr int64_t kPauseUs = 4000;
static_assert(kSmallBytes % kBufferAlignment == 0 && kLargeBytes % kSmallBytes == 0);

double mean_ms(int64_t us, int count) {
    return static_cast<double>(us) / 1000.0 / count;
}

AppendLatency measure_pass(os::FileSystem& files, os::Clock& clock, const std::string& path) {
    AlignedBuffer buffer(kLargeBytes);
    std::memset(buffer.data(), 0, kLargeBytes);
    LogFile file(files, path);
    const auto timed = [&](size_t bytes) {
        sched::Operation::check();  // a slow device needs seconds
        const int64_t start = clock.monotonic_us();
        file.append({buffer.data(), bytes});
        return clock.monotonic_us() - start;
    };
    const auto repeat = [&](int count, size_t bytes) {
        int64_t total = 0;
        for (int i = 0; i < count; ++i)
            total += timed(bytes);
        return mean_ms(total, count);
    };
    AppendLatency result;
    result.small = repeat(kSmallAppends, kSmallBytes);

    const auto sleeper = clock.make_sleeper();
    const int64_t start = clock.monotonic_us();
    int64_t total = 0;
    for (int i = 0; i < kPausedAppends; ++i) {
        total += timed(kSmallBytes);
        sleeper->sleep_us(kPauseUs);
    }
    const int64_t without_pauses = clock.monotonic_us() - start - kPausedAppends * kPauseUs;
    result.small_with_pauses = mean_ms(std::max(total, without_pauses), kPausedAppends);

    result.large = repeat(kLargeAppends, kLargeBytes);
    return result;
}

}  // namespace

LatencyReport measure_latency(os::FileSystem& files, os::Clock& clock,
                              const std::string& directory) {
    const std::string path = os::join(directory, "journalLatencyTest");
    files.remove_all(path);
    LatencyReport report;
    try {
        report.growing = measure_pass(files, clock, path);
        report.overwriting = measure_pass(files, clock, path);
    } catch (...) {
        files.remove_all(path);
        throw;
    }
    files.remove(path);
    return report;
}

}  // namespace journal

#include "storage/rocksdb/watch.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace rocks {

using kv::Host;

void Log::Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) {
    if (level < GetInfoLogLevel() || level > rocksdb::InfoLogLevel::FATAL_LEVEL) return;
    std::array<char, 512> text{};
    const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
    if (length <= 0) return;
    std::string line =
        "RocksDB: " + std::string(text.data(), std::min<size_t>(length, text.size() - 1));
    line.erase(line.find_last_not_of('\n') + 1);
    host_.log(level == rocksdb::InfoLogLevel::WARN_LEVEL ? Host::Severity::warning
                                                         : Host::Severity::error,
              line);
}

std::string Watch::error() const {
    const std::lock_guard lock(mutex_);
    return error_;
}

void Watch::clear_error() {
    const std::lock_guard lock(mutex_);
    error_.clear();
    has_error_ = false;
}

void Watch::OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* status) {
    const std::lock_guard lock(mutex_);
    if (reason == rocksdb::BackgroundErrorReason::kWriteCallback) has_log_failed_ = true;
    error_ = status->ToString();
    has_error_ = true;
    host_.log(Host::Severity::error, "RocksDB cannot go on writing: " + error_);
}

void Watch::OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                                 bool* recovers_itself) {
    *recovers_itself = false;
}

void Watch::OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) {
    if (!info.new_bg_error.ok()) return;
    clear_error();
    host_.log(Host::Severity::info, "RocksDB can write again");
}

}  // namespace rocks

// storage/rocksdb/watch.h - what the library tells of: lines for the log, and errors of its
// threads.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/listener.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "storage/kv/host.h"
#include "storage/rocksdb/iterator_pool.h"

namespace rocks {

// Writes warnings and errors to the server's log.
class Log final : public rocksdb::Logger {
  public:
    explicit Log(const kv::Host& host) : Logger(rocksdb::InfoLogLevel::WARN_LEVEL), host_(host) {}
    using Logger::Logv;
    void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override;

  private:
    const kv::Host& host_;
};

// The library calls these functions from any thread.
class Watch final : public rocksdb::EventListener {
  public:
    // `iterators`: which end when memtables or files have gone.
    Watch(const kv::Host& host, std::shared_ptr<IteratorPool> iterators)
        : host_(host), iterators_(std::move(iterators)) {}

    // Returns why a flush or a compaction could not be done; empty while all can.
    std::string error() const;
    bool has_error() const { return has_error_; }
    // Returns whether a commit could not be written: what the log ends with is not known then.
    bool has_log_failed() const { return has_log_failed_; }
    void clear_error();

    void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* status) override;
    void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
        iterators_->clear();
    }
    void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
        iterators_->clear();
    }
    // Refuses the recovery that the library would begin by itself: see Map::go_on_after_error().
    void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason reason, rocksdb::Status error,
                              bool* recovers_itself) override;
    void OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) override;

  private:
    const kv::Host& host_;
    const std::shared_ptr<IteratorPool> iterators_;
    std::atomic<bool> has_error_{false};
    std::atomic<bool> has_log_failed_{false};
    mutable std::mutex mutex_;
    std::string error_;  // guarded by mutex_
};

}  // namespace rocks

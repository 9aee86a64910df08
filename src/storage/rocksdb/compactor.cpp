#include "storage/rocksdb/compactor.h"

#include <utility>

#include "base/dcheck.h"
#include "storage/rocksdb/table_key.h"

namespace rocks {

using kv::Table;

Compactor::Compactor(rocksdb::DB& db, const kv::Host& host)
    : db_(db), host_(host), thread_([this] { run(); }) {}

Compactor::~Compactor() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void Compactor::add(const std::vector<Table>& dropped) {
    DCHECK(!dropped.empty());
    {
        const std::lock_guard lock(mutex_);
        dropped_.insert(dropped_.end(), dropped.begin(), dropped.end());
    }
    changed_.notify_one();
}

void Compactor::run() {
    rocksdb::CompactRangeOptions options;
    options.exclusive_manual_compaction = false;  // the library's own go on beside it
    options.canceled = &stopping_;
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return stopping_ || !dropped_.empty(); });
        const std::vector<Table> dropped = std::exchange(dropped_, {});
        lock.unlock();
        for (const Table table : dropped) {
            if (stopping_) return;
            const std::string begin = table_key(table), end = end_of(table);
            const rocksdb::Slice from(begin), to(end);
            const rocksdb::Status status = db_.CompactRange(options, &from, &to);
            if (!status.ok() && !stopping_)
                host_.log(kv::Host::Severity::warning,
                          "RocksDB could not give back the space of what was dropped: " +
                              status.ToString());
        }
        lock.lock();
        if (stopping_) return;
    }
}

}  // namespace rocks

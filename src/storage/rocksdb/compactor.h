// storage/rocksdb/compactor.h - a thread that writes files anew which hold rows of dropped tables.
// The library would do so too, but only when more is written in these places.
#pragma once

#include <rocksdb/db.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/kv/host.h"
#include "storage/kv/map.h"

namespace rocks {

class Compactor {
  public:
    Compactor(rocksdb::DB& db, const kv::Host& host);
    // Gives up the compaction that is under way.
    ~Compactor();

    void add(const std::vector<kv::Table>& dropped);

  private:
    void run();

    rocksdb::DB& db_;
    const kv::Host& host_;
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<kv::Table> dropped_;  // guarded by mutex_
    std::thread thread_;
};

}  // namespace rocks

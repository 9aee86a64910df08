// storage/rocksdb/map.h - the database of the library as a kv::Map.
//
// Beside the tables of the room kv there is one of the map itself, behind all others: the
// tables that have been dropped and whose files may still hold their rows. The file FORMAT in the
// directory says that it is ours, and that the database is in it.
#pragma once

#include <rocksdb/db.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/kv/host.h"
#include "storage/kv/map.h"
#include "storage/kv/read_turns.h"
#include "storage/rocksdb/compactor.h"
#include "storage/rocksdb/watch.h"

namespace rocks {

class Map final : public kv::Map {
  public:
    // See open_map(). `env` is null for the library's own.
    Map(const kv::MapSettings& settings, std::unique_ptr<rocksdb::Env> env);
    ~Map() override;

    std::unique_ptr<kv::Session> session() override;
    void drop(kv::Table table) override;
    void sync_log() override;
    void checkpoint(bool wait) override;
    void copy_to(const kv::Copy& copy) override;
    void pause() override;
    void resume() override;
    void check_space(uint64_t begun) override;
    int64_t commit_bytes_max() const override { return commit_bytes_max_; }
    std::optional<int64_t> disk_bytes(kv::Table table) const override;
    void report(const AddMetric& add) const override;

  private:
    using Clock = std::chrono::steady_clock;

    rocksdb::WriteOptions write_options() const;
    void open(rocksdb::Options options);
    bool has_log_file(rocksdb::Env& env, const std::string& directory) const;
    void begin(rocksdb::Env& env, const std::string& unfinished);
    void write(rocksdb::WriteBatch& batch);
    rocksdb::Status flush(bool wait);
    void flush_removed_rows();
    // REQUIRES: a flush has ended since these were dropped.
    void remove_files_of(const std::vector<kv::Table>& dropped);
    std::vector<kv::Table> dropped_tables();
    // Lets the library write again after a full disk or the like, if there is no other obstacle.
    rocksdb::Status go_on_after_error() const;
    // Returns why there is no room; empty if there is.
    std::string space_fault() const;

    const kv::Host& host_;
    const std::string directory_;
    const bool has_log_;
    const int64_t commit_bytes_max_;
    const std::unique_ptr<rocksdb::Env> env_;  // null: the library's own
    const std::shared_ptr<IteratorPool> iterators_ = std::make_shared<IteratorPool>();
    const std::shared_ptr<Watch> watch_;
    std::unique_ptr<rocksdb::DB> db_;
    std::unique_ptr<Compactor> compactor_;
    uint64_t reserved_bytes_ = 0;
    kv::ReadTurns read_turns_;
    std::atomic<bool> walks_far_{false};  // a cursor has, since the last commit

    std::mutex drops_mutex_;
    std::vector<kv::Table> drops_;  // guarded by drops_mutex_: since the last checkpoint

    mutable std::mutex recovery_mutex_;
    mutable std::mutex space_mutex_;
    mutable Clock::time_point looked_at_{};  // guarded by space_mutex_
    mutable std::string fault_;              // guarded by space_mutex_: what was seen then
};

}  // namespace rocks

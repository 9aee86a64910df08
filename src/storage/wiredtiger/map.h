// storage/wiredtiger/map.h - the database of the library as a kv::Map.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "storage/wiredtiger/checkpointer.h"
#include "storage/wiredtiger/connection.h"
#include "storage/wiredtiger/open.h"
#include "storage/wiredtiger/tables.h"

namespace wt {

class Map final : public kv::Map {
  public:
    // See open_map().
    Map(const kv::MapSettings& settings, const Faults& faults);

    std::unique_ptr<kv::Session> session() override;
    void add_table(kv::Table table, kv::Kind kind) override { tables_.add(table, kind); }
    bool has_table(kv::Table table) const override { return tables_.has(table); }
    bool repair(kv::Table table) override { return tables_.repair(table); }
    uint32_t tables_end() const override { return tables_.end(); }
    void keep_only(const std::set<kv::Table>& tables) override;
    void drop(kv::Table table) override;
    void sync_log() override;
    void checkpoint(bool wait) override;
    void copy_to(const kv::Copy& copy) override;
    void pause() override;
    void resume() override;
    void check_space(uint64_t begun) override;
    int64_t commit_bytes_max() const override { return commit_bytes_max_; }
    std::optional<int64_t> disk_bytes(kv::Table table) const override;
    bool is_short_of_cache() const override;
    void report(const AddMetric& add) const override;

  private:
    using Clock = std::chrono::steady_clock;

    // Counts the bytes of a commit; begins a checkpoint before a restart would read too long a log.
    void count_bytes(size_t bytes);
    // Returns how many bytes the pages have that are still to be written.
    uint64_t dirty_bytes() const;

    const kv::Host& host_;
    const std::string directory_;
    const int64_t cache_bytes_;
    const int64_t commit_bytes_max_;
    const Faults faults_;
    const Connection connection_;
    Tables tables_;
    std::mutex log_mutex_;
    const SessionHandle log_session_;  // guarded by log_mutex_
    mutable std::mutex report_mutex_;
    const SessionHandle report_session_;  // guarded by report_mutex_
    std::atomic<uint64_t> bytes_since_checkpoint_{0};

    std::mutex space_mutex_;
    Clock::time_point looked_at_{};              // guarded by space_mutex_
    uint64_t free_bytes_ = 0;                    // guarded by space_mutex_: at that time
    uint64_t dirty_bytes_ = 0;                   // guarded by space_mutex_: at that time
    std::atomic<uint64_t> bytes_since_look_{0};  // committed
    Checkpointer checkpointer_;
};

}  // namespace wt

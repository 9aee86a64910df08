// command/observe/profiler.h - what becomes of finished operations: slow ones are logged, and
// databases whose profiling level asks for it keep them in their system.profile.
//
// system.profile is a capped collection of 1 MB unless the user made a larger one before. Levels
// last until the server stops, or the database is dropped.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/log.h"
#include "catalog/catalog.h"
#include "command/observe/op_report.h"
#include "dialect/dialect.h"
#include "storage/fsync_lock.h"

namespace command {

class Profiler {
  public:
    Profiler(catalog::Catalog& catalog, const storage::FsyncLock& fsync_lock)
        : catalog_(catalog), fsync_lock_(fsync_lock) {}

    // 0: off, 1: operations that take slow_ms and longer, 2: all.
    int level(std::string_view db) const;
    // Takes the database lock; makes system.profile. Throws base::Error 2 for another level, 20
    // when there is a system.profile that is not capped; by old messages that only means that no
    // operation is kept.
    void set_level(std::string_view db, int level, dialect::Dialect dialect);
    // Sets the level of databases that have none of their own. Called before the first connection.
    void set_default_level(int level);
    // The database has been dropped.
    void forget(std::string_view db);

    // Operations slower than this are logged.
    int slow_ms() const { return slow_ms_.load(std::memory_order_relaxed); }
    void set_slow_ms(int ms) { slow_ms_.store(ms, std::memory_order_relaxed); }

    // Logs and stores slow and profiled operations, but not while fsync has everything locked: a
    // reader would wait for the end of that, with a thread. `recorded`: whether the operation is
    // one for system.profile. The calling thread holds no lock, or the database's exclusively; what
    // ends under storage::Access::documents is logged only.
    void finished(const FinishedOp& finished, const OpReport& report, bool recorded) {
        if (finished.millis >= slow_ms() || base::log::verbosity() > 0 ||
            any_level_.load(std::memory_order_relaxed) ||
            report.profiled_at != OpReport::kLevelOfDatabase)
            tell(finished, report, recorded);
    }

  private:
    void tell(const FinishedOp& finished, const OpReport& report, bool recorded);
    void store(std::string_view db, bson::Doc doc);
    static catalog::Collection& profile_collection(catalog::Database& db);

    catalog::Catalog& catalog_;
    const storage::FsyncLock& fsync_lock_;
    std::atomic<int> slow_ms_{100};
    std::atomic<bool> any_level_{false};  // false: all levels are 0, no need for the mutex
    mutable std::mutex mutex_;
    int default_level_ = 0;
    std::map<std::string, int, std::less<>> levels_;
};

}  // namespace command

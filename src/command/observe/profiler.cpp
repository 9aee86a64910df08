#include "command/observe/profiler.h"

#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"
#include "sched/tick.h"
#include "storage/lock.h"

namespace command {

namespace {

constexpr int64_t kProfileBytes = 1 << 20;

// A system.profile that a client made, and that would have no end.
bool has_uncapped(catalog::Database& db) {
    const catalog::Collection* const found = db.collection(db.name() + ".system.profile");
    return found != nullptr && !found->capped();
}

}  // namespace

int Profiler::level(std::string_view db) const {
    if (!any_level_.load(std::memory_order_relaxed)) return 0;
    const std::lock_guard guard(mutex_);
    const auto found = levels_.find(db);
    return found == levels_.end() ? default_level_ : found->second;
}

void Profiler::set_level(std::string_view db, int level, dialect::Dialect dialect) {
    if (level < 0 || level > 2)
        base::fail(base::kBadValue, "the profiling level is 0, 1 or 2, not {}", level);
    if (level > 0) {
        const storage::DatabaseLock lock(catalog_.engine().locks(), db, true);
        catalog::Database& database = catalog_.get_or_create(db);
        if (dialect.has(dialect::kProfileIsCapped) || !has_uncapped(database))
            profile_collection(database);
    }
    const std::lock_guard guard(mutex_);
    // There is no end of the names of databases that are not there.
    if (level != default_level_) {
        levels_[std::string(db)] = level;
    } else if (const auto found = levels_.find(db); found != levels_.end()) {
        levels_.erase(found);
    }
    if (level > 0) any_level_.store(true, std::memory_order_relaxed);
}

void Profiler::set_default_level(int level) {
    const std::lock_guard guard(mutex_);
    DCHECK(levels_.empty());
    default_level_ = level;
    if (level > 0) any_level_.store(true, std::memory_order_relaxed);
}

void Profiler::forget(std::string_view db) {
    const std::lock_guard guard(mutex_);
    if (const auto found = levels_.find(db); found != levels_.end()) levels_.erase(found);
}

catalog::Collection& Profiler::profile_collection(catalog::Database& db) {
    DCHECK(storage::LockManager::may_write(db.name()));
    const std::string ns = db.name() + ".system.profile";
    catalog::Collection* found = db.collection(ns);
    if (found == nullptr) return db.create(ns, bson::make("capped", true, "size", kProfileBytes));
    if (!found->capped())
        base::fail(base::kIllegalOperation, "{} is not a capped collection; drop it first", ns);
    return *found;
}

void Profiler::tell(const FinishedOp& finished, const OpReport& report, bool recorded) {
    const sched::Uninterruptible whole;  // destructors end here: no limit of memory holds
    const bool slow = finished.millis >= slow_ms();
    if (slow || base::log::verbosity() > 0)
        base::log::write(base::log::Severity::info, report_line(finished, report));
    if (!recorded || is_refused(finished, report)) return;
    const std::string_view db = catalog::split(finished.ns).db;
    const int wanted =
        report.profiled_at == OpReport::kLevelOfDatabase ? level(db) : report.profiled_at;
    DCHECK(wanted >= 0 && wanted <= 2);
    if (wanted == 2 || (wanted == 1 && slow)) store(db, report_document(finished, report));
}

void Profiler::store(std::string_view db, bson::Doc doc) {
    try {
        std::optional<storage::DatabaseLock> lock;
        // A part of a command that began before operations were to be kept.
        if (storage::LockManager::is_concurrent()) return;
        DCHECK(storage::LockManager::mode() == storage::GlobalMode::none ||
               storage::LockManager::may_write());
        if (!storage::LockManager::holds_database_write()) {
            if (fsync_lock_.busy()) return;
            lock.emplace(catalog_.engine().locks(), db, true);
        }
        // A database that was dropped in between is not created again.
        catalog::Database* const database = catalog_.database(db);
        if (database != nullptr && !has_uncapped(*database))
            profile_collection(*database).insert(doc);
    } catch (const std::exception& e) {
        base::log::warning("cannot add an operation to system.profile of {}: {}", db, e.what());
    }
}

}  // namespace command

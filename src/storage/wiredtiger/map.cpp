#include "storage/wiredtiger/map.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error_codes.h"
#include "storage/wiredtiger/copy.h"
#include "storage/wiredtiger/disk.h"
#include "storage/wiredtiger/open.h"
#include "storage/wiredtiger/session.h"
#include "storage/wiredtiger/status.h"

namespace wt {

using kv::Table;

namespace {

bool read_metric(WT_CURSOR* metrics, int number, int64_t* value) {
    const char *text = nullptr, *shown = nullptr;
    metrics->set_key(metrics, number);
    return metrics->search(metrics) == 0 && metrics->get_value(metrics, &text, &shown, value) == 0;
}

}  // namespace

std::unique_ptr<kv::Map> open_map(const kv::MapSettings& settings, const Faults& faults) {
    return std::make_unique<Map>(settings, faults);
}

Map::Map(const kv::MapSettings& settings, const Faults& faults)
    : host_(*settings.host),
      directory_(settings.directory),
      cache_bytes_(settings.cache_bytes),
      commit_bytes_max_(commit_bytes_of_memory(settings.memory_bytes)),
      faults_(faults),
      connection_(settings),
      tables_(connection_, host_, directory_),
      log_session_(connection_.open_session()),
      report_session_(connection_.open_session()),
      checkpointer_(connection_, tables_, host_, [this] { sync_log(); }) {}

std::unique_ptr<kv::Session> Map::session() {
    return std::make_unique<Session>(connection_, tables_, host_, faults_,
                                     [this](size_t bytes) { count_bytes(bytes); });
}

// A restart must not have to read too long a log.
void Map::count_bytes(size_t bytes) {
    constexpr uint64_t kLogBytesMax = uint64_t{2} << 30;
    bytes_since_look_.fetch_add(bytes, std::memory_order_relaxed);
    if (bytes_since_checkpoint_.fetch_add(bytes) + bytes < kLogBytesMax) return;
    bytes_since_checkpoint_ = 0;
    checkpointer_.begin();
}

void Map::keep_only(const std::set<Table>& tables) {
    for (const Table table : tables_.all())
        if (!tables.contains(table)) drop(table);
    tables_.remove_strange_files();
}

void Map::drop(Table table) {
    tables_.drop(table);
    checkpointer_.table_dropped();
}

void Map::sync_log() {
    const std::lock_guard lock(log_mutex_);
    const int status = log_session_->log_flush(log_session_.get(), "sync=on");
    if (status != 0)
        end_process(host_,
                    std::string("WiredTiger cannot sync its log: ") + wiredtiger_strerror(status));
}

void Map::checkpoint(bool wait) {
    bytes_since_checkpoint_ = 0;
    wait ? checkpointer_.write() : checkpointer_.begin();
}

// What the checkpoint has is not in the log, for whose copy commits are held.
void Map::copy_to(const kv::Copy& copy) {
    checkpoint(true);
    sync_log();
    copy.hold_commits();
    sync_log();
    copy_files(host_, connection_, directory_, copy);
}

void Map::pause() {
    checkpointer_.pause();
    connection_.reconfigure("log=(archive=false,prealloc=false)");
}

void Map::resume() {
    connection_.reconfigure("log=(archive=true,prealloc=true)");
    checkpointer_.resume();
}

void Map::check_space(uint64_t begun) {
    constexpr std::chrono::seconds kLookAgain{1};
    // A change goes into the log and into pages, with its entries of indexes.
    constexpr uint64_t kWritten = 3;
    const std::lock_guard lock(space_mutex_);
    const auto needed = [&] { return kReservedBytes + kWritten * (begun + bytes_since_look_); };
    const Clock::time_point now = Clock::now();
    if (now - looked_at_ >= kLookAgain || free_bytes_ < needed() + dirty_bytes_) {
        looked_at_ = now;
        bytes_since_look_ = 0;
        dirty_bytes_ = dirty_bytes();
        free_bytes_ = faults_.free_bytes ? faults_.free_bytes() : free_bytes_of(directory_);
    }
    if (free_bytes_ >= needed() + dirty_bytes_) return;
    constexpr uint64_t kWorthACheckpoint = uint64_t{16} << 20;
    if (dirty_bytes_ >= kWorthACheckpoint) checkpointer_.begin();
    fail(host_, base::kOutOfDiskSpace,
         full_disk_text(directory_, free_bytes_, needed() + dirty_bytes_));
}

// Beyond a fifth, its own limit, the library lets changes wait for room.
bool Map::is_short_of_cache() const {
    constexpr int64_t kPercent = 18;
    return static_cast<int64_t>(dirty_bytes()) >= cache_bytes_ / 100 * kPercent;
}

uint64_t Map::dirty_bytes() const {
    int64_t bytes = 0;
    const std::lock_guard lock(report_mutex_);
    const CursorHandle metrics = open_cursor(host_, report_session_.get(), "statistics:");
    if (!read_metric(metrics.get(), WT_STAT_CONN_CACHE_BYTES_DIRTY, &bytes)) return 0;
    return static_cast<uint64_t>(std::max<int64_t>(bytes, 0));
}

std::optional<int64_t> Map::disk_bytes(Table table) const {
    std::error_code error;
    const uintmax_t bytes = std::filesystem::file_size(directory_ + "/" + file_of(table), error);
    if (error) return std::nullopt;
    return static_cast<int64_t>(bytes);
}

void Map::report(const AddMetric& add) const {
    add("cacheCapacityBytes", cache_bytes_);
    constexpr std::pair<const char*, int> kMetrics[] = {
        {"cacheBytes", WT_STAT_CONN_CACHE_BYTES_INUSE},
        {"cacheDirtyBytes", WT_STAT_CONN_CACHE_BYTES_DIRTY},
        {"pagesRead", WT_STAT_CONN_CACHE_READ},
        {"pagesWritten", WT_STAT_CONN_CACHE_WRITE},
        {"pagesEvictedByRequests", WT_STAT_CONN_CACHE_EVICTION_APP},
        {"bytesRead", WT_STAT_CONN_BLOCK_BYTE_READ},
        {"bytesWritten", WT_STAT_CONN_BLOCK_BYTE_WRITE},
        {"logBytesWritten", WT_STAT_CONN_LOG_BYTES_WRITTEN},
        {"logSyncs", WT_STAT_CONN_LOG_SYNC},
        {"checkpoints", WT_STAT_CONN_TXN_CHECKPOINT},
        {"lastCheckpointMillis", WT_STAT_CONN_TXN_CHECKPOINT_TIME_RECENT},
        {"rollbacks", WT_STAT_CONN_TXN_ROLLBACK},
        {"openFiles", WT_STAT_CONN_FILE_OPEN},
        {"openSessions", WT_STAT_CONN_SESSION_OPEN},
    };
    {
        const std::lock_guard lock(report_mutex_);
        const CursorHandle metrics = open_cursor(host_, report_session_.get(), "statistics:");
        for (const auto& [name, number] : kMetrics) {
            int64_t value = 0;
            if (read_metric(metrics.get(), number, &value)) add(name, value);
        }
    }
    int64_t file_bytes = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
        std::error_code gone;
        const uintmax_t bytes = entry.file_size(gone);
        if (!gone && entry.path().extension() == ".wt") file_bytes += static_cast<int64_t>(bytes);
    }
    add("fileBytes", file_bytes);
}

}  // namespace wt

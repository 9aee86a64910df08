#include "server/engines.h"

#include <algorithm>

#include "base/available_memory.h"
#include "base/damage.h"
#include "base/log.h"
#include "journal/commit_schedule.h"
#include "options/journal.h"
#include "options/rocksdb.h"
#include "options/server_parameters.h"
#include "options/storage.h"
#include "options/wiredtiger.h"
#include "os/copy_tree.h"
#include "server/kv_engine.h"
#include "storage/mmapv1/engine.h"
#include "storage/mmapv1/salvage/salvage.h"

namespace server {

namespace {

std::unique_ptr<storage::Engine> open_mmapv1() {
    mmapv1::EngineOptions engine;
    engine.dbpath = options::dbpath.get();
    engine.files.directory_per_db = options::directory_per_db.get();
    engine.files.small_files = options::small_files.get();
    engine.files.ns_bytes = static_cast<int>(options::ns_size.get()) << 20;
    engine.follow_journal_link = options::follow_journal_link.get();
    engine.repair = options::repair.get();
    engine.durable.journal = options::journal_enabled();
    engine.durable.commit_interval = journal::configured_commit_interval();
    engine.durable.journal_options = static_cast<int>(options::journal_options.get());
    engine.durable.no_prealloc_journal = options::no_prealloc_journal.get();
    engine.durable.sync_delay_seconds = options::sync_delay.get();
    engine.durable.memory_bytes = base::available_memory().bytes();
    base::set_damage_advice(
        fmt::format("; with the server stopped, {} writes what can be read",
                    mmapv1::salvage_command(engine.dbpath, engine.files.directory_per_db)));
    return mmapv1::open_engine(engine);
}

constexpr int64_t kMegabyte = int64_t{1} << 20;

// Returns the bytes that an option in GB says, or `by_default` where it does not, but no less than
// `least`.
int64_t cache_bytes(double gigabytes, int64_t by_default, int64_t least) {
    constexpr double kBytesPerGB = 1 << 30;
    const int64_t wanted =
        gigabytes > 0 ? static_cast<int64_t>(gigabytes * kBytesPerGB) : by_default;
    return std::max(wanted, least);
}

std::unique_ptr<storage::Engine> open_with_cache(const std::string& name, int64_t cache_bytes,
                                                 const std::string& config) {
    base::log::info("{}: the cache may have {} MB", name, cache_bytes / kMegabyte);
    return open_ordered_engine(name, {.cache_bytes = cache_bytes,
                                      .memory_bytes = base::available_memory().bytes(),
                                      .config = config});
}

std::unique_ptr<storage::Engine> open_rocksdb() {
    const int64_t memory = base::available_memory().bytes();
    // Messages and memtables come on top: little is left beside a quarter for the cache.
    const int64_t share = base::is_little_memory(memory) ? memory / 8 : memory / 4;
    return open_with_cache("rocksdb", cache_bytes(options::rocksdb_cache_size_gb.get(), share, 0),
                           options::rocksdb_config_string.get());
}

std::unique_ptr<storage::Engine> open_wired_tiger() {
    const int64_t memory = base::available_memory().bytes();
    // A smaller cache can be too small for changes that are made together.
    const int64_t least = std::min(256 * kMegabyte, memory / 8);
    return open_with_cache("wiredTiger",
                           cache_bytes(options::wired_tiger_cache_size_gb.get(),
                                       (memory - 1024 * kMegabyte) / 2, least),
                           options::wired_tiger_config_string.get());
}

bool salvage_mmapv1(std::ostream& report) {
    const mmapv1::SalvageResult result =
        mmapv1::salvage({.dbpath = options::dbpath.get(),
                         .out = options::salvage.get(),
                         .directory_per_db = options::directory_per_db.get()},
                        report);
    return result.damage == 0;
}

struct EngineEntry {
    std::string_view name;
    std::unique_ptr<storage::Engine> (*open)();
    bool (*salvage)(std::ostream& report);  // null: --salvage is refused with it
};

// One for each of the choices of --storageEngine.
constexpr EngineEntry kEngines[] = {
    {"mmapv1", open_mmapv1, salvage_mmapv1},
    {"rocksdb", open_rocksdb, nullptr},
    {"wiredTiger", open_wired_tiger, nullptr},
};

const EngineEntry& chosen_engine() {
    const std::string name = options::storage_engine.get();
    const auto* entry = std::ranges::find(kEngines, name, &EngineEntry::name);
    if (entry == std::end(kEngines))
        base::fail(base::kInvalidOptions, "no storage engine {}", name);
    return *entry;
}

}  // namespace

std::unique_ptr<storage::Engine> open_engine() {
    if (os::real_file_system().exists(os::join(options::dbpath.get(), os::kUnfinishedMark)))
        base::fail(base::kInvalidOptions,
                   "{} is a copy that was not finished, as the file {} in it says: remove it",
                   options::dbpath.get(), os::kUnfinishedMark);
    return chosen_engine().open();
}

bool salvage(std::ostream& report) {
    return chosen_engine().salvage(report);
}

}  // namespace server

#include "server/engines.h"

#include <unistd.h>

#include <algorithm>

#include "base/damage.h"
#include "journal/commit_schedule.h"
#include "options/journal.h"
#include "options/rocksdb.h"
#include "options/server_parameters.h"
#include "options/storage.h"
#include "options/wiredtiger.h"
#include "server/ordered_engine.h"
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
    base::set_damage_advice(
        fmt::format("; with the server stopped, {} writes what can be read",
                    mmapv1::salvage_command(engine.dbpath, engine.files.directory_per_db)));
    return mmapv1::open_engine(engine);
}

constexpr int64_t kMegabyte = int64_t{1} << 20;

int64_t memory_of_machine() {
    return int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

// What an option in GB says, or `by_default` where it does not; at least so much.
int64_t cache_bytes(double gigabytes, int64_t by_default, int64_t least) {
    constexpr double kBytesPerGB = 1 << 30;
    const int64_t wanted =
        gigabytes > 0 ? static_cast<int64_t>(gigabytes * kBytesPerGB) : by_default;
    return std::max(wanted, least);
}

std::unique_ptr<storage::Engine> open_rocksdb() {
    return open_ordered_engine(
        "rocksdb",
        {.cache_bytes = cache_bytes(options::rocksdb_cache_size_gb.get(),
                                    std::max(memory_of_machine() / 4, 64 * kMegabyte), 0),
         .config = options::rocksdb_config_string.get()});
}

std::unique_ptr<storage::Engine> open_wired_tiger() {
    // With less, its cache can be too small for changes that are made together.
    constexpr int64_t kLeast = 256 * kMegabyte;
    return open_ordered_engine(
        "wiredTiger",
        {.cache_bytes = cache_bytes(options::wired_tiger_cache_size_gb.get(),
                                    (memory_of_machine() - 1024 * kMegabyte) / 2, kLeast),
         .config = options::wired_tiger_config_string.get()});
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
    return chosen_engine().open();
}

bool salvage(std::ostream& report) {
    return chosen_engine().salvage(report);
}

}  // namespace server

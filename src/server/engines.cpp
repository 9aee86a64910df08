#include "server/engines.h"

#include <unistd.h>

#include <algorithm>

#include "base/damage.h"
#include "journal/commit_schedule.h"
#include "options/journal.h"
#include "options/rocksdb.h"
#include "options/server_parameters.h"
#include "options/storage.h"
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

std::unique_ptr<storage::Engine> open_rocksdb() {
    constexpr double kBytesPerGB = 1 << 30;
    constexpr int64_t kCacheBytesMin = int64_t{64} << 20;
    const double wanted = options::rocksdb_cache_size_gb.get() * kBytesPerGB;
    const int64_t memory = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
    return open_ordered_engine("rocksdb",
                               {.cache_bytes = wanted > 0 ? static_cast<int64_t>(wanted)
                                                          : std::max(memory / 4, kCacheBytesMin),
                                .config = options::rocksdb_config_string.get()});
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

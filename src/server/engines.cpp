#include "server/engines.h"

#include <algorithm>

#include "base/error.h"
#include "storage/mmapv1/engine.h"

namespace server {

namespace {

std::unique_ptr<storage::Engine> open_mmapv1(const Config& config, const Settings& settings) {
    mmapv1::EngineOptions options;
    options.dbpath = config.dbpath;
    options.files.directory_per_db = config.directory_per_db;
    options.files.small_files = config.small_files;
    options.files.ns_bytes = config.ns_size_mb << 20;
    options.repair = config.repair;
    options.durable.journal = config.journal;
    options.durable.commit_interval = settings.commit_interval();
    options.durable.journal_options = config.journal_options;
    options.durable.no_prealloc_journal = config.no_prealloc_journal;
    options.durable.sync_delay_seconds = settings.sync_delay_seconds();
    return mmapv1::open_engine(options);
}

struct EngineEntry {
    std::string_view name;
    std::unique_ptr<storage::Engine> (*open)(const Config& config, const Settings& settings);
};

constexpr EngineEntry kEngines[] = {
    {kDefaultEngine, open_mmapv1},
};

const EngineEntry* find(std::string_view name) {
    const auto* entry = std::ranges::find(kEngines, name, &EngineEntry::name);
    return entry == std::end(kEngines) ? nullptr : entry;
}

}  // namespace

bool is_engine(std::string_view name) {
    return find(name) != nullptr;
}

std::string engine_names() {
    std::string names;
    for (const EngineEntry& entry : kEngines)
        names.append(names.empty() ? "" : ", ").append(entry.name);
    return names;
}

std::unique_ptr<storage::Engine> open_engine(const Config& config, const Settings& settings) {
    const EngineEntry* entry = find(config.storage_engine);
    if (entry == nullptr)
        base::fail(base::kInvalidOptions, "no storage engine {}, only {}", config.storage_engine,
                   engine_names());
    return entry->open(config, settings);
}

}  // namespace server

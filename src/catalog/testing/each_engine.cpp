#include "catalog/testing/each_engine.h"

#include <atomic>
#include <optional>

#include "storage/contract/memory_engine.h"
#include "storage/kv/engine.h"
#include "storage/kv/testing/memory_map.h"
#include "storage/mmapv1/engine.h"

namespace catalog {

namespace {

// Makes a conflict at every third lock, and now and then one for which a change takes the whole
// database.
kv::InjectedConflict conflicts_on_purpose() {
    constexpr int kEvery = 3, kWhole = 30;
    return [locks = std::make_shared<std::atomic<int>>(0)]() {
        const int lock = ++*locks;
        std::optional<storage::WriteConflict> conflict;
        if (lock % kEvery == 0) conflict = storage::WriteConflict{lock % kWhole == 0};
        return conflict;
    };
}

}  // namespace

std::unique_ptr<storage::Engine> make_test_engine(TestEngine engine, const std::string& dbpath,
                                                  bool journal) {
    if (engine == TestEngine::memory)
        return std::make_unique<storage::contract::MemoryEngine>(journal);
    if (engine == TestEngine::kv)
        return std::make_unique<kv::Engine>(
            std::make_unique<kv::MemoryMap>(),
            kv::EngineOptions{.name = "kv",
                              .durable = {.journaling = journal},
                              .injected_conflict = conflicts_on_purpose()});
    mmapv1::EngineOptions options;
    options.dbpath = dbpath;
    options.files.small_files = true;
    options.durable.journal = journal;
    options.durable.no_prealloc_journal = true;
    return mmapv1::open_engine(options);
}

}  // namespace catalog

#include "catalog/testing/each_engine.h"

#include <atomic>
#include <optional>

#include "storage/contract/memory_engine.h"
#include "storage/mmapv1/engine.h"
#include "storage/ordered/engine.h"
#include "storage/ordered/testing/memory_map.h"

namespace catalog {

namespace {

// At every third claim, and now and then one for which a change takes the whole database.
ordered::ConflictOnPurpose conflicts_on_purpose() {
    constexpr int kEvery = 3, kWhole = 30;
    return [claims = std::make_shared<std::atomic<int>>(0)]() {
        const int claim = ++*claims;
        std::optional<storage::WriteConflict> conflict;
        if (claim % kEvery == 0) conflict = storage::WriteConflict{claim % kWhole == 0};
        return conflict;
    };
}

}  // namespace

std::unique_ptr<storage::Engine> make_test_engine(TestEngine engine, const std::string& dbpath,
                                                  bool journal) {
    if (engine == TestEngine::memory)
        return std::make_unique<storage::contract::MemoryEngine>(journal);
    if (engine == TestEngine::ordered)
        return std::make_unique<ordered::Engine>(
            std::make_unique<ordered::MemoryMap>(),
            ordered::EngineOptions{.name = "ordered",
                                   .durable = {.journaling = journal},
                                   .conflict_on_purpose = conflicts_on_purpose()});
    mmapv1::EngineOptions options;
    options.dbpath = dbpath;
    options.files.small_files = true;
    options.durable.journal = journal;
    options.durable.no_prealloc_journal = true;
    return mmapv1::open_engine(options);
}

}  // namespace catalog

// catalog/testing/each_engine.h - the engines that catalog and commands are tested over: mmapv1, in
// a directory of the test, the engine in memory, and the one over an ordered map, which is in
// memory too. What they can do must not depend on it. The last one has conflicts on purpose,
// between threads that change documents (storage/write_conflict.h).
//
// A suite over all of them ends with INSTANTIATE_TEST_SUITE_P(engines, Suite, kTestEngines,
// engine_name).
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/testing/failure.h"
#include "bson/testing/json.h"
#include "catalog/catalog.h"
#include "os/testing/directory.h"
#include "storage/contract/memory_engine.h"
#include "storage/mmapv1/engine.h"
#include "storage/ordered/engine.h"
#include "storage/ordered/testing/memory_map.h"

namespace catalog {

using base::failure;

enum class TestEngine { mmapv1, memory, ordered };
inline const auto kTestEngines =
    testing::Values(TestEngine::mmapv1, TestEngine::memory, TestEngine::ordered);
inline std::string engine_name(const testing::TestParamInfo<TestEngine>& info) {
    constexpr const char* kNames[] = {"mmapv1", "memory", "ordered"};
    return kNames[static_cast<size_t>(info.param)];
}

// At every third claim, and now and then one for which a change takes the whole database.
inline ordered::ConflictOnPurpose conflicts_on_purpose() {
    constexpr int kEvery = 3, kWhole = 30;
    return [claims = std::make_shared<std::atomic<int>>(0)]() {
        const int claim = ++*claims;
        std::optional<storage::WriteConflict> conflict;
        if (claim % kEvery == 0) conflict = storage::WriteConflict{claim % kWhole == 0};
        return conflict;
    };
}

inline std::unique_ptr<storage::Engine> make_test_engine(TestEngine engine,
                                                         const std::string& dbpath, bool journal) {
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

// What a suite over all may expect of them.
class EngineParam : public testing::WithParamInterface<TestEngine> {
  protected:
    // Whether a record that outgrows its place gets another id.
    static bool records_move() { return GetParam() == TestEngine::mmapv1; }
};

// A catalog over an engine, and nothing above it.
class OverEachEngine : public testing::Test, public EngineParam {
  protected:
    ~OverEachEngine() override {
        catalog_ = nullptr;
        engine_->shutdown();
    }

    os::TestDirectory directory_;
    std::unique_ptr<storage::Engine> engine_ =
        make_test_engine(GetParam(), directory_.path(), false);
    std::unique_ptr<Catalog> catalog_ = std::make_unique<Catalog>(*engine_);
};

}  // namespace catalog

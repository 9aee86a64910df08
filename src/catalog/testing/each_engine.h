// catalog/testing/each_engine.h - the engines that catalog and commands are tested over: mmapv1, in
// a directory of the test, the engine in memory, and the one over an ordered map, which is in
// memory too. What they can do must not depend on it.
//
// A suite over all of them ends with INSTANTIATE_TEST_SUITE_P(engines, Suite, kTestEngines,
// engine_name).
#pragma once

#include <gtest/gtest.h>

#include <memory>
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

inline std::unique_ptr<storage::Engine> make_test_engine(TestEngine engine,
                                                         const std::string& dbpath, bool journal) {
    if (engine == TestEngine::memory)
        return std::make_unique<storage::contract::MemoryEngine>(journal);
    if (engine == TestEngine::ordered)
        return std::make_unique<ordered::Engine>(
            std::make_unique<ordered::MemoryMap>(),
            ordered::EngineOptions{.name = "ordered", .durable = {.journaling = journal}});
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

// catalog/testing/each_engine.h - the engines that catalog and commands are tested over: mmapv1, in
// a directory of the test, the engine in memory, and the one over an ordered map, which is in
// memory too. The behaviour of catalog and commands must not depend on the engine. The last one has
// conflicts on purpose, between threads that change documents (storage/write_conflict.h).
//
// A suite over all of them ends with INSTANTIATE_TEST_SUITE_P(engines, Suite, kTestEngines,
// engine_name).
//
// The file each_engine.cpp makes them, so that of the files of tests only that one is compiled
// again where an engine's own headers change.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/testing/failure.h"
#include "bson/testing/json.h"
#include "catalog/catalog.h"
#include "os/testing/directory.h"
#include "storage/engine.h"

namespace catalog {

using base::failure;

enum class TestEngine { mmapv1, memory, kv };
inline const auto kTestEngines =
    testing::Values(TestEngine::mmapv1, TestEngine::memory, TestEngine::kv);
inline std::string engine_name(const testing::TestParamInfo<TestEngine>& info) {
    constexpr const char* kNames[] = {"mmapv1", "memory", "kv"};
    return kNames[static_cast<size_t>(info.param)];
}

// `dbpath`: where mmapv1 has its files; the other engines keep nothing.
std::unique_ptr<storage::Engine> make_test_engine(TestEngine engine, const std::string& dbpath,
                                                  bool journal);

// The properties of an engine that a suite over all of them may expect.
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

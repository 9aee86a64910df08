// storage/kv/testing/harness.h - the engine over some map, for the suites of
// storage/contract/.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "storage/contract/harness.h"
#include "storage/kv/engine.h"

namespace kv {

// A map of what the last one has left, which is closed by then.
using MakeMap = std::function<std::unique_ptr<Map>()>;

class EngineHarness final : public storage::contract::EngineHarness {
  public:
    explicit EngineHarness(MakeMap make) : make_(std::move(make)) { open(); }
    Engine& engine() override { return *engine_; }
    void restart() override {
        engine_->shutdown();
        engine_.reset();
        open();
    }

  private:
    void open() { engine_ = std::make_unique<Engine>(make_(), EngineOptions{.name = "ordered"}); }

    const MakeMap make_;
    std::unique_ptr<Engine> engine_;
};

class DatabaseHarness final : public storage::contract::DatabaseHarness {
  public:
    explicit DatabaseHarness(MakeMap make)
        : make_(std::move(make)),
          engine_(make_(), EngineOptions{.name = "ordered"}),
          lock_(engine_.locks(), storage::GlobalMode::W) {
        engine_.create_database("test");
    }
    storage::DatabaseStore& database() override { return *engine_.database("test"); }
    void reopen() override { engine_.close_database("test"); }
    void verify() override {
        for (const std::string& ns : database().collections()) {
            storage::ValidateOptions options;
            options.full = true;
            bson::Builder out;
            const storage::ValidateReport report =
                database().collection(ns)->validate(options, out);
            EXPECT_TRUE(report.valid()) << testing::PrintToString(report.errors);
        }
    }

  private:
    const MakeMap make_;
    Engine engine_;
    storage::GlobalLock lock_;
};

}  // namespace kv

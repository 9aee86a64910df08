// crash/testing/copy_engine.h - an mmapv1 engine of one database over files in memory, which can
// be copied at any time: what a process that ends there leaves.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/contract/memory_durability.h"
#include "storage/mmapv1/database.h"
#include "storage/mmapv1/mapping/testing/views.h"

namespace crash {

// One database, whose files are a copy in memory of another's, or empty.
class CopyEngine final : public storage::Engine {
  public:
    CopyEngine() = default;
    explicit CopyEngine(const mmapv1::TestViews& files) : views_(files) {
        if (views_.exists("test.ns")) open(mmapv1::MmapDatabase::Mode::open);
    }
    ~CopyEngine() override {
        if (database_ != nullptr) database_->close();
    }

    mmapv1::TestViews& views() { return views_; }
    // Called wherever a commit may take what was written so far.
    void set_may_commit(const std::function<void()>& call) { durability_.may_commit = call; }
    mmapv1::MmapDatabase& test() { return *database_; }

    std::string_view name() const override { return "mmapv1"; }
    storage::LockManager& locks() override { return locks_; }
    storage::Durability& durability() override { return durability_; }
    std::vector<std::string> database_names() const override {
        if (database_ == nullptr) return {};
        return {"test"};
    }
    int64_t database_bytes(std::string_view) const override { return 0; }
    storage::DatabaseStore* database(std::string_view db) override {
        return db == "test" ? database_.get() : nullptr;
    }
    storage::DatabaseStore& create_database(std::string_view) override {
        if (database_ == nullptr) open(mmapv1::MmapDatabase::Mode::create);
        return *database_;
    }
    std::unique_ptr<storage::Remains> drop_database(std::string_view) override {
        ADD_FAILURE();
        return {};
    }
    void close_database(std::string_view) override { FAIL(); }
    void shutdown() override {}

  private:
    void open(mmapv1::MmapDatabase::Mode mode) {
        policy_.small_files = true;
        policy_.ns_bytes = 1 << 20;
        database_ =
            std::make_unique<mmapv1::MmapDatabase>(views_, "test", policy_, samplers_, mode);
        if (mode == mmapv1::MmapDatabase::Mode::open) database_->upgrade();
    }

    storage::LockManager locks_;
    storage::contract::MemoryDurability durability_{false};
    mmapv1::TestViews views_;
    mmapv1::FilePolicy policy_;
    mmapv1::PaddingSamplers samplers_;
    std::unique_ptr<mmapv1::MmapDatabase> database_;
};

}  // namespace crash

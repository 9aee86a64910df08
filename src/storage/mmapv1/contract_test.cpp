// The contract suite over this engine: databases in memory, and whole engines on a directory.
#include "os/testing/directory.h"
#include "storage/contract/capped_store_contract.h"
#include "storage/contract/database_contract.h"
#include "storage/contract/engine_contract.h"
#include "storage/contract/record_store_contract.h"
#include "storage/contract/sorted_index_contract.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/database.h"
#include "storage/mmapv1/engine.h"
#include "storage/mmapv1/mapping/testing/views.h"
#include "storage/mmapv1/testing/small_engine.h"

namespace storage::contract {
namespace {

class MemoryDatabase final : public DatabaseHarness {
  public:
    MemoryDatabase() {
        policy_.small_files = true;
        policy_.ns_bytes = 1 << 20;
        db_ = open(mmapv1::MmapDatabase::Mode::create);
    }
    DatabaseStore& database() override { return *db_; }
    void reopen() override {
        views_.verify_declared();
        db_->close();
        db_ = open(mmapv1::MmapDatabase::Mode::open);
        db_->upgrade();
    }
    void verify() override {
        views_.verify_declared();
        check_database(*db_, {},
                       [](const mmapv1::Finding& finding) {
                           if (finding.severity == mmapv1::Severity::leak) return;
                           ADD_FAILURE() << finding.ns << ": " << finding.text;
                       },
                       {});
    }

  private:
    std::unique_ptr<mmapv1::MmapDatabase> open(mmapv1::MmapDatabase::Mode mode) {
        return std::make_unique<mmapv1::MmapDatabase>(views_, "test", policy_, samplers_, mode);
    }

    mmapv1::TestViews views_;
    mmapv1::FilePolicy policy_;
    mmapv1::PaddingSamplers samplers_;
    std::unique_ptr<mmapv1::MmapDatabase> db_;
};

class EngineOnDirectory final : public EngineHarness {
  public:
    EngineOnDirectory() { open(); }
    ~EngineOnDirectory() override { engine_->shutdown(); }
    Engine& engine() override { return *engine_; }
    void restart() override {
        engine_->shutdown();
        engine_.reset();
        open();
    }

  private:
    void open() {
        mmapv1::EngineOptions options = mmapv1::small_engine_options(home_.path());
        options.durable.journal_options |= mmapv1::kParanoid;
        options.durable.commit_interval = 2'000;
        engine_ = mmapv1::open_engine(options);
    }

    os::TestDirectory home_;
    std::unique_ptr<Engine> engine_;
};

// The same suites over a database of a whole engine, with files, a journal and two views.
class DatabaseOnDirectory final : public DatabaseHarness {
  public:
    DatabaseOnDirectory() { open(); }
    ~DatabaseOnDirectory() override { lock_.reset(); }
    DatabaseStore& database() override { return *database_; }
    void reopen() override {
        lock_.reset();
        engine_.restart();
        open();
    }
    void verify() override {
        for (const std::string& ns : database_->collections()) {
            bson::Builder out;
            ValidateOptions options;
            options.full = true;
            EXPECT_TRUE(database_->collection(ns)->validate(options, out).valid())
                << bson::to_text(out.doc());
        }
    }

  private:
    void open() {
        Engine& engine = engine_.engine();
        lock_ = std::make_unique<GlobalLock>(engine.locks(), GlobalMode::W);
        database_ = engine.database("test");
        if (database_ == nullptr) database_ = &engine.create_database("test");
    }

    EngineOnDirectory engine_;
    std::unique_ptr<GlobalLock> lock_;
    DatabaseStore* database_ = nullptr;
};

std::unique_ptr<EngineHarness> make_engine() {
    return std::make_unique<EngineOnDirectory>();
}
std::unique_ptr<DatabaseHarness> make_database() {
    return std::make_unique<DatabaseOnDirectory>();
}
std::unique_ptr<DatabaseHarness> make_memory_database() {
    return std::make_unique<MemoryDatabase>();
}

INSTANTIATE_TEST_SUITE_P(memory, DatabaseStoreContract, testing::Values(&make_memory_database));
INSTANTIATE_TEST_SUITE_P(memory, RecordStoreContract, testing::Values(&make_memory_database));
INSTANTIATE_TEST_SUITE_P(memory, CappedStoreContract, testing::Values(&make_memory_database));
INSTANTIATE_TEST_SUITE_P(memory, SortedIndexContract, testing::Values(&make_memory_database));
INSTANTIATE_TEST_SUITE_P(directory, EngineContract, testing::Values(&make_engine));
INSTANTIATE_TEST_SUITE_P(directory, UndoContract, testing::Values(&make_engine));
INSTANTIATE_TEST_SUITE_P(directory, DatabaseStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(directory, RecordStoreContract, testing::Values(&make_database));

}  // namespace
}  // namespace storage::contract

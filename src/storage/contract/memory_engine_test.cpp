// The contract suite over the engine in memory (memory_engine.h).
#include "storage/contract/memory_engine.h"
#include "bson/json.h"
#include "storage/contract/capped_store_contract.h"
#include "storage/contract/database_contract.h"
#include "storage/contract/engine_contract.h"
#include "storage/contract/record_store_contract.h"
#include "storage/contract/sorted_index_contract.h"

namespace storage::contract {
namespace {

class MemoryEngineHarness final : public EngineHarness {
  public:
    Engine& engine() override { return *engine_; }
    void restart() override {
        engine_->shutdown();
        engine_ = std::make_unique<MemoryEngine>(*engine_);
    }

  private:
    std::unique_ptr<MemoryEngine> engine_ = std::make_unique<MemoryEngine>();
};

class MemoryDatabaseHarness final : public DatabaseHarness {
  public:
    MemoryDatabaseHarness() { engine_.create_database("test"); }
    DatabaseStore& database() override { return *engine_.database("test"); }
    void reopen() override { engine_.close_database("test"); }
    void verify() override {
        for (const std::string& ns : database().collections()) {
            ValidateOptions options;
            options.full = true;
            bson::Builder out;
            EXPECT_TRUE(database().collection(ns)->validate(options, out).valid())
                << bson::to_text(out.doc());
        }
    }

  private:
    MemoryEngine engine_;
};

std::unique_ptr<EngineHarness> make_engine() {
    return std::make_unique<MemoryEngineHarness>();
}
std::unique_ptr<DatabaseHarness> make_database() {
    return std::make_unique<MemoryDatabaseHarness>();
}

INSTANTIATE_TEST_SUITE_P(memory, EngineContract, testing::Values(&make_engine));
INSTANTIATE_TEST_SUITE_P(memory, UndoContract, testing::Values(&make_engine));
INSTANTIATE_TEST_SUITE_P(memory, DatabaseStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(memory, RecordStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(memory, CappedStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(memory, SortedIndexContract, testing::Values(&make_database));

}  // namespace
}  // namespace storage::contract

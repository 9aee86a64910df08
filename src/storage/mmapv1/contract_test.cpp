// The contract suite over databases of this engine, in memory.
#include "storage/contract/database_contract.h"
#include "storage/contract/record_store_contract.h"
#include "storage/contract/sorted_index_contract.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/database.h"
#include "storage/mmapv1/test_views.h"

namespace storage::contract {
namespace {

class MemoryDatabase final : public DatabaseHarness {
  public:
    MemoryDatabase() {
        policy_.small_files = true;
        policy_.ns_bytes = 1 << 20;
        db_ = open(mmapv1::Database::Mode::create);
    }
    DatabaseStore& database() override { return *db_; }
    void reopen() override {
        views_.verify_declared();
        db_->close();
        db_ = open(mmapv1::Database::Mode::open);
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
    std::unique_ptr<mmapv1::Database> open(mmapv1::Database::Mode mode) {
        return std::make_unique<mmapv1::Database>(views_, "test", policy_, samplers_, mode);
    }

    mmapv1::TestViews views_;
    mmapv1::FilePolicy policy_;
    mmapv1::PaddingSamplers samplers_;
    std::unique_ptr<mmapv1::Database> db_;
};

std::unique_ptr<DatabaseHarness> make_memory_database() {
    return std::make_unique<MemoryDatabase>();
}

INSTANTIATE_TEST_SUITE_P(memory, DatabaseStoreContract, testing::Values(&make_memory_database));
INSTANTIATE_TEST_SUITE_P(memory, RecordStoreContract, testing::Values(&make_memory_database));
INSTANTIATE_TEST_SUITE_P(memory, CappedStoreContract, testing::Values(&make_memory_database));
INSTANTIATE_TEST_SUITE_P(memory, SortedIndexContract, testing::Values(&make_memory_database));

}  // namespace
}  // namespace storage::contract

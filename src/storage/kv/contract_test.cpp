// The contract suites over an ordered map in memory.
#include "storage/contract/capped_store_contract.h"
#include "storage/contract/database_contract.h"
#include "storage/contract/engine_contract.h"
#include "storage/contract/record_store_contract.h"
#include "storage/contract/sorted_index_contract.h"
#include "storage/kv/testing/concurrent_contract.h"
#include "storage/kv/testing/harness.h"
#include "storage/kv/testing/map_contract.h"
#include "storage/kv/testing/memory_map.h"

namespace storage::contract {
namespace {

kv::MakeMap maps_of_new_rows() {
    return [rows = std::make_shared<kv::MemoryMap::Rows>()] {
        return std::make_unique<kv::MemoryMap>(rows);
    };
}

std::unique_ptr<EngineHarness> make_engine() {
    return std::make_unique<kv::EngineHarness>(maps_of_new_rows());
}
std::unique_ptr<DatabaseHarness> make_database() {
    return std::make_unique<kv::DatabaseHarness>(maps_of_new_rows());
}

INSTANTIATE_TEST_SUITE_P(ordered, EngineContract, testing::Values(&make_engine));
INSTANTIATE_TEST_SUITE_P(ordered, UndoContract, testing::Values(&make_engine));
INSTANTIATE_TEST_SUITE_P(ordered, DatabaseStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(ordered, RecordStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(ordered, CappedStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(ordered, SortedIndexContract, testing::Values(&make_database));

}  // namespace
}  // namespace storage::contract

namespace kv {
const auto kMaps = testing::Values(&storage::contract::maps_of_new_rows);
INSTANTIATE_TEST_SUITE_P(memory, MapContract, kMaps);
INSTANTIATE_TEST_SUITE_P(memory, SnapshotContract, kMaps);
INSTANTIATE_TEST_SUITE_P(memory, ConcurrentContract, kMaps);
}  // namespace kv

// The contract suites over a map of RocksDB on a real directory.
#include "os/testing/directory.h"
#include "storage/contract/capped_store_contract.h"
#include "storage/contract/database_contract.h"
#include "storage/contract/engine_contract.h"
#include "storage/contract/record_store_contract.h"
#include "storage/contract/sorted_index_contract.h"
#include "storage/kv/testing/concurrent_contract.h"
#include "storage/kv/testing/harness.h"
#include "storage/kv/testing/map_contract.h"
#include "storage/rocksdb/open.h"

namespace {

kv::MakeMap maps_of_new_directory() {
    return [store = std::make_shared<os::TestDirectory>()] {
        return rocks::open_map(
            {.directory = *store / "map", .cache_bytes = 8 << 20, .host = &kv::base_host()});
    };
}

std::unique_ptr<storage::contract::EngineHarness> make_engine() {
    return std::make_unique<kv::EngineHarness>(maps_of_new_directory());
}
std::unique_ptr<storage::contract::DatabaseHarness> make_database() {
    return std::make_unique<kv::DatabaseHarness>(maps_of_new_directory());
}

}  // namespace

namespace storage::contract {
INSTANTIATE_TEST_SUITE_P(rocksdb, EngineContract, testing::Values(&make_engine));
INSTANTIATE_TEST_SUITE_P(rocksdb, UndoContract, testing::Values(&make_engine));
INSTANTIATE_TEST_SUITE_P(rocksdb, DatabaseStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(rocksdb, RecordStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(rocksdb, CappedStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(rocksdb, SortedIndexContract, testing::Values(&make_database));
}  // namespace storage::contract

namespace kv {
const auto kMaps = testing::Values(&maps_of_new_directory);
INSTANTIATE_TEST_SUITE_P(rocksdb, MapContract, kMaps);
INSTANTIATE_TEST_SUITE_P(rocksdb, SnapshotContract, kMaps);
INSTANTIATE_TEST_SUITE_P(rocksdb, ConcurrentContract, kMaps);
}  // namespace kv

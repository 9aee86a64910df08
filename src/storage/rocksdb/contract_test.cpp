// The contract suites over a map of RocksDB on a real directory.
#include "os/testing/directory.h"
#include "storage/contract/database_contract.h"
#include "storage/contract/engine_contract.h"
#include "storage/contract/record_store_contract.h"
#include "storage/contract/sorted_index_contract.h"
#include "storage/ordered/testing/harness.h"
#include "storage/ordered/testing/map_contract.h"
#include "storage/ordered/testing/side_by_side_contract.h"
#include "storage/rocksdb/open.h"

namespace {

ordered::MakeMap maps_of_new_directory() {
    return [home = std::make_shared<os::TestDirectory>()] {
        return rocks::open_map(
            {.directory = *home / "map", .cache_bytes = 8 << 20, .host = &ordered::base_host()});
    };
}

std::unique_ptr<storage::contract::EngineHarness> make_engine() {
    return std::make_unique<ordered::EngineHarness>(maps_of_new_directory());
}
std::unique_ptr<storage::contract::DatabaseHarness> make_database() {
    return std::make_unique<ordered::DatabaseHarness>(maps_of_new_directory());
}

}  // namespace

namespace storage::contract {
INSTANTIATE_TEST_SUITE_P(rocksdb, EngineContract, testing::Values(&make_engine));
INSTANTIATE_TEST_SUITE_P(rocksdb, DatabaseStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(rocksdb, RecordStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(rocksdb, CappedStoreContract, testing::Values(&make_database));
INSTANTIATE_TEST_SUITE_P(rocksdb, SortedIndexContract, testing::Values(&make_database));
}  // namespace storage::contract

namespace ordered {
const auto kMaps = testing::Values(&maps_of_new_directory);
INSTANTIATE_TEST_SUITE_P(rocksdb, MapContract, kMaps);
INSTANTIATE_TEST_SUITE_P(rocksdb, FrozenMapContract, kMaps);
INSTANTIATE_TEST_SUITE_P(rocksdb, SideBySideContract, kMaps);
}  // namespace ordered

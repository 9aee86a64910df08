// The contract suites over a map of WiredTiger on a real directory.
#include <functional>
#include <mutex>
#include <utility>

#include "os/testing/directory.h"
#include "storage/contract/capped_store_contract.h"
#include "storage/contract/database_contract.h"
#include "storage/contract/engine_contract.h"
#include "storage/contract/record_store_contract.h"
#include "storage/contract/sorted_index_contract.h"
#include "storage/kv/testing/concurrent_contract.h"
#include "storage/kv/testing/harness.h"
#include "storage/kv/testing/map_contract.h"
#include "storage/wiredtiger/open.h"

namespace {

kv::MakeMap make_maps(std::function<bool()> rolls_back) {
    return [store = std::make_shared<os::TestDirectory>(), rolls_back = std::move(rolls_back)] {
        return wt::open_map(
            {.directory = *store / "map", .cache_bytes = 64 << 20, .host = &kv::base_host()},
            {.rolls_back = rolls_back});
    };
}
kv::MakeMap maps() {
    return make_maps(nullptr);
}
// The library rolls back as when its cache is full: at first often, then less and less so, that
// many changes can be made again too.
kv::MakeMap maps_that_roll_back() {
    constexpr int kFirstCall = 10;
    struct Calls {
        int made = 0, next = kFirstCall, between = kFirstCall;
        std::mutex mutex;
    };
    return make_maps([calls = std::make_shared<Calls>()] {
        const std::lock_guard lock(calls->mutex);
        if (++calls->made < calls->next) return false;
        calls->next += calls->between += calls->between / 2;
        return true;
    });
}

std::unique_ptr<storage::contract::EngineHarness> make_engine() {
    return std::make_unique<kv::EngineHarness>(maps());
}
std::unique_ptr<storage::contract::DatabaseHarness> make_database() {
    return std::make_unique<kv::DatabaseHarness>(maps());
}
std::unique_ptr<storage::contract::DatabaseHarness> make_database_that_rolls_back() {
    return std::make_unique<kv::DatabaseHarness>(maps_that_roll_back());
}

const auto kDatabases = testing::Values(&make_database, &make_database_that_rolls_back);

}  // namespace

namespace storage::contract {
INSTANTIATE_TEST_SUITE_P(wiredTiger, EngineContract, testing::Values(&make_engine));
INSTANTIATE_TEST_SUITE_P(wiredTiger, UndoContract, testing::Values(&make_engine));
INSTANTIATE_TEST_SUITE_P(wiredTiger, DatabaseStoreContract, kDatabases);
INSTANTIATE_TEST_SUITE_P(wiredTiger, RecordStoreContract, kDatabases);
INSTANTIATE_TEST_SUITE_P(wiredTiger, CappedStoreContract, kDatabases);
INSTANTIATE_TEST_SUITE_P(wiredTiger, SortedIndexContract, kDatabases);
}  // namespace storage::contract

namespace kv {
INSTANTIATE_TEST_SUITE_P(wiredTiger, MapContract, testing::Values(&maps, &maps_that_roll_back));
INSTANTIATE_TEST_SUITE_P(wiredTiger, SnapshotContract, testing::Values(&maps));
INSTANTIATE_TEST_SUITE_P(wiredTiger, ConcurrentContract, testing::Values(&maps));
}  // namespace kv

#include "storage/rocksdb/changes.h"

#include <gtest/gtest.h>

#include <string>

#include "storage/kv/host.h"

namespace rocks {
namespace {

constexpr size_t kLargeBytes = size_t{8} << 20;

class RocksChangesTest : public testing::Test {
  protected:
    size_t memory() { return changes.batch().Data().capacity(); }

    Changes changes{kv::base_host()};
    const std::string large = std::string(kLargeBytes, 'x');
};

// Many sessions hold one at the same time, and a vector that grows has twice what it needs.
TEST_F(RocksChangesTest, ALargeRowTakesItsMemoryOnce) {
    changes.put("before", "small");
    changes.mark();
    changes.put("large", large);
    changes.put("entry", "small");
    EXPECT_LT(memory(), kLargeBytes + kLargeBytes / 4);
    changes.roll_back();
    EXPECT_EQ(changes.batch().Count(), 1);
    changes.clear();
    EXPECT_LT(memory(), kLargeBytes / 8);
}

// Else each would copy all before it.
TEST_F(RocksChangesTest, ManyLargeRowsGrowByAShareOfThem) {
    int moves = 0;
    const char* at = nullptr;
    for (int i = 0; i < 64; ++i) {
        changes.put("row " + std::to_string(i), large.substr(0, kLargeBytes / 4));
        moves += changes.batch().Data().data() != at ? 1 : 0;
        at = changes.batch().Data().data();
    }
    EXPECT_LT(moves, 32);
    EXPECT_EQ(changes.batch().Count(), 64);
}

TEST_F(RocksChangesTest, WhatIsRolledBackKeepsNoMemoryBeyondTheCommit) {
    for (const bool is_read : {false, true}) {
        changes.mark();
        for (int i = 0; i < 100; ++i)
            changes.put("row " + std::to_string(i), large.substr(0, kLargeBytes / 100));
        if (is_read) changes.indexed();
        changes.roll_back();
        changes.clear();
        EXPECT_LT(memory(), kLargeBytes / 8);
        if (!is_read) continue;
        changes.indexed();
        EXPECT_LT(memory(), kLargeBytes / 8);
        changes.clear();
    }
}

}  // namespace
}  // namespace rocks

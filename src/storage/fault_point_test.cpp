// A lock on a database is taken behind a fault point: what is looked at under it may be missing.

#include <gtest/gtest.h>

#include "sched/fault_point.h"
#include "storage/lock.h"

namespace storage {
namespace {

int g_passed = 0;

class FaultPointTest : public testing::Test {
  protected:
    FaultPointTest() {
        g_passed = 0;
        sched::FaultPoint::set_hook([] { ++g_passed; });
    }
    ~FaultPointTest() override { sched::FaultPoint::set_hook(nullptr); }

    LockManager locks_;
};

TEST_F(FaultPointTest, IsPassedBeforeADatabaseIsLocked) {
    { const DatabaseLock lock(locks_, "test", false); }
    EXPECT_EQ(g_passed, 1);
    { const DatabaseLock lock(locks_, "test", true); }
    EXPECT_EQ(g_passed, 2);
}

TEST_F(FaultPointTest, IsPassedAgainAfterAYield) {
    DatabaseLock lock(locks_, "test", false);
    lock.yield();
    EXPECT_EQ(g_passed, 2);
}

TEST_F(FaultPointTest, IsNotPassedWithoutAHook) {
    sched::FaultPoint::set_hook(nullptr);
    const DatabaseLock lock(locks_, "test", false);
    EXPECT_EQ(g_passed, 0);
}

}  // namespace
}  // namespace storage

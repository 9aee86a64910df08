#include "base/operation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/error.h"
#include "base/testing/effort.h"

namespace base {
namespace {

int code_of_check(const Operation& operation) {
    try {
        operation.check_interrupt();
        return 0;
    } catch (const Error& error) {
        return error.code();
    }
}

TEST(Operation, EndsAtItsNextCheckWhenKilled) {
    Operation operation;
    operation.start();
    EXPECT_EQ(code_of_check(operation), 0);
    operation.kill(operation.id());
    EXPECT_TRUE(operation.kill_pending());
    EXPECT_EQ(code_of_check(operation), 11601);
}

TEST(Operation, SparesTheNextOneOfItsConnection) {
    Operation operation;
    operation.start();
    const uint32_t first = operation.id();
    operation.finish();
    operation.start();
    operation.kill(first);
    EXPECT_FALSE(operation.kill_pending());
    EXPECT_EQ(code_of_check(operation), 0);

    operation.kill(operation.id());
    operation.finish();
    operation.start();
    EXPECT_EQ(code_of_check(operation), 0);
}

// For the thread sanitizer: currentOp and killOp look at operations while they come and go.
TEST(Operation, IsSeenByOtherThreadsWhileItRuns) {
    Operation operation;
    std::atomic<int> seen{0};
    const int enough = test_effort(1000);
    std::thread watcher([&] {
        uint32_t last = 0;
        Operation::Clock::time_point latest{};
        while (seen < enough) {
            if (!operation.active()) continue;
            const uint32_t id = operation.id();
            EXPECT_GE(id, last);
            const auto started = operation.started();
            EXPECT_GE(started, latest);
            operation.kill(id);
            last = id;
            latest = started;
            ++seen;
        }
    });
    while (seen < enough) {
        operation.start();
        operation.finish();
    }
    watcher.join();
}

}  // namespace
}  // namespace base

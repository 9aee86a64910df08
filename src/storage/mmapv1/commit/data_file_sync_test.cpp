#include "storage/mmapv1/commit/data_file_sync.h"

#include <gtest/gtest.h>

#include <semaphore>

namespace mmapv1 {
namespace {

// Without a delay none comes by itself.
TEST(DataFileSync, AFlushComesWhenItIsAskedFor) {
    std::counting_semaphore<> begun(0), go_on(0);
    DataFileSync sync(os::system_clock(), 0, [&] {
        begun.release();
        go_on.acquire();
        return 3;
    });
    sync.start();
    sync.request();
    begun.acquire();
    sync.request();  // during one: another one follows
    sync.request();
    go_on.release();
    begun.acquire();
    go_on.release();
    sync.stop();
    bson::Builder status;
    sync.append_status(status);
    EXPECT_EQ(status.doc()["flushes"].to_int64(), 2);
    EXPECT_FALSE(begun.try_acquire());
}

}  // namespace
}  // namespace mmapv1

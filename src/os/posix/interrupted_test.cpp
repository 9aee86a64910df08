// Signals that arrive in the middle of a call to the system.

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "os/file_system.h"

namespace os {
namespace {

constexpr uint64_t kBytes = uint64_t{64} << 20;
constexpr int kSignals = 20;

std::atomic<int> g_arrived{0};

// A file system in memory gives an allocation up for a signal; so do others for a sync.
TEST(Interrupted, AnAllocationIsBegunAgain) {
    FileSystem& files = real_file_system();
    if (!files.is_directory("/dev/shm")) GTEST_SKIP() << "no file system in memory here";
    const std::string path = "/dev/shm/unit-interrupted-" + std::to_string(::getpid());
    struct sigaction before {
    }, counted{};
    counted.sa_handler = [](int) { ++g_arrived; };  // without SA_RESTART
    ASSERT_EQ(::sigaction(SIGUSR1, &counted, &before), 0);
    std::string failure;
    uint64_t length = 0;
    std::atomic<bool> done{false};
    std::thread allocating([&] {
        try {
            const auto file = files.open(path, {.access = Access::read_write, .create = true});
            file->allocate(kBytes);
            length = file->length();
        } catch (const IoError& error) {
            failure = error.what();
        }
        done = true;
    });
    for (int sent = 0; sent < kSignals && !done; ++sent) {
        const int arrived = g_arrived;
        ::pthread_kill(allocating.native_handle(), SIGUSR1);
        while (g_arrived == arrived && !done)
            std::this_thread::yield();
    }
    allocating.join();
    files.remove(path);
    ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
    EXPECT_EQ(failure, "");
    EXPECT_EQ(length, kBytes);
}

}  // namespace
}  // namespace os

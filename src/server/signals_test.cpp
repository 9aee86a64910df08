// A crash leaves a trace and the exit code of one, wherever it happens.
#include "server/signals.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/signal_stack.h"
#include "os/file_system.h"
#include "os/mapping.h"
#include "os/testing/directory.h"

namespace server {
namespace {

constexpr char kTrace[] =
    "Invalid access at address: 0x[0-9a-f]*\n"
    "SEVERE: Got signal: 11 \\(Segmentation fault\\)\\.\n"
    "Backtrace:\n"
    ".*\\[0x[0-9a-f]+\\]";

void write_to(int* address) {
    *static_cast<volatile int*>(address) = 1;
}

// Never ends.
[[gnu::noinline]] int use_up_stack(int depth) {
    volatile char frame[1024];  // less than a guard page, which a larger one may step over
    frame[static_cast<size_t>(depth) % sizeof frame] = static_cast<char>(depth);
    if (depth < 0) return frame[0];
    return use_up_stack(depth + 1) + frame[1];
}

void in_thread(void (*body)()) {
    install_crash_handlers();
    std::thread([body] {
        const base::SignalStack signal_stack;
        body();
    }).join();
    std::_Exit(base::kExitClean);
}

TEST(CrashHandlers, NameTheAddressAndTheFrames) {
    EXPECT_EXIT(in_thread([] { write_to(reinterpret_cast<int*>(0x18)); }),
                testing::ExitedWithCode(base::kExitAbrupt),
                "address: 0x0000000000000018\n.*Backtrace");
}

// A sector that the device does not give causes the same signal.
TEST(CrashHandlers, NameTheFileOfAPageThatIsNotThere) {
    const os::TestDirectory directory;
    const std::string path = directory / "test.0";
    const auto file =
        os::real_file_system().open(path, {.access = os::Access::read_write, .create = true});
    constexpr uint64_t kPage = 4096;
    file->truncate(8 * kPage);
    const auto mapping = os::real_file_system().map(*file, os::MapKind::shared, 8 * kPage);
    file->truncate(2 * kPage);
    EXPECT_EXIT(
        {
            install_crash_handlers();
            write_to(reinterpret_cast<int*>(mapping->data() + 5 * kPage + 16));
        },
        testing::ExitedWithCode(base::kExitAbrupt),
        "It lies in .*/test\\.0 at 0x0000000000005010: the device does not give(.*\n)*.*Bus error");
}

TEST(CrashHandlers, RunWhenTheStackIsUsedUp) {
    EXPECT_EXIT(in_thread([] { use_up_stack(0); }), testing::ExitedWithCode(base::kExitAbrupt),
                kTrace);
}

TEST(CrashHandlers, LetOneOfManyThreadsWriteItsTrace) {
    EXPECT_EXIT(
        {
            install_crash_handlers();
            std::vector<std::thread> threads;
            for (int i = 0; i < 8; ++i)
                threads.emplace_back([] {
                    const base::SignalStack signal_stack;
                    use_up_stack(0);
                });
            for (std::thread& thread : threads)
                thread.join();
        },
        testing::ExitedWithCode(base::kExitAbrupt), kTrace);
}

}  // namespace
}  // namespace server

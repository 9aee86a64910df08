// Signals that arrive in the middle of a call to the system.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <thread>
#include <vector>

#include "os/file_system.h"
#include "os/testing/directory.h"

namespace {

// A local disk interrupts no call. These stand before the functions of the C library.
enum Name { kOpen, kRead, kWrite, kWriteAt, kSync, kSyncData, kTruncate, kAllocate, kNames };
thread_local int t_times = 0;    // so often each call is interrupted before it is carried out
thread_local size_t t_most = 0;  // bytes that a call reads or writes; 0: as many as it is to
thread_local int t_interrupted[kNames]{};

// The sanitizers have such functions of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCanInterrupt = false;
#else
constexpr bool kCanInterrupt = true;
thread_local int t_in_turn = 0;

bool interrupts(Name name) {
    if (t_in_turn == t_times) {
        t_in_turn = 0;
        return false;
    }
    ++t_in_turn;
    ++t_interrupted[name];
    errno = EINTR;
    return true;
}
size_t shortened(size_t bytes) {
    return t_most == 0 ? bytes : std::min(bytes, t_most);
}
#endif

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern "C" {

int interrupted_open(const char* path, int flags, ...) __asm__("open");
int interrupted_open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const auto mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0U;
    va_end(arguments);
    if (interrupts(kOpen)) return -1;
    return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

ssize_t interrupted_pread(int fd, void* to, size_t bytes, off_t offset) __asm__("pread");
ssize_t interrupted_pread(int fd, void* to, size_t bytes, off_t offset) {
    if (interrupts(kRead)) return -1;
    return ::syscall(SYS_pread64, fd, to, shortened(bytes), offset);
}

ssize_t interrupted_write(int fd, const void* from, size_t bytes) __asm__("write");
ssize_t interrupted_write(int fd, const void* from, size_t bytes) {
    if (interrupts(kWrite)) return -1;
    return ::syscall(SYS_write, fd, from, shortened(bytes));
}

ssize_t interrupted_pwrite(int fd, const void* from, size_t bytes, off_t offset) __asm__("pwrite");
ssize_t interrupted_pwrite(int fd, const void* from, size_t bytes, off_t offset) {
    if (interrupts(kWriteAt)) return -1;
    return ::syscall(SYS_pwrite64, fd, from, shortened(bytes), offset);
}

int interrupted_fsync(int fd) __asm__("fsync");
int interrupted_fsync(int fd) {
    return interrupts(kSync) ? -1 : static_cast<int>(::syscall(SYS_fsync, fd));
}

int interrupted_fdatasync(int fd) __asm__("fdatasync");
int interrupted_fdatasync(int fd) {
    return interrupts(kSyncData) ? -1 : static_cast<int>(::syscall(SYS_fdatasync, fd));
}

int interrupted_ftruncate(int fd, off_t length) __asm__("ftruncate");
int interrupted_ftruncate(int fd, off_t length) {
    return interrupts(kTruncate) ? -1 : static_cast<int>(::syscall(SYS_ftruncate, fd, length));
}

int interrupted_allocation(int fd, off_t offset, off_t bytes) __asm__("posix_fallocate");
int interrupted_allocation(int fd, off_t offset, off_t bytes) {
    if (interrupts(kAllocate)) return EINTR;
    return ::syscall(SYS_fallocate, fd, 0, offset, bytes) == 0 ? 0 : errno;
}

}  // extern "C"

#endif

namespace os {
namespace {

TEST(Interrupted, EveryCallIsMadeAgainAndGoesOnWhereItStopped) {
    if (!kCanInterrupt) GTEST_SKIP() << "not under this sanitizer";
    const TestDirectory directory;
    FileSystem& files = real_file_system();
    std::vector<uint8_t> bytes(1000), found(1000);
    for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<uint8_t>(i * 7);
    t_times = 2;
    t_most = 300;
    {
        const auto file =
            files.open(directory / "a", {.access = Access::read_write, .create = true});
        file->write(bytes);
        file->write_at(bytes.size(), bytes);
        file->allocate(8192);
        file->truncate(4096);
        file->sync_data();
        file->sync();
        files.sync_directory(directory.path());
        for (const uint64_t at : {uint64_t{0}, uint64_t{1000}}) {
            std::ranges::fill(found, 0);
            EXPECT_EQ(file->read_at(at, found), bytes.size());
            EXPECT_EQ(found, bytes);
        }
        EXPECT_EQ(file->read_at(4000, found), 96u);
        EXPECT_EQ(file->length(), 4096u);
        EXPECT_EQ(files.list(directory.path()), std::vector<std::string>{"a"});
    }
    t_times = 0;
    t_most = 0;
    for (int name = 0; name < kNames; ++name)
        EXPECT_GE(t_interrupted[name], 2) << name;
    // A flag that is not known is left out in a second try.
    t_times = 2;
    const auto file = files.open(directory / "a", {.direct = true, .no_atime = true});
    t_times = 0;
    EXPECT_EQ(file->length(), 4096u);
}

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

#include "base/rotating_log_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace base::rotating_log_calls {
namespace {

// Waiting for a reader would block every thread that logs.
TEST(RotatingLogCalls, APipeNeedsAReader) {
    const std::string path = std::filesystem::path(testing::TempDir()) / "rotating_log_pipe";
    std::filesystem::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(open(path), -1);
    EXPECT_EQ(errno, ENXIO);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    const int writer = open(path);
    ASSERT_GE(writer, 0);
    EXPECT_EQ(::fcntl(writer, F_GETFL) & O_NONBLOCK, 0) << "a slow reader loses no lines";
    write_line(writer, "one");
    char line[8];
    EXPECT_EQ(::read(reader, line, sizeof line), 4);
    close(writer);
    ::close(reader);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace base::rotating_log_calls

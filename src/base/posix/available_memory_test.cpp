#include "base/available_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace base {
namespace {

constexpr int64_t kMB = 1 << 20;

// A folder that stands for the root of a system.
class AvailableMemoryTest : public testing::Test {
  protected:
    AvailableMemoryTest() {
        std::string name = testing::TempDir() + "available_memory.XXXXXX";
        root_ = ::mkdtemp(name.data());
    }
    ~AvailableMemoryTest() override { std::filesystem::remove_all(root_); }

    void write(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text;
    }
    AvailableMemory memory() const { return available_memory(root_); }

    std::string root_;
};

TEST_F(AvailableMemoryTest, IsThatOfTheMachineWithoutGroups) {
    EXPECT_EQ(memory().group_bytes, 0);
    EXPECT_GT(memory().machine_bytes, 16 * kMB);
    EXPECT_EQ(memory().bytes(), memory().machine_bytes);
}

TEST_F(AvailableMemoryTest, IsThatOfAGroupOfVersion1) {
    write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/a/b\n0::/\n");
    write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_EQ(memory().group_bytes, 0);
    write("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "314572800\n");
    EXPECT_EQ(memory().group_bytes, 300 * kMB);
    EXPECT_EQ(memory().bytes(), 300 * kMB);
}

TEST_F(AvailableMemoryTest, IsThatOfAGroupOfVersion2) {
    write("/proc/self/cgroup", "0::/system.slice/mongod.service\n");
    write("/sys/fs/cgroup/system.slice/mongod.service/memory.max", "max\n");
    EXPECT_EQ(memory().group_bytes, 0);
    write("/sys/fs/cgroup/system.slice/mongod.service/memory.max", "134217728\n");
    EXPECT_EQ(memory().group_bytes, 128 * kMB);
}

TEST_F(AvailableMemoryTest, TheLeastLimitOfAllGroupsAboveCounts) {
    write("/proc/self/cgroup", "0::/a/b/c\n");
    write("/sys/fs/cgroup/a/memory.max", "134217728\n");
    write("/sys/fs/cgroup/a/b/c/memory.max", "268435456\n");
    EXPECT_EQ(memory().group_bytes, 128 * kMB);
}

// There the path is the host's, and the group of the container is the root of what it sees.
TEST_F(AvailableMemoryTest, IsFoundInAContainer) {
    write("/proc/self/cgroup", "4:memory:/docker/0123\n");
    write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n");
    EXPECT_EQ(memory().group_bytes, 128 * kMB);
}

TEST_F(AvailableMemoryTest, VersionsMayBeMixed) {
    write("/proc/self/cgroup", "5:devices:/x\n0::/user\n");
    write("/sys/fs/cgroup/unified/user/memory.max", "134217728\n");
    EXPECT_EQ(memory().group_bytes, 128 * kMB);
}

TEST_F(AvailableMemoryTest, FilesThatSayNothingAreNoLimit) {
    for (const char* lines : {"", "4\n", "4:memory", "4:memory:\n", "4:memory:x\n", "0::/\n"}) {
        write("/proc/self/cgroup", lines);
        write("/sys/fs/cgroup/memory.max", "-1\n");
        EXPECT_EQ(memory().group_bytes, 0) << lines;
    }
}

}  // namespace
}  // namespace base

// The hints of a mapping, and the writing of its parts, as the system has taken them.

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "os/file_system.h"
#include "os/mapping.h"
#include "os/testing/directory.h"

namespace os {
namespace {

constexpr uint64_t kPageBytes = 4096;

// Whether the part of the process's memory that begins there has that flag (VmFlags of
// /proc/PID/smaps).
bool has_flag(const uint8_t* begin, const std::string& flag) {
    std::ifstream in("/proc/self/smaps");
    const std::string head = fmt::format("{:08x}-", reinterpret_cast<uintptr_t>(begin));
    bool inside = false;
    for (std::string line; std::getline(in, line);) {
        if (line.rfind(head, 0) == 0) inside = true;
        if (inside && line.rfind("VmFlags:", 0) == 0)
            return (line + " ").find(" " + flag + " ") != std::string::npos;
    }
    ADD_FAILURE() << "nothing is mapped there";
    return false;
}

// How many bytes of what is mapped there are dirty.
uint64_t dirty_bytes(const uint8_t* begin) {
    std::ifstream in("/proc/self/smaps");
    const std::string head = fmt::format("{:08x}-", reinterpret_cast<uintptr_t>(begin));
    bool inside = false;
    uint64_t kilobytes = 0;
    for (std::string line; std::getline(in, line);) {
        if (line.rfind(head, 0) == 0) inside = true;
        for (const std::string name : {"Shared_Dirty:", "Private_Dirty:"}) {
            if (inside && line.rfind(name, 0) == 0)
                kilobytes += std::stoull(line.substr(name.size()));
        }
        if (inside && line.rfind("VmFlags:", 0) == 0) return kilobytes << 10;
    }
    ADD_FAILURE() << "nothing is mapped there";
    return 0;
}

class MappingHints : public testing::Test {
  protected:
    std::unique_ptr<Mapping> map(MapKind kind, uint64_t bytes) const {
        FileSystem& files = real_file_system();
        const auto file =
            files.open(directory_ / "a", {.access = Access::read_write, .create = true});
        file->allocate(bytes);
        return files.map(*file, kind, bytes);
    }

    const TestDirectory directory_;
};

TEST_F(MappingHints, OnlyOneThatIsToldExpectsRandomAccess) {
    for (const MapKind kind : {MapKind::shared, MapKind::private_copy}) {
        const auto mapping = map(kind, 4 * kPageBytes);
        EXPECT_FALSE(has_flag(mapping->data(), "rr"));
        mapping->expect_random_access();
        EXPECT_TRUE(has_flag(mapping->data(), "rr"));
    }
}

TEST_F(MappingHints, APartIsWritten) {
    struct statfs about {};
    ASSERT_EQ(::statfs(directory_.path().c_str(), &about), 0);
    if (about.f_type == TMPFS_MAGIC) GTEST_SKIP() << "this file system has no device";
    const auto mapping = map(MapKind::shared, 8 * kPageBytes);
    std::memset(mapping->data(), 'x', 8 * kPageBytes);
    ASSERT_EQ(dirty_bytes(mapping->data()), 8 * kPageBytes);
    mapping->write_part(2 * kPageBytes, 3 * kPageBytes);
    EXPECT_EQ(dirty_bytes(mapping->data()), 5 * kPageBytes);
    mapping->write_part(0, 8 * kPageBytes);
    EXPECT_EQ(dirty_bytes(mapping->data()), 0u);
}

TEST_F(MappingHints, ARemapKeepsThem) {
    const auto mapping = map(MapKind::private_copy, 4 * kPageBytes);
    mapping->remap();
    EXPECT_FALSE(has_flag(mapping->data(), "rr"));
    mapping->expect_random_access();
    mapping->data()[0] = 'x';
    mapping->remap();
    EXPECT_EQ(mapping->data()[0], 0);
    EXPECT_TRUE(has_flag(mapping->data(), "rr"));
}

TEST_F(MappingHints, APartMayBeginAndEndAnywhere) {
    const auto mapping = map(MapKind::shared, 64 * kPageBytes);
    mapping->expect_random_access();
    mapping->read_ahead(0, 0);
    mapping->read_ahead(1, 1);
    mapping->read_ahead(5 * kPageBytes - 1, 40 * kPageBytes);
    mapping->read_ahead(64 * kPageBytes - 1, 1);
    EXPECT_EQ(mapping->data()[64 * kPageBytes - 1], 0);
}

}  // namespace
}  // namespace os

#include "os/device_read_ahead.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "os/testing/directory.h"

namespace os {
namespace {

class DeviceReadAhead : public testing::Test {
  protected:
    DeviceReadAhead() {
        struct stat info {};
        EXPECT_EQ(::stat(directory_.path().c_str(), &info), 0);
        number_ = fmt::format("{}:{}", major(info.st_dev), minor(info.st_dev));
    }
    // Below a /sys of its own.
    void write(const std::string& name, const std::string& text) const {
        const std::filesystem::path path = directory_.path() + "/sys/" + name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    std::optional<int64_t> kb() const {
        return device_read_ahead_kb(directory_.path(), directory_.path());
    }

    const TestDirectory directory_;
    std::string number_;
};

TEST_F(DeviceReadAhead, IsNotKnownWhereNothingTells) {
    EXPECT_FALSE(kb());
    EXPECT_FALSE(device_read_ahead_kb(directory_.path() + "/nothing", directory_.path()));
    write("dev/block/" + number_ + "/queue/read_ahead_kb", "much\n");
    EXPECT_FALSE(kb());
}

TEST_F(DeviceReadAhead, IsThatOfADisk) {
    write("dev/block/" + number_ + "/queue/read_ahead_kb", "8192\n");
    EXPECT_EQ(kb(), 8192);
}

TEST_F(DeviceReadAhead, OfAPartitionThatOfItsDisk) {
    write("devices/disk/queue/read_ahead_kb", "512\n");
    std::filesystem::create_directories(directory_.path() + "/sys/devices/disk/part1");
    std::filesystem::create_directories(directory_.path() + "/sys/dev/block");
    std::filesystem::create_directory_symlink("../../devices/disk/part1",
                                              directory_.path() + "/sys/dev/block/" + number_);
    EXPECT_EQ(kb(), 512);
}

TEST_F(DeviceReadAhead, OrThatOfAFileSystem) {
    write("class/bdi/" + number_ + "/read_ahead_kb", "4096\n");
    EXPECT_EQ(kb(), 4096);
}

}  // namespace
}  // namespace os

#include "storage/mmapv1/mapping/disk_room.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "os/testing/sim_file_system.h"
#include "os/testing/step_clock.h"
#include "storage/mmapv1/mapping/testing/views.h"

namespace mmapv1 {
namespace {

constexpr int64_t kMb = 1 << 20;

class DiskRoomTest : public ::testing::Test {
  protected:
    DiskRoomTest() {
        base::log::set_sink([this](base::log::Severity severity, std::string_view line) {
            EXPECT_EQ(severity, base::log::Severity::error);
            lines_.emplace_back(line);
        });
        files_.create_directory("db");
        files_.create_directory("db/other");
        files_.set_free_bytes(100 * kMb);
    }
    ~DiskRoomTest() override { base::log::set_sink(nullptr); }

    // The code of the refusal, or 0.
    int make(const std::string& path, int64_t mb) {
        try {
            room_.make_file(path, mb * kMb, [&]() -> MappedFile& {
                ++attempts_;
                if (system_refuses_)
                    throw os::IoError("allocation", std::make_error_code(*system_refuses_));
                return file_;
            });
        } catch (const base::Error& error) {
            text_ = error.what();
            return error.code();
        }
        return 0;
    }
    void pass_seconds(int64_t seconds) { clock_.advance_us(seconds * 1'000'000); }
    void expect_lines(const std::vector<std::string>& parts) {
        ASSERT_EQ(lines_.size(), parts.size());
        for (size_t i = 0; i < parts.size(); ++i)
            EXPECT_NE(lines_[i].find(parts[i]), std::string::npos) << lines_[i];
    }

    os::SimFileSystem files_;
    os::StepClock clock_;
    DiskRoom room_{files_, clock_, "db"};
    TestFile file_{"made", 4096};
    std::optional<std::errc> system_refuses_;
    int attempts_ = 0;
    std::string text_;
    std::vector<std::string> lines_;
};

TEST_F(DiskRoomTest, WhatDoesNotFitIsNotTried) {
    EXPECT_EQ(make("a.0", 64), 0);
    EXPECT_EQ(make("a.1", 128), base::kOutOfDiskSpace);
    EXPECT_EQ(attempts_, 1);
    EXPECT_EQ(text_, "the disk is full: a.1 needs 128 MB, 100 MB are left in db");
}

TEST_F(DiskRoomTest, OneLineWhenItBeginsAndOneWhenItEnds) {
    for (int i = 0; i < 1000; ++i)
        EXPECT_EQ(make("a.1", 128), base::kOutOfDiskSpace);
    expect_lines({"the disk is full: a.1 needs 128 MB"});
    pass_seconds(90);
    // Another database gets a smaller file; what was wanted still has no room.
    EXPECT_EQ(make("b.0", 16), 0);
    expect_lines({"the disk is full"});
    files_.set_free_bytes(200 * kMb);
    EXPECT_EQ(make("a.1", 128), 0);
    expect_lines({"the disk is full",
                  "the disk has room again: db was full for 90.0 s, in which 1000 writes"});
    EXPECT_EQ(make("a.2", 256), base::kOutOfDiskSpace);
    EXPECT_EQ(lines_.size(), 3u) << "the next time";
}

TEST_F(DiskRoomTest, ItEndsAlsoForAnother) {
    EXPECT_EQ(make("a.1", 128), base::kOutOfDiskSpace);
    files_.set_free_bytes(300 * kMb);
    EXPECT_EQ(make("b.0", 16), 0);
    expect_lines({"the disk is full", "in which 1 writes"});
}

TEST_F(DiskRoomTest, WhatTheSystemRefusesTwiceIsTriedOnceASecond) {
    system_refuses_ = std::errc::no_space_on_device;
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(make("a.0", 16), base::kOutOfDiskSpace);
    EXPECT_EQ(attempts_, 2);
    pass_seconds(1);
    EXPECT_EQ(make("a.0", 16), base::kOutOfDiskSpace);
    EXPECT_EQ(attempts_, 3);
    system_refuses_.reset();
    EXPECT_EQ(make("a.0", 16), base::kOutOfDiskSpace);
    EXPECT_EQ(attempts_, 3);
    pass_seconds(1);
    EXPECT_EQ(make("a.0", 16), 0);
    expect_lines({"the disk is full: allocation", "was full for 2.0 s, in which 102 writes"});
}

TEST_F(DiskRoomTest, OneRefusalMayBeByChance) {
    system_refuses_ = std::errc::no_space_on_device;
    EXPECT_EQ(make("a.0", 16), base::kOutOfDiskSpace);
    system_refuses_.reset();
    EXPECT_EQ(make("a.0", 16), 0);
    expect_lines({"the disk is full: allocation", "in which 1 writes were refused"});
}

TEST_F(DiskRoomTest, OtherFailuresAreNotAFullDisk) {
    system_refuses_ = std::errc::io_error;
    EXPECT_EQ(make("a.0", 16), base::kOperationFailed);
    EXPECT_EQ(make("a.0", 16), base::kOperationFailed);
    EXPECT_EQ(attempts_, 2);
    EXPECT_EQ(lines_.size(), 0u);
}

TEST_F(DiskRoomTest, EachDeviceIsOneDisk) {
    files_.set_device("db/other", 7);
    system_refuses_ = std::errc::no_space_on_device;
    EXPECT_EQ(make("other/other.0", 16), base::kOutOfDiskSpace);
    EXPECT_EQ(make("other/other.0", 16), base::kOutOfDiskSpace);
    system_refuses_.reset();
    EXPECT_EQ(make("other/other.0", 16), base::kOutOfDiskSpace);
    EXPECT_EQ(make("new/new.0", 16), 0) << "its folder is not there yet";
    expect_lines({"the disk is full"});
}

}  // namespace
}  // namespace mmapv1

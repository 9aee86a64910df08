// Tests the particulars of files of Windows. The contract that all systems keep is in
// os/file_system_test.cpp.

#include "os/windows/file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <new>

#include "os/file_system.h"
#include "os/mapping.h"
#include "os/testing/directory.h"
#include "os/windows/error.h"

namespace os {
namespace {

class WindowsFileTest : public testing::Test {
  protected:
    static std::vector<uint8_t> bytes_of(std::string_view text) {
        return {text.begin(), text.end()};
    }
    void write(const std::string& path, std::string_view text) {
        files.open(path, {.access = Access::read_write, .create = true})
            ->write_at(0, bytes_of(text));
    }
    std::string read(const std::string& path) {
        const auto file = files.open(path, {});
        std::vector<uint8_t> bytes(file->length());
        file->read_at(0, bytes);
        return {bytes.begin(), bytes.end()};
    }
    static std::errc reason_of(const std::function<void()>& call) {
        try {
            call();
        } catch (const IoError& e) {
            for (const std::errc candidate :
                 {std::errc::no_such_file_or_directory, std::errc::permission_denied,
                  std::errc::directory_not_empty, std::errc::file_exists,
                  std::errc::invalid_argument})
                if (e.reason() == candidate) return candidate;
            return std::errc::io_error;
        }
        return {};
    }

    TestDirectory home;
    FileSystem& files = real_file_system();
};

TEST_F(WindowsFileTest, AJournalFileHasOneWriterAndAnyReaders) {
    const OpenOptions options{.access = Access::write, .create = true, .direct = true};
    const std::string path = home / "j";
    const auto file = files.open(path, options);
    EXPECT_EQ(reason_of([&] { files.open(path, options); }), std::errc::permission_denied);
    EXPECT_EQ(reason_of([&] { files.rename(path, home / "k"); }), std::errc::permission_denied);
    EXPECT_EQ(read(path), "");
}

TEST_F(WindowsFileTest, UnbufferedWritesAreAligned) {
    const auto file =
        files.open(home / "j", {.access = Access::write, .create = true, .direct = true});
    alignas(4096) static uint8_t block[8192];
    file->write({block, 4096});
    EXPECT_EQ(reason_of([&] { file->write({block + 1, 4096}); }), std::errc::invalid_argument);
    EXPECT_EQ(reason_of([&] { file->write({block, 100}); }), std::errc::invalid_argument);
    EXPECT_EQ(reason_of([&] { file->write_at(100, {block, 4096}); }), std::errc::invalid_argument);
    EXPECT_EQ(file->length(), 4096u);
}

TEST_F(WindowsFileTest, OthersCanBeRenamedAndRemovedWhileTheyAreOpen) {
    const auto file = files.open(home / "a", {.access = Access::read_write, .create = true});
    files.rename(home / "a", home / "b");
    file->write(bytes_of("x"));
    EXPECT_EQ(read(home / "b"), "x");
}

TEST_F(WindowsFileTest, ARenameReplaces) {
    write(home / "a", "new");
    write(home / "b", "old");
    files.rename(home / "a", home / "b");
    EXPECT_EQ(read(home / "b"), "new");
    EXPECT_FALSE(files.exists(home / "a"));
}

TEST_F(WindowsFileTest, NamesAreUnicodeAndMayBeLong) {
    std::string folder = home / "\xc3\xa4\xe2\x82\xac";
    files.create_directory(folder);
    EXPECT_EQ(files.list(home.path()), std::vector<std::string>{"\xc3\xa4\xe2\x82\xac"});
    while (folder.size() < 400) {
        folder = join(folder, std::string(60, 'x'));
        files.create_directory(folder);
    }
    const std::string path = join(folder, "file");
    write(path, "deep");
    EXPECT_EQ(read(path), "deep");
    EXPECT_EQ(files.file_length(path), 4u);
    files.rename(path, path + "2");
    EXPECT_EQ(files.list(folder), std::vector<std::string>{"file2"});
}

TEST_F(WindowsFileTest, ErrorsAreTextWithTheirNumber) {
    try {
        files.open(home / "nowhere", {});
        FAIL();
    } catch (const IoError& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find("open of " + (home / "nowhere") + " failed: "), std::string::npos);
        EXPECT_TRUE(text.ends_with("(error 2)")) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos);
        EXPECT_TRUE(e.not_found());
    }
    EXPECT_EQ(reason_of([&] { files.open(home / "no" + "/x", {}); }),
              std::errc::no_such_file_or_directory);
    write(home / "file", "");
    EXPECT_EQ(reason_of([&] { files.create_directory(home / "file"); }), std::errc::file_exists);
    files.create_directory(home / "d");
    write(join(home / "d", "x"), "");
    EXPECT_EQ(reason_of([&] { files.remove(home / "d"); }), std::errc::directory_not_empty);
    EXPECT_EQ(windows_error(ERROR_DISK_FULL), std::errc::no_space_on_device);
    EXPECT_EQ(windows_error(ERROR_IO_DEVICE), std::errc::io_error);
    EXPECT_NE(windows_error(54321).message().find("54321"), std::string::npos);
}

TEST_F(WindowsFileTest, ALockedFileCanBeRead) {
    write(home / "lock", "42");
    const auto file = files.open(home / "lock", {.access = Access::read_write});
    ASSERT_TRUE(file->try_lock());
    EXPECT_EQ(read(home / "lock"), "42");
}

TEST_F(WindowsFileTest, ReadsAndWritesAtOffsetsLeaveThePositionAlone) {
    const auto file = files.open(home / "a", {.access = Access::read_write, .create = true});
    file->write(bytes_of("12"));
    file->write_at(10, bytes_of("x"));
    std::vector<uint8_t> some(1);
    file->read_at(0, some);
    file->write(bytes_of("34"));
    EXPECT_EQ(read(home / "a").substr(0, 4), "1234");
}

// journal spec 3.2
TEST_F(WindowsFileTest, OneWriteTakesAtMostEightMegabytes) {
    const auto file = files.open(home / "a", {.access = Access::write, .create = true});
    const std::vector<uint8_t> much((size_t{8} << 20) + 5);
    EXPECT_EQ(file->write_some(much), size_t{8} << 20);
    file->write(std::span(much).subspan(size_t{8} << 20));
    EXPECT_EQ(file->length(), much.size());
}

// The end of a file is written back as it is: nothing that was there changes.
TEST_F(WindowsFileTest, TheFirstFlushOfALongFileKeepsItsEnd) {
    constexpr size_t kBlock = 4096;
    write(home / "a", std::string(3 * kBlock, 'o'));
    const auto file = files.open(home / "a", {.access = Access::write, .direct = true});
    auto* block = static_cast<uint8_t*>(::operator new (kBlock, std::align_val_t{kBlock}));
    std::memset(block, 'n', kBlock);
    file->write({block, kBlock});
    ::operator delete (block, std::align_val_t{kBlock});
    file->sync_data();
    EXPECT_EQ(read(home / "a"), std::string(kBlock, 'n') + std::string(2 * kBlock, 'o'));
}

TEST_F(WindowsFileTest, ViewsAreApartAndAreMappedAgainAtTheirAddress) {
    write(home / "a", std::string(100'000, '.'));
    const auto file = files.open(home / "a", {.access = Access::read_write});
    const auto first = files.map(*file, MapKind::private_copy, 100'000);
    const auto second = files.map(*file, MapKind::private_copy, 100'000);
    EXPECT_GE(second->data() - first->data(), 100'000 + 65'536);
    uint8_t* const place = first->data();
    for (int i = 0; i < 100; ++i) {
        first->data()[i] = 'p';
        first->remap();
        ASSERT_EQ(first->data(), place);
        ASSERT_EQ(first->data()[i], '.');
    }
}

TEST_F(WindowsFileTest, PlacesOnOneDiskAreOnOneDevice) {
    EXPECT_EQ(files.device_of(home.path()), files.device_of(parent(home.path())));
    EXPECT_TRUE(files.device_of(home.path()).has_value());
    EXPECT_FALSE(files.device_of(home / "nowhere").has_value());
    EXPECT_GT(files.free_bytes(home.path()), 0u);
}

}  // namespace
}  // namespace os

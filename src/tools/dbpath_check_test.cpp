#include "tools/dbpath_check.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "os/testing/directory.h"
#include "os/testing/failing_file_system.h"
#include "os/testing/fixture.h"

namespace tools {
namespace {

class DbpathCheckTest : public ::testing::Test {
  protected:
    void SetUp() override {
        os::unpack_fixture("mmapv1-2.6-clean.tar.xz", home_.path());
        options_.dbpath = home_.path();
    }
    DbpathCheckResult check() {
        out_.str({});
        return check_dbpath(os::real_file_system(), options_, out_);
    }
    void write(const std::string& file, int64_t offset, const std::string& bytes) {
        home_.write(file, offset, bytes);
    }
    std::string read(const std::string& file, int64_t offset, size_t bytes) {
        return home_.read(file, offset, bytes);
    }
    // Where `pattern` occurs first.
    int64_t find(const std::string& file, const std::string& pattern) {
        const size_t at = read(file, 0, 16 << 20).find(pattern);
        EXPECT_NE(at, std::string::npos);
        return static_cast<int64_t>(at);
    }

    os::TestDirectory home_;
    DbpathCheckOptions options_;
    std::ostringstream out_;
};

TEST_F(DbpathCheckTest, FindsADirectoryOf26Consistent) {
    const std::string before = read("shop.0", 0, 16 << 20);
    const DbpathCheckResult result = check();
    EXPECT_EQ(result.errors, 0) << out_.str();
    EXPECT_EQ(result.leaks, 0) << out_.str();
    EXPECT_EQ(result.databases, 3);
    EXPECT_EQ(result.documents, 3831);
    EXPECT_EQ(result.indexes, 13);
    EXPECT_NE(out_.str().find("consistent"), std::string::npos);
    EXPECT_EQ(read("shop.0", 0, 16 << 20), before);
}

TEST_F(DbpathCheckTest, OnlyTheDatabasesAskedFor) {
    options_.databases = {"second-db"};
    EXPECT_EQ(check().databases, 1);
    options_.databases = {"nosuch"};
    EXPECT_THROW(check(), base::Error);
}

TEST_F(DbpathCheckTest, SeesAChangedDocument) {
    // The key of an index entry no longer fits the value in the document.
    options_.databases = {"second-db"};
    const std::string id("\x02_id\0\x03\0\0\0u7\0", 12);
    write("second-db.0", find("second-db.0", id) + 9, "v");
    EXPECT_GT(check().errors, 0);
    EXPECT_NE(out_.str().find("ERROR"), std::string::npos);
    options_.compare_keys = false;
    EXPECT_EQ(check().errors, 0);
}

TEST_F(DbpathCheckTest, SeesDamagedLinksHeadersAndCounts) {
    struct Damage {
        const char* file;
        int64_t offset;
        std::string bytes;
    };
    const std::string extent("DCBA", 4);
    const int64_t second = 0x4000;
    const std::vector<Damage> cases = {
        {"shop.0", 0, std::string("\x09", 1)},                 // version
        {"shop.0", 16, std::string("\x00\x10\x00\x00", 4)},    // start of the free tail
        {"shop.0", second, "XXXX"},                            // magic of an extent
        {"shop.0", second + 160, std::string(8, '\x33')},      // its first record
        {"shop.0", 0x2000 + 176 + 8, std::string(4, '\x11')},  // link of a record
        {"shop.ns", find("shop.ns", "shop.system.namespaces") + 1, "X"},
    };
    for (const Damage& damage : cases) {
        const std::string was = read(damage.file, damage.offset, damage.bytes.size());
        write(damage.file, damage.offset, damage.bytes);
        EXPECT_GT(check().errors, 0) << damage.file << " at " << damage.offset;
        EXPECT_NE(out_.str().find(std::string("  ERROR: ") + damage.file + " at 0x"),
                  std::string::npos)
            << out_.str();
        write(damage.file, damage.offset, was);
    }
    EXPECT_EQ(check().errors, 0);
}

TEST_F(DbpathCheckTest, NamesTheByteOfEachProblem) {
    options_.databases = {"shop"};
    const int64_t second = 0x4000;
    write("shop.0", second + 160, std::string(8, '\x33'));  // its first record
    check();
    EXPECT_NE(out_.str().find("ERROR: shop.0 at 0x4000: shop.audit: no valid record"),
              std::string::npos)
        << out_.str();
    // The count of documents lies 176 bytes into the value of the entry.
    const int64_t entry = find("shop.ns", std::string("shop.orders\0", 12)) - 4;
    write("shop.ns", entry + 132 + 176, std::string("\x01", 1));
    check();
    EXPECT_NE(
        out_.str().find(fmt::format("ERROR: shop.ns at {:#x}: shop.orders: ", entry + 132 + 176)),
        std::string::npos)
        << out_.str();
}

TEST_F(DbpathCheckTest, AnEntryWithoutANameIsCalledThat) {
    options_.databases = {"shop"};
    constexpr int64_t kSlotBytes = 628;
    int64_t entry = 0;
    while (read("shop.ns", entry, kSlotBytes) != std::string(kSlotBytes, '\0'))
        entry += kSlotBytes;
    write("shop.ns", entry, "\x01");  // a hash
    check();
    EXPECT_NE(out_.str().find(fmt::format("ERROR: shop.ns at {:#x}: (no name): ", entry)),
              std::string::npos)
        << out_.str();
}

TEST_F(DbpathCheckTest, ADatabaseThatCannotBeOpenedIsReadPieceByPiece) {
    options_.databases = {"shop"};
    const auto expect = [this](const std::string& text) {
        EXPECT_GT(check().errors, 0);
        EXPECT_NE(out_.str().find(text), std::string::npos) << out_.str();
    };
    const int64_t entry = find("shop.ns", std::string("shop.orders\0", 12)) - 4;
    const std::string count = read("shop.ns", entry + 132 + 188, 4);
    write("shop.ns", entry + 132 + 188, std::string(4, '\x7f'));  // of indexes
    expect("mongod --salvage would write 3295 documents of 4 collections");
    expect(fmt::format(
        "\nWhat can be read is written by: mongod --dbpath {} --salvage NEW_DIRECTORY\n",
        home_.path()));
    expect(
        fmt::format("ERROR: shop.ns at {:#x}: shop.orders: the entry counts", entry + 132 + 188));
    write("shop.ns", entry + 132 + 188, count);
    std::filesystem::resize_file(home_ / "shop.0", 3 << 20);
    expect("ERROR: shop.0 at 0x300000: shop: the file ends here");
    std::filesystem::remove(home_ / "shop.ns");
    expect("ERROR: shop.ns at 0x0: shop: the namespace file is missing");
}

TEST_F(DbpathCheckTest, WhatTheDeviceDoesNotGiveIsNamed) {
    os::FailingFileSystem disk(os::real_file_system());
    const auto check = [&] {
        out_.str({});
        return check_dbpath(disk, options_, out_);
    };
    EXPECT_EQ(check().errors, 0) << out_.str();
    // Where nothing lies, and nothing would be checked.
    disk.set_unreadable({{"shop.0", {(16 << 20) - 8192, (16 << 20) - 4096}}});
    EXPECT_EQ(check().errors, 1);
    EXPECT_NE(out_.str().find("ERROR: shop.0 at 0xffe000: shop: the device does not give 8192 "
                              "bytes from here on"),
              std::string::npos)
        << out_.str();
    // The head of an extent.
    disk.set_unreadable({{"shop.0", {0x4000}}});
    EXPECT_GT(check().errors, 1);
    EXPECT_NE(out_.str().find("ERROR: shop.0 at 0x4000: shop: the device does not give 4096 bytes"),
              std::string::npos)
        << out_.str();
    EXPECT_NE(out_.str().find("ERROR: shop.0 at 0x4000: shop.audit: "), std::string::npos)
        << out_.str();
    // The heads of files, without which a database cannot be opened.
    disk.set_unreadable({{"shop.0", {0}}, {"second-db.ns", {0}}});
    EXPECT_GT(check().errors, 1);
    EXPECT_NE(out_.str().find("ERROR: shop.0 at 0x0: shop: the device does not give"),
              std::string::npos)
        << out_.str();
    EXPECT_NE(out_.str().find("ERROR: second-db.ns at 0x0: second-db: the device does not give"),
              std::string::npos)
        << out_.str();
}

TEST_F(DbpathCheckTest, AFolderThatCannotBeReadIsAnError) {
    for (const std::string db : {"shop", "second-db", "local"}) {
        std::filesystem::create_directory(home_ / db);
        for (const char* end : {".ns", ".0"})
            std::filesystem::rename(home_ / (db + end), os::join(home_ / db, db + end));
    }
    options_.directory_per_db = true;
    os::FailingFileSystem disk(os::real_file_system());
    const auto check = [&] {
        out_.str({});
        return check_dbpath(disk, options_, out_);
    };
    EXPECT_EQ(check().errors, 0) << out_.str();
    disk.refuse("/second-db", std::errc::permission_denied);
    EXPECT_EQ(check().errors, 1);
    EXPECT_NE(out_.str().find("ERROR: second-db: the folder cannot be read: "), std::string::npos)
        << out_.str();
    options_.databases = {"shop"};
    EXPECT_EQ(check().errors, 0) << out_.str();
    options_.databases = {"second-db"};
    EXPECT_EQ(check().errors, 1) << out_.str();
}

TEST_F(DbpathCheckTest, ADataFileBehindAMissingOneIsNamed) {
    std::filesystem::copy(home_ / "shop.0", home_ / "shop.2");
    EXPECT_EQ(check().errors, 1);
    EXPECT_NE(out_.str().find("ERROR: shop.2 at 0x0: shop: it is not used, since shop.1"),
              std::string::npos)
        << out_.str();
}

TEST_F(DbpathCheckTest, RefusesWhatItCannotJudge) {
    options_.directory_per_db = true;
    EXPECT_THROW(check(), base::Error);
    options_.directory_per_db = false;
    const auto lock =
        os::real_file_system().open(home_ / "mongod.lock", {.access = os::Access::read_write});
    ASSERT_TRUE(lock->try_lock());
    EXPECT_THROW(check(), base::Error);
    options_.dbpath = home_ / "nosuch";
    EXPECT_THROW(check(), base::Error);
}

}  // namespace
}  // namespace tools

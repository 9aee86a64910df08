#include "server/key_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/testing/failure.h"
#include "os/testing/directory.h"

namespace server {
namespace {

using base::failure;
namespace fs = std::filesystem;

TEST(KeyFile, WhiteSpaceDoesNotCount) {
    EXPECT_EQ(key_of("abcdef", "f"), "abcdef");
    EXPECT_EQ(key_of(" ab\ncd \t ef\r\n+/=09AZ\n", "f"), "abcdef+/=09AZ");
}

TEST(KeyFile, TheKeyHasItsLimits) {
    EXPECT_EQ(failure([] { key_of("abcde\n", "f"); }), base::kBadValue);
    EXPECT_EQ(failure([] { key_of("", "f"); }), base::kBadValue);
    EXPECT_EQ(key_of(std::string(1024, 'x') + "\n", "f").size(), 1024u);
    EXPECT_EQ(failure([] { key_of(std::string(1025, 'x'), "f"); }), base::kBadValue);
    for (const std::string& other :
         {std::string("abcdef-"), std::string("abc,def"), std::string("abcdef\xC3\xA4"),
          std::string("abcdef\0", 7), std::string("abcdef_"), std::string("'abcdef'")})
        EXPECT_EQ(failure([&] { key_of(other, "f"); }), base::kBadValue) << other;
}

TEST(KeyFile, OnlyItsOwnerMayHaveRights) {
    const os::TestDirectory folder;
    const std::string path = folder / "key";
    std::ofstream(path) << "abcdefgh\n";
    for (const auto open : {fs::perms::group_read, fs::perms::group_write, fs::perms::others_read,
                            fs::perms::others_exec}) {
        fs::permissions(path, fs::perms::owner_read | open);
        EXPECT_EQ(failure([&] { read_key_file(path); }), base::kBadValue);
    }
    fs::permissions(path, fs::perms::owner_read);
    EXPECT_EQ(read_key_file(path), "abcdefgh");
    fs::permissions(path, fs::perms::owner_all);
    EXPECT_EQ(read_key_file(path), "abcdefgh");
}

TEST(KeyFile, WhatIsNoFileIsRefused) {
    const os::TestDirectory folder;
    EXPECT_EQ(failure([&] { read_key_file(folder / "absent"); }), base::kBadValue);
    fs::permissions(folder.path(), fs::perms::owner_all);
    EXPECT_EQ(failure([&] { read_key_file(folder.path()); }), base::kBadValue);
}

}  // namespace
}  // namespace server

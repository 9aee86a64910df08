#include "base/rotating_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace base {
namespace {

namespace fs = std::filesystem;

class RotatingLogTest : public testing::Test {
  protected:
    RotatingLogTest() : folder_(fs::path(testing::TempDir()) / "rotating_log_test") {
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    ~RotatingLogTest() override { fs::remove_all(folder_); }

    std::string path() const { return (folder_ / "m.log").string(); }
    static std::string content(const fs::path& path) {
        std::ifstream in(path);
        std::ostringstream text;
        text << in.rdbuf();
        return text.str();
    }
    size_t files() const {
        return static_cast<size_t>(
            std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }
    fs::path folder_;
};

TEST_F(RotatingLogTest, AppendsOrMovesAside) {
    {
        RotatingLog file(path(), false);
        file.write("one");
        EXPECT_TRUE(file.moved_to().empty());
    }
    {
        RotatingLog file(path(), true);
        EXPECT_TRUE(file.appended());
        file.write("two");
    }
    EXPECT_EQ(content(path()), "one\ntwo\n");
    RotatingLog file(path(), false);
    EXPECT_FALSE(file.appended());
    EXPECT_EQ(content(path()), "");
    EXPECT_EQ(content(file.moved_to()), "one\ntwo\n");
    EXPECT_EQ(file.moved_to().rfind(path() + ".2", 0), 0u);
}

#ifndef _WIN32
TEST_F(RotatingLogTest, TheLogOfAServerThatRunsStaysInItsPlace) {
    {
        RotatingLog first(path(), false);
        first.write("one");
        RotatingLog second(path(), false);
        EXPECT_TRUE(second.appended());
        second.write("refused");
        first.rotate();
        first.write("two");
        RotatingLog third(path(), false);
        EXPECT_TRUE(third.appended());
        EXPECT_EQ(content(path()), "two\n");
    }
    RotatingLog after(path(), false);
    EXPECT_EQ(content(after.moved_to()), "two\n");
}
#endif

TEST_F(RotatingLogTest, RotatesWithoutLosingLines) {
    RotatingLog file(path(), false);
    for (int i = 0; i < 3; ++i) {
        file.write("line");
        file.rotate();  // more than once a second: names stay distinct
    }
    file.write("last");
    EXPECT_EQ(files(), 4u);
    EXPECT_EQ(content(path()), "last\n");
}

TEST_F(RotatingLogTest, RotationAfterTheFileWasMoved) {
    RotatingLog file(path(), false);
    file.write("one");
    fs::rename(path(), folder_ / "elsewhere");
    file.rotate();
    file.write("two");
    EXPECT_EQ(content(path()), "two\n");
    EXPECT_EQ(files(), 2u);
}

TEST_F(RotatingLogTest, DevicesAreNotRenamed) {
#ifdef _WIN32
    constexpr const char* kNull = "NUL";
#else
    constexpr const char* kNull = "/dev/null";
#endif
    RotatingLog file(kNull, false);
    file.write("x");
    file.rotate();
    file.write("y");
    EXPECT_EQ(content(kNull), "");
    EXPECT_TRUE(file.moved_to().empty());
}

TEST_F(RotatingLogTest, UnusablePathsAreErrors) {
    EXPECT_THROW(RotatingLog((folder_ / "nosuch" / "m.log").string(), false), Error);
    EXPECT_THROW(RotatingLog(folder_.string(), true), Error);
}

}  // namespace
}  // namespace base

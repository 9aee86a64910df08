#include "os/confined_file_system.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "os/mapping.h"
#include "os/testing/directory.h"

namespace os {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
void write_text(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

// Every name below a directory with what it is and holds; links are not followed.
std::map<std::string, std::string> tree_of(const std::string& directory) {
    std::map<std::string, std::string> tree;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        const std::string name = entry.path().lexically_relative(directory);
        if (entry.is_symlink())
            tree[name] = "-> " + fs::read_symlink(entry.path()).string();
        else
            tree[name] = entry.is_directory() ? "directory" : text_of(entry.path());
    }
    return tree;
}

// home/ is the directory; outside/ lies beside it.
class Confined : public testing::TestWithParam<PathWalk> {
  protected:
    Confined() {
        fs::create_directory(home_);
        fs::create_directories(outside_ + "/folder");
        write_text(outside_ + "/secret", "secret");
        write_text(outside_ + "/folder/secret", "secret");
        before_ = tree_of(outside_);
        files_ = confined_file_system(home_, {}, GetParam());
    }
    ~Confined() override { EXPECT_EQ(tree_of(outside_), before_); }

    std::string path(const std::string& name) const { return home_ + "/" + name; }
    void link(const std::string& to, const std::string& name) {
        fs::create_symlink(to, path(name));
    }

    const TestDirectory directory_;
    const std::string home_ = directory_ / "home";
    const std::string outside_ = directory_ / "outside";
    std::map<std::string, std::string> before_;
    std::unique_ptr<FileSystem> files_;
};
INSTANTIATE_TEST_SUITE_P(Both, Confined, testing::Values(PathWalk::by_kernel, PathWalk::by_part));

constexpr OpenOptions kWrite = {.access = Access::read_write, .create = true};

TEST_P(Confined, DoesWhatAFileSystemDoes) {
    files_->create_directory(path("a"));
    files_->create_directory(path("a"));
    files_->create_directory(path("a/b"));
    {
        const auto file = files_->open(path("a/b/c"), kWrite);
        file->allocate(4096);
        const auto mapping = files_->map(*file, MapKind::shared, 4096);
        mapping->data()[10] = 'x';
        mapping->sync(true);
    }
    EXPECT_EQ(text_of(path("a/b/c"))[10], 'x');
    EXPECT_EQ(files_->file_length(path("a/b/c")), 4096u);
    EXPECT_TRUE(files_->exists(path("a/b/c")));
    EXPECT_FALSE(files_->is_directory(path("a/b/c")));
    EXPECT_TRUE(files_->is_directory(path("a/b")));
    files_->rename(path("a/b/c"), path("d"));
    files_->sync_directory(path("a/b"));
    files_->sync_directory(home_);
    EXPECT_EQ(files_->list(home_), (std::vector<std::string>{"a", "d"}));
    EXPECT_THROW(files_->open(path("d"), {.access = Access::write, .create = true, .fresh = true}),
                 IoError);
    EXPECT_THROW(files_->open(path("a"), {}), IoError);
    EXPECT_THROW(files_->remove(path("a")), IoError);
    files_->remove(path("a/b"));
    files_->remove(path("a"));
    files_->remove(path("d"));
    EXPECT_EQ(files_->list(home_), std::vector<std::string>{});
    EXPECT_GT(files_->free_bytes(home_), 0u);
    EXPECT_EQ(files_->device_of(home_), real_file_system().device_of(home_));
    try {
        files_->open(path("missing"), {});
        FAIL();
    } catch (const IoError& error) {
        EXPECT_TRUE(error.not_found()) << error.what();
    }
}

// Without a descriptor the answer is unknown; "no" would let a recovery or a drop skip files.
TEST_P(Confined, TheUnknownIsNotAnsweredWithNo) {
    write_text(path("a"), "here");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    int thrown = 0;
    for (bool (FileSystem::*asked)(const std::string&) :
         {&FileSystem::exists, &FileSystem::is_directory, &FileSystem::is_link}) {
        try {
            (*files_.*asked)(path("a"));
        } catch (const IoError& error) {
            thrown += error.reason() == std::errc::too_many_files_open;
        }
    }
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(thrown, 3);
    EXPECT_TRUE(files_->exists(path("a")));
    EXPECT_FALSE(files_->is_directory(path("a")));
    EXPECT_FALSE(files_->is_link(path("a")));
    EXPECT_FALSE(files_->is_directory(path("b")));
    EXPECT_FALSE(files_->is_link(path("b")));
    EXPECT_FALSE(files_->exists(path("b")));
    EXPECT_FALSE(files_->exists(path("b/c")));
    EXPECT_FALSE(files_->exists(path("a/c")));
}

TEST_P(Confined, NewFilesHaveTheModeAskedFor) {
    files_->open(path("a"), {.access = Access::write, .create = true, .mode = 0600});
    struct stat info {};
    ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_P(Confined, NamesThatLeadOutsideAreRefused) {
    const std::string nul("a\0/../../outside/secret", 23);
    for (const std::string& bad :
         {path(".."), path("../outside/secret"), path("a/../../outside/secret"), path("./a"),
          path("a//b"), path(nul), outside_ + "/secret", home_ + "2/a", std::string("a"),
          std::string("/"), std::string(), std::string(".."), directory_.path()}) {
        EXPECT_THROW(files_->open(bad, kWrite), IoError) << bad;
        EXPECT_THROW(files_->remove(bad), IoError) << bad;
        EXPECT_THROW(files_->create_directory(bad), IoError) << bad;
        EXPECT_THROW(files_->list(bad), IoError) << bad;
        EXPECT_THROW(files_->rename(bad, path("x")), IoError) << bad;
        EXPECT_THROW(files_->rename(path("x"), bad), IoError) << bad;
        EXPECT_FALSE(files_->exists(bad)) << bad;
        EXPECT_FALSE(files_->is_directory(bad)) << bad;
        files_->remove_all(bad);
    }
    EXPECT_THROW(files_->remove(home_), IoError);
    EXPECT_TRUE(fs::exists(home_));
}

TEST_P(Confined, LinksAreSeenAndNotFollowed) {
    link(outside_ + "/secret", "file");
    link("../outside/folder", "folder");
    link(outside_ + "/nothing", "dangling");
    link("plain", "inside");
    write_text(path("plain"), "plain");
    for (const char* name : {"file", "folder", "dangling", "inside"}) {
        EXPECT_TRUE(files_->is_link(path(name))) << name;
        EXPECT_TRUE(files_->exists(path(name))) << name;
        EXPECT_FALSE(files_->is_directory(path(name))) << name;
        EXPECT_THROW(files_->open(path(name), kWrite), IoError) << name;
        EXPECT_THROW(files_->list(path(name)), IoError) << name;
        EXPECT_THROW(files_->create_directory(path(name)), IoError) << name;
    }
    for (const char* name : {"folder/secret", "folder/new", "folder/sub/new"}) {
        EXPECT_FALSE(files_->exists(path(name))) << name;
        EXPECT_THROW(files_->open(path(name), kWrite), IoError) << name;
        EXPECT_THROW(files_->remove(path(name)), IoError) << name;
        EXPECT_THROW(files_->rename(path("plain"), path(name)), IoError) << name;
        EXPECT_THROW(files_->create_directory(path(name)), IoError) << name;
    }
    try {
        files_->open(path("folder/secret"), {});
        FAIL();
    } catch (const IoError& error) {
        EXPECT_NE(std::string(error.what()).find("are not followed"), std::string::npos)
            << error.what();
    }
    // A call that replaces or removes a link leaves the file that it leads to.
    files_->rename(path("plain"), path("file"));
    EXPECT_EQ(text_of(path("file")), "plain");
    files_->remove(path("folder"));
    files_->remove_all(path("dangling"));
    EXPECT_FALSE(files_->exists(path("dangling")));
}

TEST_P(Confined, AFolderThatCannotBeMadeSaysWhy) {
    link(outside_ + "/folder", "link");
    write_text(path("file"), "");
    const auto reason = [&](const char* name) {
        try {
            files_->create_directory(path(name));
        } catch (const IoError& error) {
            return error.reason();
        }
        return std::error_code();
    };
    EXPECT_EQ(reason("link"), std::errc::too_many_symbolic_link_levels);
    EXPECT_EQ(reason("file"), std::errc::file_exists);
}

TEST_P(Confined, RemoveAllNeverCrossesALink) {
    fs::create_directories(path("a/b"));
    write_text(path("a/b/c"), "c");
    link(outside_, "a/out");
    link(outside_ + "/secret", "a/b/file");
    link("..", "a/b/up");
    files_->remove_all(path("a"));
    EXPECT_FALSE(fs::exists(path("a")));
    link(outside_ + "/folder", "a");
    files_->remove_all(path("a"));
    EXPECT_FALSE(fs::is_symlink(path("a")));
    files_->remove_all(path("a"));
}

TEST(RemoveAll, OfTheWholeFileSystemNeverCrossesALinkEither) {
    const TestDirectory directory;
    fs::create_directories(directory / "outside/folder");
    fs::create_directory(directory / "a");
    fs::create_directory_symlink(directory / "outside", directory / "a/out");
    fs::create_symlink("nothing", directory / "a/dangling");
    real_file_system().remove_all(directory / "a");
    EXPECT_FALSE(fs::exists(directory / "a"));
    EXPECT_TRUE(fs::exists(directory / "outside/folder"));
    fs::create_directory_symlink(directory / "outside", directory / "a");
    real_file_system().remove_all(directory / "a");
    EXPECT_FALSE(fs::is_symlink(directory / "a"));
    EXPECT_TRUE(fs::exists(directory / "outside/folder"));
}

TEST_P(Confined, HardLinksAreReadAndNotWritten) {
    fs::create_hard_link(outside_ + "/secret", path("a"));
    for (const Access access : {Access::write, Access::read_write})
        EXPECT_THROW(files_->open(path("a"), {.access = access, .create = true}), IoError);
    EXPECT_EQ(files_->open(path("a"), {})->length(), 6u);
    files_->remove(path("a"));
    files_->open(path("a"), kWrite)->write_at(0, std::vector<uint8_t>(3));
}

TEST_P(Confined, APipeIsNotWaitedFor) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    EXPECT_THROW(files_->open(path("pipe"), {}), IoError);
    EXPECT_THROW(files_->open(path("pipe"), {.access = Access::write}), IoError);
    files_->remove(path("pipe"));
}

TEST_P(Confined, TheDirectoryItselfMayBeALink) {
    fs::create_directory_symlink(home_, directory_ / "way");
    const auto files = confined_file_system((directory_ / "way") + "/", {}, GetParam());
    files->open((directory_ / "way") + "/a", kWrite);
    EXPECT_TRUE(fs::exists(path("a")));
    EXPECT_TRUE(files->is_directory(directory_ / "way"));
    // It stays what it was when the object was made.
    fs::remove(directory_ / "way");
    fs::create_directory_symlink(outside_, directory_ / "way");
    files->open((directory_ / "way") + "/b", kWrite);
    EXPECT_TRUE(fs::exists(path("b")));
}

TEST_P(Confined, ALinkThatIsNamedIsFollowed) {
    const std::string elsewhere = directory_ / "elsewhere";
    fs::create_directory(elsewhere);
    link(elsewhere, "journal");
    const auto files = confined_file_system(home_, {path("journal")}, GetParam());
    EXPECT_FALSE(files->is_link(path("journal")));
    EXPECT_TRUE(files->is_directory(path("journal")));
    files->create_directory(path("journal"));
    files->open(path("journal/j._0"), kWrite);
    files->rename(path("journal/j._0"), path("journal/j._1"));
    files->sync_directory(path("journal"));
    EXPECT_EQ(files->list(path("journal")), std::vector<std::string>{"j._1"});
    EXPECT_TRUE(fs::exists(elsewhere + "/j._1"));
    fs::create_symlink(outside_ + "/secret", elsewhere + "/lsn");
    EXPECT_THROW(files->open(path("journal/lsn"), kWrite), IoError);
    files->remove_all(path("journal/lsn"));
    files->open(path("journals"), kWrite);
    EXPECT_TRUE(fs::exists(path("journals")));
}

TEST_P(Confined, WithoutADirectoryNothingIsThere) {
    const auto files = confined_file_system(directory_ / "missing", {}, GetParam());
    EXPECT_FALSE(files->exists(directory_ / "missing"));
    EXPECT_FALSE(files->is_directory(directory_ / "missing"));
    EXPECT_THROW(files->open((directory_ / "missing") + "/a", kWrite), IoError);
}

}  // namespace
}  // namespace os

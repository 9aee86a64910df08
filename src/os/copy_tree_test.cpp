#include "os/copy_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "os/testing/choices.h"
#include "os/testing/directory.h"
#include "os/testing/sim_file_system.h"

namespace os {
namespace {

using Files = std::map<std::string, std::string>;

void write(FileSystem& files, const std::string& path, std::string_view text) {
    const auto file = files.open(path, {.access = Access::write, .create = true});
    file->write_at(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    file->sync();
}

// The files below a directory, each with what it has.
Files all_of(FileSystem& files, const std::string& directory, const std::string& below = "") {
    Files found;
    for (const std::string& name : files.list(join(directory, below))) {
        const std::string path = below.empty() ? name : join(below, name);
        if (files.is_directory(join(directory, path))) {
            found.merge(all_of(files, directory, path));
            continue;
        }
        const auto file = files.open(join(directory, path), {});
        std::vector<uint8_t> bytes(file->length());
        file->read_at(0, bytes);
        found[path] = std::string(bytes.begin(), bytes.end());
    }
    return found;
}

struct Copy {
    explicit Copy(FileSystem& where, const std::string& top) : files(where), top(top) {
        for (const char* path : {"from", "from/journal", "from/journal/deep", "from/empty", "to"})
            files.create_directory(join(top, path));
        write(files, join(top, "from/a"), std::string(3'000'000, 'a'));
        write(files, join(top, "from/none"), "");
        write(files, join(top, "from/journal/j._0"), "entries");
        write(files, join(top, "from/journal/prealloc.0"), "zeros");
        write(files, join(top, "from/journal/deep/b"), "b");
        for (const char* path : {"from/journal/deep", "from/journal", "from", ""})
            files.sync_directory(join(top, path));
    }
    void make() {
        copy_tree(files, {.from = join(top, "from"),
                          .to = join(top, "to"),
                          .leaves_out =
                              [this](const std::string& path) {
                                  asked.push_back(path);
                                  return path == "journal/prealloc.0";
                              },
                          .before_piece = [this](uint64_t piece) { bytes += piece; }});
    }
    Files wanted() {
        Files all = all_of(files, join(top, "from"));
        all.erase("journal/prealloc.0");
        return all;
    }

    FileSystem& files;
    const std::string top;
    std::vector<std::string> asked;
    uint64_t bytes = 0;
};

TEST(CopyTree, HasAllThatIsNotLeftOut) {
    const TestDirectory directory;
    Copy copy(real_file_system(), directory.path());
    copy.make();
    EXPECT_EQ(all_of(copy.files, directory / "to"), copy.wanted());
    EXPECT_EQ(copy.wanted().size(), 4U);
    EXPECT_TRUE(copy.files.is_directory(directory / "to/empty"));
    EXPECT_EQ(copy.bytes, 3'000'000U + 7 + 1);
    EXPECT_EQ(copy.asked.size(), 8U);
    EXPECT_THROW(copy.make(), IoError) << "it overwrites nothing";
}

TEST(CopyTree, IsOnTheDeviceWhenItReturns) {
    SimFileSystem files;
    files.create_directory("/top");
    Copy copy(files, "/top");
    copy.make();
    rename_synced(files, "/top/to", "/top/copy");
    EveryChoice choices;
    do {
        const auto after = files.power_cut(choices, 4096);
        EXPECT_EQ(all_of(*after, "/top/copy"), copy.wanted());
    } while (choices.next());
}

}  // namespace
}  // namespace os

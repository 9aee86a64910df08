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
    TreeToCopy tree() {
        return {.from = join(top, "from"),
                .to = join(top, "to"),
                .leaves_out =
                    [this](const std::string& path) {
                        asked.push_back(path);
                        return path == "journal/prealloc.0";
                    },
                .before_piece = [this](uint64_t piece) { bytes += piece; }};
    }
    void make() { copy_tree(files, tree()); }
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
}

TEST(CopyTree, ItsRestMakesItEqualToWhatHasChanged) {
    const TestDirectory directory;
    Copy copy(real_file_system(), directory.path());
    copy.make();
    mark_unfinished(copy.files, directory / "to");
    copy.files.remove(directory / "from/a");
    copy.files.open(directory / "from/a", {.access = Access::write, .create = true})
        ->allocate(9'000'000);
    copy.files.open(directory / "from/a", {.access = Access::write})
        ->write_at(5'000'000, std::vector<uint8_t>(5000, 'b'));
    copy.files.open(directory / "from/none", {.access = Access::write})->allocate(10000);
    copy.files.open(directory / "from/journal/j._0", {.access = Access::write})->truncate(3);
    copy.files.create_directory(directory / "from/new");
    write(copy.files, directory / "from/new/c", std::string(2'000'000, 'c'));
    copy.files.remove_all(directory / "from/journal/deep");
    copy.files.remove_all(directory / "from/empty");
    copy_rest_of_tree(copy.files, copy.tree());
    Files wanted = copy.wanted();
    EXPECT_EQ(wanted.size(), 4U);
    wanted[std::string(kUnfinishedMark)] = "";
    EXPECT_EQ(all_of(copy.files, directory / "to"), wanted);
    EXPECT_FALSE(copy.files.exists(directory / "to/empty"));
    EXPECT_FALSE(copy.files.exists(directory / "to/journal/deep"));
}

TEST(CopyTree, IsOnTheDeviceWhenItReturns) {
    SimFileSystem files;
    files.create_directory("/top");
    Copy copy(files, "/top");
    mark_unfinished(files, "/top/to");
    copy.make();
    sync_tree(files, "/top/to");
    mark_finished(files, "/top/to");
    rename_synced(files, "/top/to", "/top/copy");
    EveryChoice choices;
    do {
        const auto after = files.power_cut(choices, 4096);
        EXPECT_EQ(all_of(*after, "/top/copy"), copy.wanted());
    } while (choices.next());
}

TEST(CopyTree, KeepsItsMarkThroughAPowerCut) {
    SimFileSystem files;
    files.create_directory("/top");
    Copy copy(files, "/top");
    files.sync_directory("/top");
    mark_unfinished(files, "/top/to");
    copy.make();
    for (unsigned seed = 0; seed < 20; ++seed) {
        SampledChoices choices(seed);
        const auto after = files.power_cut(choices, 4096);
        EXPECT_TRUE(after->exists(join("/top/to", kUnfinishedMark)));
    }
}

}  // namespace
}  // namespace os

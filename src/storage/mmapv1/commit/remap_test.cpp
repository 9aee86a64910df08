// How much is remapped (journal spec 1.5), and that it is what needs it.

#include "storage/mmapv1/commit/remap.h"

#include <gtest/gtest.h>

#include "os/testing/sim_file_system.h"
#include "storage/lock.h"

namespace mmapv1 {
namespace {

constexpr uint64_t kLimit = 100'000'000;
constexpr int64_t kSecond = 1'000'000;

class RemapTest : public testing::Test {
  protected:
    RemapTest() {
        disk.create_directory("/db");
        for (int i = 0; i < 4; ++i) {
            const std::string name = "test." + std::to_string(i);
            files.create_on_disk(name, 4096);
            files.open(name, true);
        }
    }
    // Which files lose a private change when `remapper` runs.
    std::string remapped(Remapper& remapper, int64_t now_us, const std::string& written) {
        for (const auto& file : files.snapshot()) {
            file->view()[0] = 'p';
            if (written.find(file->path().back()) != std::string::npos) file->need_remap();
        }
        remapper.run(files, now_us, kLimit);
        std::string result;
        for (const auto& file : files.snapshot())
            if (file->view()[0] != 'p') result += file->path().back();
        return result;
    }

    os::SimFileSystem disk;
    FileSet files{disk, "/db"};
    storage::LockManager locks;
    const storage::GlobalLock exclusive{locks, storage::GlobalMode::W};
};

TEST_F(RemapTest, FractionOfTimeOrMemory) {
    Remapper remapper(false);
    EXPECT_EQ(remapper.files_to_visit(40, 0, kLimit), 40u) << "the first one visits all";
    remapper.run(files, 10 * kSecond, kLimit);
    EXPECT_EQ(remapper.files_to_visit(40, 11 * kSecond, kLimit), 20u);
    EXPECT_EQ(remapper.files_to_visit(40, 10 * kSecond + 1000, kLimit), 1u) << "at least one";
    EXPECT_EQ(remapper.files_to_visit(40, 60 * kSecond, kLimit), 40u) << "at most all";
    EXPECT_EQ(remapper.files_to_visit(0, 60 * kSecond, kLimit), 0u);
    remapper.note_private_bytes(kLimit / 4);
    remapper.note_private_bytes(kLimit / 2);
    EXPECT_EQ(remapper.files_to_visit(40, 11 * kSecond, kLimit), 30u) << "the larger of the two";
    remapper.run(files, 11 * kSecond, kLimit);
    EXPECT_EQ(remapper.private_bytes(), 0u);
}

TEST_F(RemapTest, AlwaysRemapVisitsAll) {
    Remapper remapper(true);
    remapper.run(files, 10 * kSecond, kLimit);
    EXPECT_EQ(remapper.files_to_visit(40, 10 * kSecond, kLimit), 40u);
}

TEST_F(RemapTest, GoesRoundAndTouchesOnlyWhatWasWritten) {
    Remapper remapper(false);
    EXPECT_EQ(remapped(remapper, 10 * kSecond, "13"), "13") << "all visited, two needed it";
    EXPECT_EQ(remapped(remapper, 11 * kSecond, "0123"), "01");
    EXPECT_EQ(remapped(remapper, 12 * kSecond, ""), "23") << "continues where it stopped";
    EXPECT_EQ(remapped(remapper, 12 * kSecond + 1, "0123"), "0");
}

}  // namespace
}  // namespace mmapv1

// Recovers journals and data files that fit each other, and some that do not.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "os/testing/directory.h"
#include "storage/mmapv1/commit/testing/server.h"

namespace mmapv1 {
namespace {

// A server that was killed with these bytes in its journal, which no longer names the file's
// creation.
class ReplayOf {
  public:
    ReplayOf(size_t offset, std::string_view text) {
        Server server(home_.path());
        server.start();
        MappedFile& file = server.create("test.0");
        {
            const storage::GlobalLock lock(server.locks, storage::GlobalMode::W);
            server.durable.sync_and_truncate_journal();
        }
        server.write(file, offset, text);
        server.durable.await_commit_blocking();
        copy_directory(home_.path(), left_.path());
        server.durable.shutdown();
    }
    std::string data_file() const { return left_ / "test.0"; }
    std::string journal_file() const { return left_ / "journal/j._1"; }
    // Returns the recovery's message if it fails; empty if it does not.
    std::string recover() {
        lines_ = {};
        base::log::set_sink([this](base::log::Severity, std::string_view line) {
            lines_ += line;
            lines_ += '\n';
        });
        std::string failure;
        try {
            Server server(left_.path());
            server.durable.recover();
        } catch (const base::Error& e) {
            failure = fmt::format("{} {}", e.code(), e.what());
        }
        base::log::set_sink(nullptr);
        return failure;
    }
    const std::string& lines() const { return lines_; }
    std::string data(size_t offset, size_t size) const {
        std::string text(size, '?');
        os::real_file_system()
            .open(data_file(), {})
            ->read_at(offset, {reinterpret_cast<uint8_t*>(text.data()), size});
        return text;
    }

  private:
    const os::TestDirectory home_, left_;
    std::string lines_;
};

TEST(Durable, AWriteThatEndsWithItsFileIsReplayed) {
    ReplayOf replay(kFileBytes - 4, "last");
    std::filesystem::resize_file(replay.data_file(), kFileBytes - 4);
    std::filesystem::resize_file(replay.data_file(), kFileBytes);
    ASSERT_EQ(replay.data(kFileBytes - 4, 4), std::string(4, '\0'));
    EXPECT_EQ(replay.recover(), "");
    EXPECT_EQ(replay.data(kFileBytes - 4, 4), "last");
}

TEST(Durable, AWriteBeyondACutFileIsRefusedAndTheJournalStays) {
    ReplayOf replay(kFileBytes - 4, "last");
    std::filesystem::resize_file(replay.data_file(), kFileBytes - 1);
    const std::string failure = replay.recover();
    EXPECT_TRUE(failure.starts_with("13622 ")) << failure;
    EXPECT_NE(failure.find(fmt::format("4 bytes at {} of {}", kFileBytes - 4, replay.data_file())),
              std::string::npos)
        << failure;
    ASSERT_TRUE(std::filesystem::exists(replay.journal_file()));
    std::filesystem::resize_file(replay.data_file(), kFileBytes);  // the right one is back
    EXPECT_EQ(replay.recover(), "");
    EXPECT_EQ(replay.data(kFileBytes - 4, 4), "last");
    EXPECT_FALSE(std::filesystem::exists(replay.journal_file()));
}

TEST(Durable, WhereTheJournalEndsIsLogged) {
    constexpr uintmax_t kOneSection = 2 * 8192;
    {
        ReplayOf whole(100, "text");
        EXPECT_EQ(whole.recover(), "");
        EXPECT_EQ(whole.lines().find("ends at offset"), std::string::npos) << whole.lines();
    }
    {
        ReplayOf foreign(100, "text");
        std::filesystem::resize_file(foreign.journal_file(), kOneSection + 8192);
        EXPECT_EQ(foreign.recover(), "");
        EXPECT_NE(foreign.lines().find(fmt::format("ends at offset {}: no section", kOneSection)),
                  std::string::npos)
            << foreign.lines();
    }
    ReplayOf cut(100, "text");
    std::filesystem::resize_file(cut.journal_file(), 8192 + 60);
    EXPECT_EQ(cut.recover(), "");
    EXPECT_NE(cut.lines().find("ends at offset 8192: the section at offset 8192 goes beyond"),
              std::string::npos)
        << cut.lines();
}

// The journal says what is in the file from its beginning: what lies there is not it.
TEST(Durable, AFileThatTheJournalCreatesIsMadeAnew) {
    const os::TestDirectory home, copy;
    {
        Server server(home.path());
        server.start();
        server.write(server.create("test.0"), 8192, "written");
        server.durable.await_commit_blocking();
        copy_directory(home.path(), copy.path());
        server.durable.shutdown();
    }
    os::real_file_system()
        .open(copy / "test.0", {.access = os::Access::read_write})
        ->write_at(500000, std::vector<uint8_t>(7, 'x'));
    Server server(copy.path());
    server.start();
    const MappedFile& file = server.durable.views().open("test.0");
    EXPECT_EQ(text_at(file, 8192, 7), "written");
    EXPECT_EQ(text_at(file, 500000, 7), std::string(7, '\0'));
    server.durable.shutdown();
}

}  // namespace
}  // namespace mmapv1

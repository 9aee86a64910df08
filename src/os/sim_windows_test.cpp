// Tests what the simulated file system loses and keeps when it behaves like Windows, and when a
// file that is written past the cache asks for a flush there.

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <set>

#include "os/flush_rule.h"
#include "os/testing/sim_file_system.h"

namespace os {
namespace {

constexpr size_t kBlock = 4096;

struct Block {
    explicit Block(char c)
        : bytes(static_cast<uint8_t*>(::operator new (kBlock, std::align_val_t{kBlock}))) {
        std::memset(bytes, c, kBlock);
    }
    ~Block() { ::operator delete (bytes, std::align_val_t{kBlock}); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    std::span<const uint8_t> span() const { return {bytes, kBlock}; }
    uint8_t* bytes;
};

class SimWindows : public testing::Test {
  protected:
    SimWindows() {
        files.behave_like_windows();
        files.create_directory("/db");
        files.sync_directory("/");
    }
    std::unique_ptr<File> open(const std::string& path, bool write_through) {
        return files.open(path, {.access = Access::write,
                                 .create = true,
                                 .direct = true,
                                 .write_through = write_through});
    }
    void make_file(const std::string& path, size_t blocks) {
        const auto file = open(path, false);
        const Block zero('.');
        for (size_t i = 0; i < blocks; ++i)
            file->write(zero.span());
        file->sync();
    }
    size_t flushes() const {
        size_t n = 0;
        for (const auto& event : files.events())
            n += event.call == SimFileSystem::Call::sync_data;
        return n;
    }
    // One letter for each block of each file, for all states after a cut.
    std::set<std::string> after_cut() const {
        std::set<std::string> states;
        EveryChoice choices;
        do {
            const auto after = files.power_cut(choices, kBlock);
            std::string state;
            for (const std::string& name : after->list("/db")) {
                const auto file = after->open("/db/" + name, {});
                std::vector<uint8_t> bytes(file->length());
                file->read_at(0, bytes);
                state += name + "=";
                for (size_t at = 0; at < bytes.size(); at += kBlock)
                    state += bytes[at] == 0 ? '0' : static_cast<char>(bytes[at]);
                state += " ";
            }
            states.insert(state);
        } while (choices.next());
        return states;
    }

    SimFileSystem files;
    const Block a{'a'}, b{'b'}, c{'c'};
};

using States = std::set<std::string>;

TEST_F(SimWindows, WriteThroughKeepsGrowthAndNameWithoutAFlush) {
    ASSERT_TRUE(files.has_write_through());
    const auto file = open("/db/j", true);
    file->write(a.span());
    file->sync_data();
    file->write(b.span());
    file->sync_data();
    EXPECT_EQ(after_cut(), States{"j=ab "});
    EXPECT_EQ(flushes(), 0u);
}

TEST_F(SimWindows, WithoutItAnUnflushedGrowthCanBeLost) {
    make_file("/db/j", 1);
    const auto file = open("/db/j", false);
    file->write(a.span());
    file->write(b.span());
    EXPECT_EQ(after_cut(), (States{"j=a ", "j=a0 ", "j=ab "}));
}

TEST_F(SimWindows, WithoutItGrowthIsFlushedEachTime) {
    const auto file = open("/db/j", false);
    file->write(a.span());
    EXPECT_TRUE(after_cut().contains(""));  // not even the name is there
    file->sync_data();
    EXPECT_EQ(after_cut(), States{"j=a "});
    file->write(b.span());
    file->sync_data();
    EXPECT_EQ(after_cut(), States{"j=ab "});
    EXPECT_EQ(flushes(), 2u);
}

TEST_F(SimWindows, WithoutItAFileOfFullLengthIsFlushedOnce) {
    make_file("/db/spare", 4);
    files.clear_events();
    files.rename("/db/spare", "/db/j");
    const auto file = open("/db/j", false);
    file->write(a.span());
    EXPECT_EQ(after_cut(), (States{"j=a... ", "spare=a... "}));
    file->sync_data();
    EXPECT_EQ(after_cut(), States{"j=a... "});
    for (const Block* block : {&b, &c, &a}) {
        file->write(block->span());
        file->sync_data();
    }
    EXPECT_EQ(after_cut(), States{"j=abca "});
    EXPECT_EQ(flushes(), 1u);
    file->write(b.span());
    file->sync_data();
    EXPECT_EQ(after_cut(), States{"j=abcab "});
    EXPECT_EQ(flushes(), 2u);
}

TEST_F(SimWindows, AFileThatWasCutOffGrowsAgain) {
    make_file("/db/j", 3);
    files.clear_events();
    const auto file = open("/db/j", false);
    file->write(a.span());
    file->sync_data();
    file->truncate(kBlock);
    file->sync();
    file->write(b.span());
    file->sync_data();
    EXPECT_EQ(after_cut(), States{"j=ab "});
    EXPECT_EQ(flushes(), 2u);
}

TEST_F(SimWindows, BufferedFilesAreFlushedWhenAsked) {
    const auto file = files.open("/db/x", {.access = Access::write, .create = true});
    file->write(a.span());
    file->sync_data();
    file->sync_data();
    EXPECT_EQ(flushes(), 2u);
}

TEST(SimLinux, WriteThroughMeansNothingThere) {
    SimFileSystem files;
    EXPECT_FALSE(files.has_write_through());
    files.create_directory("/db");
    const auto file =
        files.open("/db/j", {.access = Access::write, .create = true, .write_through = true});
    files.sync_directory("/db");
    files.clear_events();
    file->sync_data();
    file->sync_data();
    EXPECT_EQ(files.events().size(), 2u);
}

TEST(FlushRuleTest, NothingIsDueBeforeAWrite) {
    FlushRule rule;
    EXPECT_FALSE(rule.flush_is_due());
    rule.note_write(10);
    EXPECT_TRUE(rule.flush_is_due());
    rule.note_flush(100);
    rule.note_write(100);
    EXPECT_FALSE(rule.flush_is_due());
    rule.note_write(101);
    EXPECT_TRUE(rule.flush_is_due());
}

}  // namespace
}  // namespace os

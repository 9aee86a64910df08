// What a power cut leaves of the journal's directory, where nothing that was not synced survives.

#include <gtest/gtest.h>

#include "journal/testing/journal_fixture.h"

namespace journal {
namespace {

class JournalPowerCut : public JournalTest {
  protected:
    JournalPowerCut() { files.sync_directory("/"); }
    std::unique_ptr<os::SimFileSystem> after_a_cut() {
        os::EveryChoice nothing_unsynced_survives;
        return files.power_cut(nothing_unsynced_survives, 512);
    }
    // A file that is longer than what the journal will write to it, with anything inside.
    void add_spare_file() {
        const auto file = files.open("/db/journal/prealloc.0",
                                     {.access = os::Access::read_write, .create = true});
        file->write_at(0, std::vector<uint8_t>(20 * 8192, 'x'));
        file->sync();
        files.sync_directory("/db/journal");
    }
};

// Holds J1.
TEST_F(JournalPowerCut, TheDirectoryHasItsName) {
    Journal journal(files, clock, counters, {"/db/journal", 8192, false, false});
    journal.create_directory();
    EXPECT_TRUE(after_a_cut()->exists("/db/journal"));
}

// Holds J6.
TEST_F(JournalPowerCut, AClosedFileEndsBehindItsSections) {
    make(2 * 8192);
    add_spare_file();
    const auto journal = make(2 * 8192);
    for (int i = 0; i < 2; ++i)
        commit(*journal);
    ASSERT_TRUE(files.exists("/db/journal/j._1"));
    EXPECT_EQ(after_a_cut()->file_length("/db/journal/j._0"), 3 * 8192u);
}

// Holds J6.
TEST_F(JournalPowerCut, AFileThatStaysIsCutOff) {
    make(8 * 8192);
    add_spare_file();
    const auto journal = make(8 * 8192);
    commit(*journal);
    files.fail(Call::remove, "j._0", std::errc::io_error);
    EXPECT_THROW(journal->remove_files(), base::Error);
    EXPECT_EQ(after_a_cut()->file_length("/db/journal/j._0"), 2 * 8192u);
}

// Holds J5.
TEST_F(JournalPowerCut, AFlushCoversWhatIsAppliedAndNotWhatIsAppended) {
    const auto journal = make(8 * 8192);
    const uint64_t applied = commit(*journal);
    const uint64_t appended = append(*journal);
    EXPECT_EQ(journal->flush_started().sequence, applied);
    journal->note_applied(appended);
    EXPECT_EQ(journal->flush_started().sequence, appended);
}

}  // namespace
}  // namespace journal

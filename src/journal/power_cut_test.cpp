// What a power cut leaves of the journal's directory, where nothing that was not synced survives.

#include <gtest/gtest.h>

#include "base/error.h"
#include "journal/file_reader.h"
#include "journal/journal.h"
#include "journal/section.h"
#include "os/testing/sim_clock.h"
#include "os/testing/sim_file_system.h"

namespace journal {
namespace {

using Call = os::SimFileSystem::Call;

class JournalPowerCut : public testing::Test {
  protected:
    JournalPowerCut() {
        disk.create_directory("/db");
        disk.sync_directory("/");
    }
    std::unique_ptr<Journal> make(uint64_t limit) {
        auto journal = std::make_unique<Journal>(disk, clock, counters,
                                                 Settings{"/db/journal", limit, false, false});
        journal->create_directory();
        journal->allow_removal();
        return journal;
    }
    void append(Journal& journal) {
        journal.ensure_open();
        ops.clear();
        ops.basic_write("test", 0, 0, "abcd", 4);
        sequence = journal.next_sequence();
        journal.append(writer.write(ops, journal.format(), sequence, journal.file_id()), 4);
    }
    void commit(Journal& journal) {
        append(journal);
        journal.after_append();
        journal.note_applied(sequence);
    }
    std::unique_ptr<os::SimFileSystem> after_a_cut() {
        os::EveryChoice nothing_unsynced_survives;
        return disk.power_cut(nothing_unsynced_survives, 512);
    }
    // A file that is longer than what the journal will write to it, with anything inside.
    void add_spare_file() {
        const auto file =
            disk.open("/db/journal/prealloc.0", {.access = os::Access::read_write, .create = true});
        file->write_at(0, std::vector<uint8_t>(20 * 8192, 'x'));
        file->sync();
        disk.sync_directory("/db/journal");
    }

    os::SimFileSystem disk;
    os::SimClock clock;
    Counters counters;
    OpBuffer ops;
    SectionWriter writer;
    uint64_t sequence = 0;
};

// Holds J1.
TEST_F(JournalPowerCut, TheDirectoryHasItsName) {
    Journal journal(disk, clock, counters, {"/db/journal", 8192, false, false});
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
    ASSERT_TRUE(disk.exists("/db/journal/j._1"));
    EXPECT_EQ(after_a_cut()->file_length("/db/journal/j._0"), 3 * 8192u);
}

// Holds J6.
TEST_F(JournalPowerCut, AFileThatStaysIsCutOff) {
    make(8 * 8192);
    add_spare_file();
    const auto journal = make(8 * 8192);
    commit(*journal);
    disk.fail(Call::remove, "j._0", std::errc::io_error);
    EXPECT_THROW(journal->remove_files(), base::Error);
    EXPECT_EQ(after_a_cut()->file_length("/db/journal/j._0"), 2 * 8192u);
}

// Holds J5.
TEST_F(JournalPowerCut, AFlushCoversWhatIsAppliedAndNotWhatIsAppended) {
    const auto journal = make(8 * 8192);
    commit(*journal);
    const uint64_t applied = sequence;
    append(*journal);
    EXPECT_EQ(journal->flush_started().sequence, applied);
    journal->note_applied(sequence);
    EXPECT_EQ(journal->flush_started().sequence, sequence);
}

}  // namespace
}  // namespace journal

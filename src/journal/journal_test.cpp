// The journal directory on the simulated disk: calls, rotation, removal, lsn.

#include "journal/journal.h"

#include <cstring>

#include "journal/testing/journal_fixture.h"

namespace journal {
namespace {

// Holds J1.
TEST_F(JournalTest, OneCommitIsOneWriteAndOneSync) {
    const auto journal = make();
    commit(*journal);
    files.clear_events();
    commit(*journal);
    std::vector<Call> calls;
    for (const auto& event : files.events()) {
        calls.push_back(event.call);
        if (event.call == Call::write) {
            EXPECT_EQ(event.bytes, 8192u);
        }
    }
    EXPECT_EQ(calls, (std::vector<Call>{Call::write, Call::sync_data}));
    EXPECT_EQ(files.file_length("/db/journal/j._0"), 3 * 8192u);
}

TEST_F(JournalTest, NewFileIsSyncedWithItsDirectoryAndHeader) {
    const auto journal = make();
    files.clear_events();
    journal->ensure_open();
    std::vector<Call> calls;
    for (const auto& event : files.events())
        calls.push_back(event.call);
    EXPECT_EQ(calls,
              (std::vector<Call>{Call::open, Call::sync_directory, Call::write, Call::sync_data}));
    FileHeader header;
    files.open("/db/journal/j._0", {})
        ->read_at(0, {reinterpret_cast<uint8_t*>(&header), sizeof header});
    EXPECT_EQ(header.magic[0], 'j');
    EXPECT_EQ(header.magic[1], '\n');
    EXPECT_EQ(+header.version, 0x4149);
    EXPECT_STREQ(header.path, "/db/journal/j._0");
    EXPECT_EQ(std::strlen(header.created), 15u) << header.created;
    EXPECT_EQ(header.file_id & 0xffffffff, 1395592335u) << "seconds of the wall clock";
    EXPECT_EQ(header.lf4[1], '\n');
}

// Holds J4.
TEST_F(JournalTest, SequenceNumbersRiseEvenWhenTimeStandsStill) {
    const auto journal = make();
    const uint64_t first = commit(*journal);
    EXPECT_EQ(commit(*journal), first + 1);
    clock.advance_us(5'000'000);
    EXPECT_GE(commit(*journal), 5000u);
}

TEST_F(JournalTest, CountsPaddedBytes) {
    const auto journal = make();
    commit(*journal);
    commit(*journal);
    counters.rotate_if_due(0);
    counters.rotate_if_due(Counters::kIntervalUs);
    const Counters::Report report = counters.last_interval();
    EXPECT_EQ(report[Metric::journaled_bytes], 2 * 8192u);
    EXPECT_EQ(report[Metric::uncompressed_bytes], 2 * 25u);
    EXPECT_NEAR(report.compression(), 16384.0 / 51.0, 1e-9);
}

TEST_F(JournalTest, RotatesAtTheLimitOfSectionBytes) {
    const auto journal = make(2 * 8192);
    for (int i = 0; i < 2; ++i)
        commit(*journal);
    EXPECT_EQ(names(), (std::vector<std::string>{"j._0", "j._1"}));
    EXPECT_EQ(files.file_length("/db/journal/j._0"), 3 * 8192u) << "header and two sections";
    for (int i = 0; i < 2; ++i)
        commit(*journal);
    EXPECT_EQ(sequences_in("/db/journal/j._0", false).size(), 2u) << "ends cleanly";
    EXPECT_EQ(names(), (std::vector<std::string>{"j._0", "j._1", "j._2"}));
}

// Holds J5.
TEST_F(JournalTest, ClosedFilesStayUntilAFlushCoversThemWithTimeToSpare) {
    const auto journal = make(8192);
    commit(*journal);
    // The old server removed files closed within ten seconds of the start of its life.
    clock.advance_us(1'000'000);
    commit(*journal);
    EXPECT_EQ(names(), (std::vector<std::string>{"j._0", "j._1", "j._2"}));
    // A flush too soon after the closing does not count.
    clock.advance_us(5'000'000);
    flush(*journal);
    commit(*journal);
    EXPECT_TRUE(files.exists("/db/journal/j._0"));
    clock.advance_us(11'000'000);
    flush(*journal);
    commit(*journal);
    EXPECT_EQ(names(), (std::vector<std::string>{"j._3", "j._4", "lsn"}));
}

// Holds J5.
TEST_F(JournalTest, AFlushThatBeganBeforeTheSectionWasAppliedDoesNotCoverIt) {
    const auto journal = make(8192);
    const Journal::FlushMark early = journal->flush_started();
    commit(*journal);
    Journal::FlushMark late_start = early;
    late_start.started_ms += 3'600'000;  // however long ago the file was closed
    journal->flush_finished(late_start);
    commit(*journal);
    EXPECT_TRUE(files.exists("/db/journal/j._0"));
}

TEST_F(JournalTest, LsnNamesTheLastSectionTheFlushCovers) {
    const auto journal = make();
    clock.advance_us(5'729'000);
    const uint64_t covered = commit(*journal);
    const Journal::FlushMark mark = journal->flush_started();
    commit(*journal);
    journal->flush_finished(mark);
    EXPECT_FALSE(files.exists("/db/journal/lsn")) << "only written after a section";
    commit(*journal);
    EXPECT_EQ(read_lsn(files, "/db/journal"), covered);
    LsnFile content;
    files.open("/db/journal/lsn", {})
        ->read_at(0, {reinterpret_cast<uint8_t*>(&content), sizeof content});
    EXPECT_EQ(+content.check, ~covered);
    EXPECT_EQ(count(Call::sync_data, "lsn") + count(Call::sync, "lsn"), 0u);
    files.clear_events();
    commit(*journal);
    EXPECT_EQ(count(Call::open, "lsn"), 0u) << "once per flush";
}

// Holds J8.
TEST_F(JournalTest, AnUnusableLsnIsZero) {
    const auto journal = make();
    EXPECT_EQ(read_lsn(files, "/db/journal"), 0u);
    const auto file =
        files.open("/db/journal/lsn", {.access = os::Access::read_write, .create = true});
    EXPECT_EQ(read_lsn(files, "/db/journal"), 0u);
    const LsnFile wrong{0, 0, 7, 7, {}};
    file->write_at(0, {reinterpret_cast<const uint8_t*>(&wrong), sizeof wrong});
    EXPECT_EQ(read_lsn(files, "/db/journal"), 0u);
    file->truncate(40);
    EXPECT_EQ(read_lsn(files, "/db/journal"), 0u);
}

// Holds J1.
TEST_F(JournalTest, FailedWriteOrSyncIsFatal) {
    const auto journal = make();
    commit(*journal);
    files.fail(Call::write, "j._0", std::errc::no_space_on_device);
    try {
        commit(*journal);
        FAIL();
    } catch (const Fatal& fatal) {
        EXPECT_EQ(fatal.id, 13515);
    }
    files.fail(Call::sync_data, "j._0", std::errc::io_error);
    try {
        commit(*journal);
        FAIL();
    } catch (const Fatal& fatal) {
        EXPECT_EQ(fatal.id, 13514);
    }
}

// Holds J1.
TEST_F(JournalTest, ShortWritesAreCompleted) {
    files.set_largest_write(4096);
    const auto journal = make();
    const uint64_t sequence = commit(*journal);
    EXPECT_EQ(sequences_in("/db/journal/j._0"), std::vector<uint64_t>{sequence});
}

TEST_F(JournalTest, SpaceCheckRefusesToStart) {
    Journal journal(files, clock, counters, {"/db/journal", uint64_t{128} << 20, false, true});
    journal.create_directory();
    const auto refuses = [&](uint64_t free_mb) {
        files.set_free_bytes(free_mb << 20);
        try {
            journal.check_space();
            return false;
        } catch (const base::Error& e) {
            EXPECT_EQ(e.code(), 15926);
            return true;
        }
    };
    EXPECT_TRUE(refuses(422));
    EXPECT_FALSE(refuses(423));
    // Each file that is there is one less.
    const std::pair<const char*, uint64_t> spare_files[] = {
        {"prealloc.0", 282}, {"prealloc.1", 141}, {"prealloc.2", 0}};
    for (const auto& [name, needed_mb] : spare_files) {
        files
            .open(os::join("/db/journal", name), {.access = os::Access::read_write, .create = true})
            ->truncate(uint64_t{128} << 20);
        EXPECT_FALSE(refuses(needed_mb)) << name;
        if (needed_mb > 0) {
            EXPECT_TRUE(refuses(needed_mb - 1)) << name;
        }
    }
}

// Holds J6.
TEST_F(JournalTest, WhatCannotBeRemovedStaysWithAllBehindIt) {
    for (const char* stuck : {"j._0", "j._1", "j._2"}) {
        SCOPED_TRACE(stuck);
        os::SimFileSystem fresh;
        fresh.create_directory("/db");
        Journal journal(fresh, clock, counters, {"/db/journal", 2 * 8192, false, false});
        journal.create_directory();
        journal.allow_removal();
        // The newest file has sections of a former life behind its own.
        commit(journal);
        commit(journal);
        commit(journal);
        commit(journal);
        const uint64_t last = commit(journal);
        {
            const auto file = fresh.open("/db/journal/j._2", {.access = os::Access::read_write});
            file->write_at(4 * 8192, std::vector<uint8_t>(8192, 'x'));
        }
        fresh.fail(Call::remove, stuck, std::errc::io_error);
        EXPECT_THROW(journal.remove_files(), base::Error);
        // It goes on, and can be read from the first to the last.
        const uint64_t next = commit(journal);
        EXPECT_EQ(next, last + 1);
        const auto found = find_journal_files(fresh, "/db/journal");
        ASSERT_FALSE(found.empty());
        EXPECT_TRUE(found.front().path.ends_with(stuck));
        EXPECT_TRUE(found.back().path.ends_with("j._3"));
        uint64_t read = 0;
        for (const FoundFile& one : found) {
            FileReader reader(fresh, one.path, &one == &found.back());
            FileReader::Section section;
            while (reader.next(section))
                read = section.header.sequence;
        }
        EXPECT_EQ(read, next);
        journal.remove_files();
        EXPECT_FALSE(has_journal_files(fresh, "/db/journal"));
    }
}

// Holds J6.
TEST_F(JournalTest, ClosedFilesBehindOneThatCannotBeRemovedStay) {
    const auto journal = make(8192);
    for (int i = 0; i < 3; ++i)
        commit(*journal);
    clock.advance_us(20'000'000);
    flush(*journal);
    files.fail(Call::remove, "j._0", std::errc::io_error);
    files.clear_events();
    commit(*journal);
    EXPECT_TRUE(removals().empty());
    files.clear_events();
    commit(*journal);
    EXPECT_EQ(removals(), (std::vector<std::string>{"j._0", "for good", "j._1", "for good", "j._2",
                                                    "for good"}));
}

// Holds J6.
TEST_F(JournalTest, RemovalGoesUpwardsAndNumberingGoesOn) {
    const auto journal = make(8192);
    for (int i = 0; i < 3; ++i)
        commit(*journal);
    files.clear_events();
    journal->remove_files();
    EXPECT_EQ(removals(), (std::vector<std::string>{"j._0", "for good", "j._1", "for good", "j._2",
                                                    "for good", "j._3", "for good"}));
    EXPECT_EQ(names(), std::vector<std::string>{"lsn"}) << "of no bytes";
    EXPECT_EQ(files.file_length("/db/journal/lsn"), 0u);
    commit(*journal);
    EXPECT_TRUE(files.exists("/db/journal/j._4"));
}

// Holds J6.
TEST_F(JournalTest, ClosedFilesAreRemovedOldestFirst) {
    const auto journal = make(8192);
    for (int i = 0; i < 4; ++i)
        commit(*journal);
    clock.advance_us(20'000'000);
    flush(*journal);
    files.clear_events();
    commit(*journal);
    std::vector<std::string> removed;
    for (const auto& event : files.events()) {
        if (event.call == Call::remove) removed.push_back(os::base_name(event.path));
    }
    EXPECT_EQ(removed, (std::vector<std::string>{"j._0", "j._1", "j._2", "j._3"}));
}

// Holds J7.
TEST_F(JournalTest, NothingIsRemovedBeforeRecovery) {
    commit(*make());
    Journal journal(files, clock, counters, {"/db/journal", 8192, false, false});
    journal.remove_files();
    EXPECT_TRUE(files.exists("/db/journal/j._0"));
}

// Holds J6.
TEST_F(JournalTest, NumbersMustBeUniqueAndWithoutGaps) {
    files.create_directory("/db/journal");
    const auto touch = [&](const char* name) {
        files.open(os::join("/db/journal", name), {.access = os::Access::write, .create = true});
    };
    const auto code = [&] {
        try {
            find_journal_files(files, "/db/journal");
            return 0;
        } catch (const base::Error& e) {
            return e.code();
        }
    };
    EXPECT_FALSE(has_journal_files(files, "/db/journal"));
    touch("prealloc.0");
    EXPECT_FALSE(has_journal_files(files, "/db/journal"));
    for (const char* name : {"j._7", "j._8", "j._9", "j._10"})
        touch(name);
    EXPECT_EQ(code(), 0) << "the first need not be 0";
    EXPECT_EQ(find_journal_files(files, "/db/journal").back().number, 10u);
    touch("j._12");
    EXPECT_EQ(code(), 13532);
    touch("j._11");
    touch("j._012");
    EXPECT_EQ(code(), 13531);
}

}  // namespace
}  // namespace journal

// The journal directory on the simulated disk: calls, rotation, preallocation, recycling, lsn.

#include "journal/journal.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "journal/file_reader.h"
#include "journal/latency.h"
#include "journal/section.h"
#include "os/testing/sim_clock.h"
#include "os/testing/sim_file_system.h"

namespace journal {
namespace {

using Call = os::SimFileSystem::Call;

struct Fatal {
    int id;
};
[[noreturn]] void throw_fatal(int id, std::string_view) {
    throw Fatal{id};
}

class JournalTest : public testing::Test {
  protected:
    JournalTest() {
        files.create_directory("/db");
        base::set_fatal_handler(throw_fatal);
    }
    ~JournalTest() override { base::set_fatal_handler(nullptr); }

    std::unique_ptr<Journal> make(uint64_t limit = 3 * 8192, bool preallocation = false) {
        auto journal = std::make_unique<Journal>(
            files, clock, counters,
            Settings{"/db/journal", limit, preallocation, /*check_space=*/false});
        journal->create_directory();
        journal->allow_removal();
        return journal;
    }
    // One commit of a small write.
    uint64_t commit(Journal& journal) {
        journal.ensure_open();
        ops.clear();
        ops.basic_write("test", 0, 0, "abcd", 4);
        const uint64_t sequence = journal.next_sequence();
        journal.append(writer.write(ops, journal.format(), sequence, journal.file_id()),
                       ops.ops().size());
        journal.after_append();
        journal.note_applied(sequence);
        return sequence;
    }
    void flush(Journal& journal) { journal.flush_finished(journal.flush_started()); }
    std::vector<std::string> names() { return files.list("/db/journal"); }
    std::vector<uint64_t> sequences_in(const std::string& path, bool is_last = true) {
        FileReader reader(files, path, is_last);
        FileReader::Section section;
        std::vector<uint64_t> result;
        while (reader.next(section))
            result.push_back(section.header.sequence);
        return result;
    }
    // The removals since the last clear_events(), and where they had become durable.
    std::vector<std::string> removals() {
        std::vector<std::string> result;
        for (const auto& event : files.events()) {
            if (event.call == Call::remove && files.exists(event.path)) continue;  // that failed
            if (event.call == Call::remove) result.push_back(os::base_name(event.path));
            if (event.call == Call::sync_directory && !result.empty() &&
                result.back() != "for good")
                result.emplace_back("for good");
        }
        return result;
    }
    uint64_t count(Call call, const std::string& path_end) {
        uint64_t n = 0;
        for (const auto& event : files.events())
            n += event.call == call && event.path.ends_with(path_end);
        return n;
    }

    os::SimFileSystem files;
    os::SimClock clock;
    Counters counters;
    OpBuffer ops;
    SectionWriter writer;
};

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
    files.set_free_bytes(uint64_t{422} << 20);
    try {
        journal.prepare();
        FAIL();
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), 15926);
    }
    files.set_free_bytes(uint64_t{423} << 20);
    journal.prepare();
    EXPECT_EQ(names(), std::vector<std::string>{"j._0"});
}

// A device on which appending to a growing file is slow.
class SlowGrowth {
  public:
    SlowGrowth(os::SimFileSystem& files, os::SimClock& clock, int64_t us) {
        files.set_observer([&files, &clock, us](const os::SimFileSystem::Event& event) {
            const bool grows =
                event.call == Call::write && event.offset >= files.file_length(event.path);
            if (grows) clock.advance_us(us);
        });
    }
};

TEST_F(JournalTest, PreallocatesWhereItIsFaster) {
    const SlowGrowth device(files, clock, 3000);
    const auto journal = make(1 << 20, true);
    journal->prepare();
    EXPECT_EQ(names(), (std::vector<std::string>{"j._0", "prealloc.1", "prealloc.2"}));
    EXPECT_EQ(files.file_length("/db/journal/prealloc.2"), 1u << 20);
    EXPECT_EQ(clock.sleeps(), std::vector<int64_t>{1'000'000}) << "a pause before the third round";
}

TEST_F(JournalTest, DoesNotPreallocateWhereItIsNot) {
    const SlowGrowth device(files, clock, 1900);
    const auto journal = make(1 << 20, true);
    journal->prepare();
    EXPECT_EQ(names(), std::vector<std::string>{"j._0"});
    EXPECT_TRUE(clock.sleeps().empty());
}

TEST_F(JournalTest, ExistingSlotsOverrideTheOption) {
    make(1 << 20);
    files.open("/db/journal/prealloc.0", {.access = os::Access::write, .create = true});
    const auto journal = make(1 << 20, false);
    journal->prepare();
    EXPECT_EQ(names(), (std::vector<std::string>{"j._0", "prealloc.1", "prealloc.2"}));
}

TEST_F(JournalTest, PreallocationPassesOverADirectoryOfThatName) {
    make(1 << 20);
    files.create_directory("/db/journal/prealloc.0");
    files.open("/db/journal/prealloc.1", {.access = os::Access::write, .create = true});
    const auto journal = make(1 << 20, false);
    journal->prepare();
    EXPECT_EQ(names(), (std::vector<std::string>{"j._0", "prealloc.0", "prealloc.2"}));
    EXPECT_TRUE(files.is_directory("/db/journal/prealloc.0"));
}

TEST_F(JournalTest, PreallocationLeavesNoPieceOfAFileOnAFullDisk) {
    make(4 << 20);
    files.open("/db/journal/prealloc.0", {.access = os::Access::write, .create = true});
    const auto journal = make(4 << 20, false);
    files.fail(os::SimFileSystem::Call::write_at, "prealloc.1", std::errc::no_space_on_device, 2);
    journal->prepare();
    EXPECT_EQ(names(), (std::vector<std::string>{"j._0", "prealloc.2"}));
}

TEST_F(JournalTest, ALonePrealloc2DoesNotCountButIsUsed) {
    make(1 << 20);
    files.open("/db/journal/prealloc.2", {.access = os::Access::write, .create = true});
    const auto journal = make(1 << 20, false);
    journal->prepare();
    EXPECT_EQ(names(), std::vector<std::string>{"j._0"});
}

// Holds J3.
TEST_F(JournalTest, RecycledFilesShowNothingOfTheirFormerLife) {
    const SlowGrowth device(files, clock, 3000);
    const auto journal = make(2 << 20, true);
    journal->prepare();
    commit(*journal);
    const uint64_t first_id = journal->file_id();
    files.set_observer(nullptr);
    // Fill the file in one go.
    const std::string filler = [] {
        std::string text;
        for (uint32_t i = 0, x = 7; i < (3u << 20); ++i)
            text += static_cast<char>((x = x * 1103515245 + 12345) >> 16);
        return text;
    }();
    const auto commit_much = [&] {
        ops.clear();
        ops.basic_write("test", 0, 0, filler.data(), static_cast<uint32_t>(filler.size()));
        const uint64_t sequence = journal->next_sequence();
        journal->append(writer.write(ops, journal->format(), sequence, journal->file_id()), 1);
        journal->after_append();
        journal->note_applied(sequence);
    };
    commit_much();  // j._0 closed, j._1 (from prealloc.1) open
    clock.advance_us(20'000'000);
    flush(*journal);
    commit_much();  // j._0 becomes prealloc.0, j._2 is made from it
    EXPECT_EQ(names(), (std::vector<std::string>{"j._1", "j._2", "lsn", "prealloc.2"}));
    EXPECT_NE(journal->file_id(), first_id);
    EXPECT_EQ(files.file_length("/db/journal/j._2"), 2u << 20) << "cut to the limit";
    EXPECT_TRUE(sequences_in("/db/journal/j._2").empty()) << "old sections are foreign";
    const uint64_t sequence = commit(*journal);
    EXPECT_EQ(sequences_in("/db/journal/j._2"), std::vector<uint64_t>{sequence});
}

// Holds J3.
TEST_F(JournalTest, AUsedFileIsWipedBetweenItsNames) {
    make();
    for (const char* name : {"prealloc.0", "prealloc.1"})
        files.open(os::join("/db/journal", name), {.access = os::Access::write, .create = true});
    const auto journal = make(1 << 20);
    journal->prepare();  // takes prealloc.0
    commit(*journal);
    files.clear_events();
    journal->remove_files();
    using Step = std::pair<Call, std::string>;
    std::vector<Step> steps;
    for (const auto& event : files.events()) {
        if (event.path.ends_with("lsn") || event.call == Call::open) continue;
        steps.emplace_back(event.call, os::base_name(event.path));
        if (event.call == Call::write_at) {
            EXPECT_EQ(event.offset, 0u);
            EXPECT_EQ(event.bytes, kFileHeaderBytes);
        }
    }
    EXPECT_EQ(steps, (std::vector<Step>{{Call::sync_directory, "journal"},
                                        {Call::rename, "j._0"},
                                        {Call::sync_directory, "journal"},
                                        {Call::write_at, "prealloc.0.temp"},
                                        {Call::sync, "prealloc.0.temp"},
                                        {Call::rename, "prealloc.0.temp"},
                                        {Call::sync_directory, "journal"}}));
    std::vector<uint8_t> head(kFileHeaderBytes, 'x');
    files.open("/db/journal/prealloc.0", {})->read_at(0, head);
    EXPECT_EQ(head, std::vector<uint8_t>(kFileHeaderBytes, 0));
}

TEST_F(JournalTest, AFileMadeInAdvanceIsOnTheDevice) {
    make();
    files.open("/db/journal/prealloc.0", {.access = os::Access::write, .create = true});
    const auto journal = make(1 << 20);
    journal->prepare();
    os::EveryChoice nothing_unsynced_survives;
    const auto after = files.power_cut(nothing_unsynced_survives, 4096);
    for (const char* name : {"prealloc.1", "prealloc.2"}) {
        ASSERT_TRUE(after->exists(os::join("/db/journal", name))) << name;
        EXPECT_EQ(after->file_length(os::join("/db/journal", name)), 1u << 20) << name;
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

// Holds J3.
TEST_F(JournalTest, ASpareFileHasItsNewHeaderBeforeItsName) {
    make();
    FileHeader former{};
    former.magic[0] = 'j';
    former.file_id = 42;
    files.open("/db/journal/prealloc.0", {.access = os::Access::read_write, .create = true})
        ->write_at(0, {reinterpret_cast<const uint8_t*>(&former), sizeof former});
    const auto id_in = [&](const char* path) {
        FileHeader header{};
        files.open(path, {})->read_at(0, {reinterpret_cast<uint8_t*>(&header), sizeof header});
        return uint64_t{header.file_id};
    };
    files.set_observer([&](const os::SimFileSystem::Event& event) {
        if (event.call != Call::rename) return;
        EXPECT_NE(id_in("/db/journal/prealloc.0"), 42u);
        EXPECT_NE(id_in("/db/journal/prealloc.0"), 0u);
    });
    const auto journal = make();
    files.clear_events();
    journal->ensure_open();
    files.set_observer(nullptr);
    std::vector<Call> calls;
    for (const auto& event : files.events()) {
        const bool changes = event.call == Call::write || event.call == Call::sync_data ||
                             event.call == Call::rename;
        if (changes && event.path.ends_with("prealloc.0")) calls.push_back(event.call);
    }
    EXPECT_EQ(calls, (std::vector<Call>{Call::write, Call::sync_data, Call::rename}));
    EXPECT_EQ(id_in("/db/journal/j._0"), journal->file_id());
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

TEST_F(JournalTest, LatencyTestMeasuresBothPasses) {
    const SlowGrowth device(files, clock, 2000);
    make();
    const LatencyReport report = measure_latency(files, clock, "/db/journal");
    EXPECT_DOUBLE_EQ(report.growing.small, 2.0);
    EXPECT_DOUBLE_EQ(report.growing.small_with_pauses, 2.0);
    EXPECT_DOUBLE_EQ(report.growing.large, 2.0);
    EXPECT_DOUBLE_EQ(report.overwriting.small, 0.0);
    EXPECT_TRUE(names().empty());
}

TEST(CountersTest, ReportTheLastCompletedInterval) {
    Counters counters;
    counters.rotate_if_due(1000);
    counters.record(Metric::commits);
    EXPECT_EQ(counters.last_interval()[Metric::commits], 0u);
    counters.rotate_if_due(1000 + Counters::kIntervalUs - 1);
    EXPECT_EQ(counters.last_interval()[Metric::commits], 0u);
    counters.rotate_if_due(1000 + Counters::kIntervalUs + 50'000);
    EXPECT_EQ(counters.last_interval()[Metric::commits], 1u);
    EXPECT_EQ(counters.last_interval().interval_us, Counters::kIntervalUs + 50'000);
    counters.record(Metric::commits, 5);
    EXPECT_EQ(counters.last_interval()[Metric::commits], 1u);
    counters.rotate_if_due(10'000'000);
    EXPECT_EQ(counters.last_interval()[Metric::commits], 5u);
    counters.rotate_if_due(20'000'000);
    EXPECT_EQ(counters.last_interval()[Metric::commits], 0u) << "not cumulative";
    EXPECT_EQ(counters.last_interval().compression(), 0.0);
}

}  // namespace
}  // namespace journal

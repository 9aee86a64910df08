// Journal files made in advance and used again, on the simulated disk, and the speed test that
// decides whether they are.

#include "journal/file_pool.h"

#include "journal/log_file.h"
#include "journal/testing/journal_fixture.h"
#include "sched/operation.h"

namespace journal {
namespace {

// A device on which appending to a growing file is slow.
class SlowGrowth {
  public:
    SlowGrowth(os::SimFileSystem& files, os::SimClock& clock, int64_t us) {
        files.set_observer([&files, &clock, us](const os::SimFileSystem::Event& event) {
            const bool grows = event.call == os::SimFileSystem::Call::write &&
                               event.offset >= files.file_length(event.path);
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

TEST_F(JournalTest, TheSpeedTestLeavesNothingOnAFullDisk) {
    const auto journal = make(1 << 20, true);
    files.fail(os::SimFileSystem::Call::write, "tempLatencyTest", std::errc::no_space_on_device, 2);
    journal->prepare();
    EXPECT_TRUE(files.has_failed());
    EXPECT_EQ(names(), std::vector<std::string>{"j._0"});
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

TEST_F(JournalTest, ALatencyTestEndsWithItsOperation) {
    make();
    sched::Operation operation;
    const sched::Operation::Scope scope(&operation);
    operation.start();
    operation.kill(operation.id());
    try {
        measure_latency(files, clock, "/db/journal");
        ADD_FAILURE() << "it went on";
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), base::kInterrupted);
    }
    EXPECT_TRUE(names().empty());
}

}  // namespace
}  // namespace journal

// Tests which writes a recovery makes durable before something else, and which journals it refuses.
// The crash states of whole histories are storage/mmapv1/crash_state_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/error.h"
#include "base/testing/muted.h"
#include "journal/file_reader.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/commit/testing/core.h"

namespace mmapv1 {
namespace {

constexpr int64_t kFileBytes = 16 * 1024;
constexpr int kCommits = 5;          // into two journal files
constexpr int kWrittenBytes = 5000;  // by each
constexpr unsigned kStates = 16;

class RecoveryOrder : public testing::Test {
  protected:
    RecoveryOrder() { make_directory(disk, "/db"); }

    static void make_directory(os::SimFileSystem& files, const std::string& path) {
        files.create_directory(path);
        files.sync_directory(os::parent(path));
    }
    // Several commits to one file, each so far behind the one before, and the image after each.
    void fill(int step = 0) {
        std::independent_bits_engine<std::minstd_rand, 8, unsigned> random;
        Core core(disk, clock);
        core.recover();
        core.journal.prepare();
        core.files.create_on_disk("test.0", kFileBytes);
        DurableFile& file = core.files.open("test.0", true);
        for (int i = 0; i < kCommits; ++i) {
            const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
            if (i == 0) core.collector.note_created(file.path(), file.length());
            uint8_t* const place = file.view() + i * step;
            core.collector.declare(place, kWrittenBytes);
            // Nothing that compression makes smaller than a page.
            std::generate_n(place, kWrittenBytes, random);
            images.push_back({{"test.0", Bytes(file.view(), file.view() + kFileBytes)}});
            core.commit.commit_in_lock();
        }
    }

    // Into `copy`: a data file that nothing was applied to, and the journal, not synced.
    Image copy_to(os::SimFileSystem& copy) {
        make_directory(copy, "/db");
        make_directory(copy, "/db/journal");
        copy.open("/db/test.0", {.access = os::Access::read_write, .create = true})
            ->allocate(kFileBytes);
        copy.open("/db/test.0", {.access = os::Access::read_write})->sync();
        copy.sync_directory("/db");
        for (const auto& found : journal::find_journal_files(disk, "/db/journal")) {
            Bytes bytes(disk.file_length(found.path));
            disk.open(found.path, {})->read_at(0, bytes);
            copy.open(found.path, {.access = os::Access::read_write, .create = true})
                ->write_at(0, bytes);
        }
        return {{"test.0", Bytes(kFileBytes)}};
    }
    // Recovers there, with power cuts at every call: what is recovered after each is the image
    // after some commit, or `untouched`.
    void recover_with_cuts(os::SimFileSystem& copy, const Image& untouched) {
        int cuts = 0;
        copy.set_observer([&, busy = false](const os::SimFileSystem::Event& event) mutable {
            if (busy) return;
            busy = true;
            for (unsigned seed = 0; seed < kStates; ++seed) {
                os::SampledChoices choices(seed);
                const auto after = copy.power_cut(choices, 4096);
                Core core(*after, clock);
                try {
                    core.recover();
                } catch (const base::Error&) {
                    // Pieces of a journal whose copy has not arrived. The data must not have any
                    // of it.
                    EXPECT_EQ(core.image(), untouched) << event.path << ", state " << seed;
                    continue;
                }
                const Image found = core.image();
                bool known = found == untouched;
                for (const Image& image : images)
                    known = known || found == image;
                EXPECT_TRUE(known) << "before a call on " << event.path << ", state " << seed;
            }
            ++cuts;
            busy = false;
        });
        Core core(copy, clock);
        core.recover();
        copy.set_observer(nullptr);
        EXPECT_EQ(core.image(), images.back());
        EXPECT_GT(cuts, 10);
    }

    const base::MutedLog muted;
    os::SimFileSystem disk;
    os::SimClock clock;
    std::vector<Image> images;
};

// Holds J10. The directory is a copy: neither the files of the journal nor their names are synced.
TEST_F(RecoveryOrder, AJournalThatWasPutThereIsSyncedBeforeItIsReplayed) {
    fill();
    os::SimFileSystem copy;
    const Image untouched = copy_to(copy);
    recover_with_cuts(copy, untouched);
}

// Holds J10.
// The process that wrote it ended with that, so this commit was not acknowledged; the next one
// finds it whole where the device has a part.
TEST_F(RecoveryOrder, ACommitWhoseSyncFailedIsWrittenAgainBeforeItIsReplayed) {
    fill(kWrittenBytes / 2);  // the remains of one are not repaired by another
    os::SimFileSystem copy;
    const Image untouched = copy_to(copy);
    const auto found = journal::find_journal_files(copy, "/db/journal");
    for (const auto& each : found)
        copy.open(each.path, {.access = os::Access::read_write})->sync();
    copy.sync_directory("/db/journal");

    const std::string& last = found.back().path;
    uint64_t begin = 0;
    uint64_t end = 0;
    journal::FileReader reader(copy, last, true);
    for (journal::FileReader::Section section; reader.next(section); end = reader.offset())
        begin = section.offset;
    ASSERT_GT(end, begin);
    Bytes bytes(end - begin);
    const auto file = copy.open(last, {.access = os::Access::read_write});
    file->read_at(begin, bytes);
    file->write_at(begin, Bytes(bytes.size()));
    file->sync();
    file->write_at(begin, bytes);
    copy.after_failed_sync(os::SimFileSystem::FailedPages::count_as_clean);
    copy.fail(os::SimFileSystem::Call::sync, last, std::errc::io_error);
    EXPECT_THROW(file->sync(), os::IoError);

    recover_with_cuts(copy, untouched);
}

// Holds J6.
TEST_F(RecoveryOrder, AnInnerFileThatEndsEarlyIsRefused) {
    fill();
    const std::string first = "/db/journal/j._0";
    ASSERT_EQ(journal::find_journal_files(disk, "/db/journal").size(), 2u);
    disk.open(first, {.access = os::Access::read_write})
        ->write_at(disk.file_length(first) - 8192, Bytes(16, 'x'));
    Core core(disk, clock);
    try {
        core.recover();
        FAIL() << "a part of the journal is missing";
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), 13535) << e.what();
    }
    EXPECT_TRUE(disk.exists(first));
}

// Holds J7.
TEST_F(RecoveryOrder, WhatAReplayDropsIsGoneForGood) {
    for (const bool per_db : {false, true}) {
        os::SimFileSystem files;
        const std::string folder = per_db ? "/db/test" : "/db";
        make_directory(files, "/db");
        make_directory(files, "/db/journal");
        if (per_db) make_directory(files, folder);
        files.open(folder + "/test.ns", {.access = os::Access::write, .create = true})->sync();
        files.sync_directory(folder);
        const journal::Settings settings{"/db/journal", 3 * 8192, false, false};
        journal::Counters counters;
        {
            journal::Journal journal(files, clock, counters, settings);
            journal.ensure_open();
            journal::OpBuffer ops;
            ops.buffer().append_value(journal::kOpDropDb);
            ops.buffer().append_value(std::array<uint64_t, 2>{});
            ops.buffer().append("test\0", 6);
            journal::SectionWriter writer;
            journal.append(writer.write(ops, journal.format(), 1, journal.file_id()), 1);
        }
        journal::Journal journal(files, clock, counters, settings);
        FileSet data_files(files, "/db");
        Recovery(files, data_files, journal, counters, {.directory_per_db = per_db}).run();
        os::SampledChoices nothing(0);
        const auto after = files.power_cut(nothing, 4096);
        EXPECT_FALSE(journal::has_journal_files(*after, "/db/journal"));
        EXPECT_FALSE(after->exists(folder + "/test.ns"));
        EXPECT_EQ(after->exists(folder), !per_db);
    }
}

}  // namespace
}  // namespace mmapv1

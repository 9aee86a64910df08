// A writer that defers: what a commit leaves, who stores it, and when private copies go.

#include "storage/mmapv1/commit/data_file_writer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "journal/waiting_writes.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/commit/durable.h"
#include "storage/mmapv1/commit/testing/core.h"
#include "storage/mmapv1/commit/testing/kept_sections.h"

namespace mmapv1 {
namespace {

constexpr int64_t kFileBytes = 1 << 20;
const std::string kNothing = std::string(4, '\0');

os::SimFileSystem& with_dbpath(os::SimFileSystem& disk) {
    disk.create_directory("/db");
    disk.sync_directory("/");
    return disk;
}

class DataFileWriterTest : public testing::Test {
  protected:
    explicit DataFileWriterTest(uint64_t process_bytes = 0)
        : core(with_dbpath(disk), clock, [process_bytes](DataFileWriter::Parts parts) {
              parts.process_bytes = process_bytes;
              return KeptSections::make(parts);
          }) {
        core.recover();
        core.journal.prepare();
        core.files.create_on_disk("test.0", kFileBytes);
        file = &core.files.open("test.0", true);
        core.collector.note_created(file->path(), file->length());
        write(0, "made");
        core.commit.run_full_cycle();
    }
    void write(size_t offset, std::string_view text) {
        const storage::DatabaseLock lock(core.locks, "test", true);
        core.collector.declare(file->view() + offset, static_cast<uint32_t>(text.size()));
        std::memcpy(file->view() + offset, text.data(), text.size());
        core.collector.unspool();
    }
    void commit(size_t offset, std::string_view text) {
        write(offset, text);
        core.commit.run_cycle();
    }
    void store_beside_commits(const std::function<void()>& between) {
        core.writer->store_beside_commits(core.locks, core.latch, between);
    }
    KeptSections& writer() { return static_cast<KeptSections&>(*core.writer); }
    static std::string text_at(const uint8_t* view, size_t offset) {
        return {reinterpret_cast<const char*>(view) + offset, 4};
    }
    std::string seen(size_t offset) const { return text_at(file->view(), offset); }
    std::string stored(size_t offset) const { return text_at(file->shared_view(), offset); }

    os::SimFileSystem disk;
    os::SimClock clock;
    Core core;
    DurableFile* file = nullptr;
};

TEST_F(DataFileWriterTest, ACommitStoresNothing) {
    EXPECT_EQ(stored(0), "made");
    commit(100, "text");
    EXPECT_EQ(stored(100), kNothing);
    write(200, "more");
    core.commit.store_all();
    EXPECT_EQ(stored(100), "text");
    EXPECT_EQ(stored(200), "more") << "it is committed before";
    EXPECT_GT(core.writer->private_bytes(), 0u);
    core.commit.run_full_cycle();
    EXPECT_EQ(core.writer->private_bytes(), 0u);
}

// Holds J24.
TEST_F(DataFileWriterTest, AJournalFileStaysUntilAllOfItIsStored) {
    const auto fill_a_file = [this] {
        for (int i = 0; i < 5; ++i)
            commit(100, "text");
    };
    const auto flush = [&] {
        clock.advance_us(60'000'000);
        const auto mark = core.journal.flush_started();
        file->flush(true);
        core.journal.flush_finished(mark);
        fill_a_file();  // with a new file those go that are covered
    };
    const std::string first = "/db/journal/j._0";
    ASSERT_TRUE(disk.exists(first));
    fill_a_file();
    flush();
    EXPECT_TRUE(disk.exists(first)) << "what it has is in no data file";
    core.commit.store_all();
    flush();
    EXPECT_FALSE(disk.exists(first));
}

// Holds J26.
TEST_F(DataFileWriterTest, PrivateCopiesStayUntilTheyAreStored) {
    for (int i = 0; i < 25; ++i) {  // of ten cycles one would remap
        commit(100, "text");
        ASSERT_EQ(seen(100), "text");
        ASSERT_EQ(stored(100), kNothing);
    }
    core.commit.run_full_cycle();
    EXPECT_EQ(stored(100), "text");
    std::memcpy(file->view() + 5000, "copy", 4);  // undeclared: it goes with the private copy
    write(100, "more");
    core.commit.run_full_cycle();
    EXPECT_EQ(seen(100), "more");
    EXPECT_EQ(seen(5000), kNothing);
}

// A commit in W or X is followed by a remap.
// Holds J26.
TEST_F(DataFileWriterTest, ACommitInTheWriteLockStoresAll) {
    commit(100, "text");
    write(200, "more");
    const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
    core.commit.commit_in_lock();
    EXPECT_EQ(stored(100), "text");
    EXPECT_EQ(stored(200), "more");
    EXPECT_EQ(core.writer->private_bytes(), 0u);
}

TEST_F(DataFileWriterTest, BatchesAreCommittedBeforeTheyAreStored) {
    for (size_t i = 0; i < 7; ++i)
        commit(100 * i, "text");
    size_t commits = 0;
    store_beside_commits([&] {
        EXPECT_EQ(storage::LockManager::mode(), storage::GlobalMode::none);
        EXPECT_EQ(stored(300 * commits), commits == 0 ? "made" : kNothing);
        ++commits;
        commit(2000, "else");
    });
    EXPECT_EQ(commits, 3u);
    for (size_t i = 0; i < 7; ++i)
        EXPECT_EQ(stored(100 * i), "text") << i;
    EXPECT_EQ(stored(2000), kNothing) << "it came after this began";
    store_beside_commits([] {});
    EXPECT_EQ(stored(2000), "else");
    store_beside_commits([] { FAIL() << "all is stored"; });
}

TEST_F(DataFileWriterTest, WhatStoresAllEndsTheBatches) {
    for (size_t i = 0; i < 7; ++i)
        commit(100 * i, "text");
    int commits = 0;
    store_beside_commits([&] {
        ++commits;
        commit(0, "more");
        core.commit.store_all();
    });
    EXPECT_EQ(commits, 1);
    EXPECT_EQ(stored(0), "more");
    EXPECT_EQ(stored(600), "text");
}

TEST_F(DataFileWriterTest, AnExceptionWhileItStoresIsFatal) {
    commit(100, "text");
    EXPECT_EXIT(store_beside_commits([] { throw std::bad_alloc(); }),
                testing::ExitedWithCode(base::kExitAbrupt), "");
}

TEST_F(DataFileWriterTest, WhatWasStoredIsWrittenAPieceAtATime) {
    constexpr size_t kPiece = 256 << 10;
    const auto pieces = [this] {
        int count = 0;
        core.writer->write_stored([&count] { ++count; });
        return count;
    };
    pieces();
    commit(100, "text");
    EXPECT_EQ(pieces(), 0) << "it waits";
    commit(2 * kPiece - 2, "text");
    core.commit.store_all();
    EXPECT_EQ(pieces(), 3);
    EXPECT_EQ(pieces(), 0);
    commit(100, "more");
    commit(kFileBytes - 4, "more");
    core.commit.store_all();
    int count = 0;
    core.writer->write_stored([&] {
        if (++count != 1) return;
        // The piece that is written now is written again by the next call, a later one by this.
        commit(200, "text");
        commit(kPiece, "text");
        core.commit.store_all();
    });
    EXPECT_EQ(count, 3);
    EXPECT_EQ(pieces(), 1);
}

TEST_F(DataFileWriterTest, AFlushIsAskedForAtThreeQuarters) {
    int requests = 0;
    core.commit.set_flush_request([&requests] { ++requests; });
    const int64_t before = journal::waiting_writes.early_flushes;
    commit(0, std::string(1000, 'a'));
    EXPECT_EQ(requests, 0);
    writer().most = core.writer->private_bytes() * 5 / 2;
    commit(0, std::string(1000, 'b'));
    EXPECT_EQ(requests, 1);
    EXPECT_TRUE(core.writer->flush_wanted());
    commit(0, std::string(100, 'c'));
    EXPECT_EQ(requests, 1) << "it was asked for before";
    EXPECT_EQ(journal::waiting_writes.early_flushes, before + 1);
    EXPECT_EQ(static_cast<uint64_t>(journal::waiting_writes.private_bytes),
              core.writer->private_bytes());
    EXPECT_EQ(stored(0), "made");
    commit(0, std::string(1000, 'd'));
    EXPECT_EQ(stored(0), "made");
    core.commit.run_cycle();
    EXPECT_EQ(stored(0), "dddd") << "beyond the limit a cycle stores and drops";
    EXPECT_EQ(core.writer->private_bytes(), 0u);
    EXPECT_EQ(journal::waiting_writes.private_bytes, 0);
    core.writer->note_flush();
    commit(0, std::string(2000, 'e'));
    EXPECT_EQ(requests, 2);
}

class ShortOfMemory : public DataFileWriterTest {
  protected:
    ShortOfMemory() : DataFileWriterTest(64 << 10) {}  // the process has more than that
};

TEST_F(ShortOfMemory, AFlushBeginsEarly) {
    int requests = 0;
    core.commit.set_flush_request([&requests] { ++requests; });
    core.writer->note_flush();
    commit(0, std::string(100, 'a'));
    EXPECT_EQ(requests, 0) << "too little for a look";
    commit(0, std::string(2000, 'b'));
    EXPECT_EQ(requests, 1);
    commit(0, std::string(2000, 'c'));
    EXPECT_EQ(requests, 1) << "it was asked for before";
}

// The one of the base.
TEST(AfterEachCommit, NothingWaits) {
    os::SimFileSystem disk;
    os::SimClock clock;
    Core core(with_dbpath(disk), clock);
    core.recover();
    core.journal.prepare();
    core.files.create_on_disk("test.0", kFileBytes);
    const DurableFile& file = core.files.open("test.0", true);
    {
        const storage::DatabaseLock lock(core.locks, "test", true);
        core.collector.note_created(file.path(), file.length());
        core.collector.declare(file.view(), 4);
        std::memcpy(file.view(), "text", 4);
        core.collector.unspool();
    }
    core.commit.run_cycle();
    EXPECT_EQ(std::memcmp(file.shared_view(), "text", 4), 0);
    std::vector<WriteIntent> waiting;
    core.writer->append_waiting(waiting);
    EXPECT_TRUE(waiting.empty());
    EXPECT_FALSE(core.writer->defers() || core.writer->is_full() || core.writer->wants_flush());
    core.writer->store_beside_commits(core.locks, core.latch, [] { FAIL(); });
    core.writer->write_stored([] { FAIL(); });
}

class DeferredDurable : public testing::Test {
  protected:
    DeferredDurable() {
        durable.recover();
        const storage::GlobalLock lock(locks, storage::GlobalMode::W);
        file = &durable.views().create("test.0", kFileBytes);
        durable.views().note_created(*file);
        durable.views().write(file->view() + 100, "text", 4);
    }
    std::string after_a_cut() {
        os::EveryChoice nothing_unsynced_survives;
        std::string text(4, '?');
        disk.power_cut(nothing_unsynced_survives, 512)
            ->open("/db/test.0", {})
            ->read_at(100, {reinterpret_cast<uint8_t*>(text.data()), text.size()});
        return text;
    }
    void commit() {
        const storage::GlobalLock lock(locks, storage::GlobalMode::R);
        durable.commit_now();
    }

    os::SimFileSystem disk;
    os::SimClock clock;
    storage::LockManager locks;
    Durable durable{{.dbpath = "/db",
                     .journal_options = kNoCheckSpace | kParanoid,
                     .make_writer = KeptSections::make},
                    locks,
                    with_dbpath(disk),
                    clock};
    MappedFile* file = nullptr;
};

// Holds J26.
TEST_F(DeferredDurable, FsyncStoresAndFlushes) {
    commit();
    EXPECT_EQ(after_a_cut(), kNothing);
    durable.flush_all(true);
    EXPECT_EQ(after_a_cut(), "text");
}

// Holds J26.
TEST_F(DeferredDurable, AClosedFileHasAll) {
    commit();
    const storage::GlobalLock lock(locks, storage::GlobalMode::W);
    durable.views().close(*file);
    EXPECT_EQ(after_a_cut(), "text");
}

// Holds J26.
TEST_F(DeferredDurable, AShutdownStoresAndFlushes) {
    commit();
    durable.shutdown();
    EXPECT_EQ(after_a_cut(), "text");
}

// What waits differs from the private view; that is no undeclared write. One elsewhere stands out.
TEST_F(DeferredDurable, UndeclaredWritesAreStillFound) {
    commit();
    {
        const storage::GlobalLock lock(locks, storage::GlobalMode::W);
        durable.views().write(file->view() + 200, "more", 4);
    }
    commit();
    file->view()[5000] = 1;
    const auto commit_and_exit = [this] {
        {
            const storage::GlobalLock lock(locks, storage::GlobalMode::W);
            durable.views().write(file->view() + 300, "last", 4);
        }
        commit();
        std::_Exit(3);
    };
    EXPECT_EXIT(commit_and_exit(), testing::ExitedWithCode(base::kExitAbrupt), "");
    file->view()[5000] = 0;
}

int64_t flushes_of(const Durable& durable) {
    bson::Builder status;
    durable.append_flush_status(status);
    return status.doc()["flushes"].to_int64();
}

// Writers, commits and flushes by threads of their own: what is acknowledged outlives a power cut
// at the end, whatever the last flush had reached.
TEST(DeferredWrites, WritersAndFlushesGoOnTogether) {
    os::SimFileSystem disk;
    storage::LockManager locks;
    Durable durable({.dbpath = "/db",
                     .journal_options = kNoCheckSpace,
                     .no_prealloc_journal = true,
                     .sync_delay_seconds = 0.001,
                     .make_writer = KeptSections::make},
                    locks, with_dbpath(disk), os::system_clock());
    durable.recover();
    durable.start();
    MappedFile* file = nullptr;
    {
        const storage::GlobalLock lock(locks, storage::GlobalMode::W);
        file = &durable.views().create("test.0", kFileBytes);
        durable.views().note_created(*file);
    }
    const auto write_numbers = [&](uint32_t thread) {
        for (uint32_t i = 0; i < 50 || flushes_of(durable) < 10; ++i) {
            {
                const storage::DatabaseLock lock(locks, "db" + std::to_string(thread), true);
                const uint32_t page = i * 37 % (kFileBytes / 4096);
                durable.views().write(file->view() + page * 4096 + 8 * thread, &i, sizeof i);
            }
            if (i % 10 == 0) durable.await_commit_blocking();
        }
        durable.await_commit_blocking();
    };
    std::vector<std::thread> writers;
    for (uint32_t thread = 0; thread < 3; ++thread)
        writers.emplace_back(write_numbers, thread);
    for (std::thread& writer : writers)
        writer.join();
    os::EveryChoice nothing_unsynced_survives;
    const auto cut = disk.power_cut(nothing_unsynced_survives, 512);
    os::SimClock clock;
    storage::LockManager other_locks;
    Durable again({.dbpath = "/db", .journal_options = kNoCheckSpace}, other_locks, *cut, clock);
    again.recover();
    std::vector<uint8_t> recovered(kFileBytes);
    cut->open("/db/test.0", {})->read_at(0, recovered);
    EXPECT_EQ(std::memcmp(recovered.data(), file->view(), kFileBytes), 0);
    again.shutdown();
    durable.shutdown();
}

}  // namespace
}  // namespace mmapv1

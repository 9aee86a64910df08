// The whole of Durable on the real file system: what is acknowledged is in the journal, what is in
// the journal is recovered.

#include "storage/mmapv1/commit/durable.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/testing/failed_check.h"
#include "bson/view.h"
#include "journal/file_reader.h"
#include "journal/journal.h"
#include "os/testing/directory.h"
#include "sched/memory.h"
#include "sched/operation.h"
#include "storage/mmapv1/commit/testing/server.h"
#include "storage/mmapv1/commit/write_admission.h"

namespace mmapv1 {
namespace {

TEST(Durable, ChangesNeedAWriteLock) {
    const os::TestDirectory home;
    Server server(home.path());
    server.start();
    MappedFile& file = server.create("test.0");
    const auto declare = [&] { server.durable.views().declare(file.view(), 5); };
    EXPECT_TRUE(base::is_refused(declare)) << "no lock";
    {
        const storage::DatabaseLock lock(server.locks, "test", false);
        EXPECT_TRUE(base::is_refused(declare)) << "a reader";
    }
    EXPECT_TRUE(base::is_refused([&] { server.durable.sync_and_truncate_journal(); }));
    {
        const storage::DatabaseLock lock(server.locks, "test", true);
        EXPECT_EQ(base::failed_check(declare), "");
    }
    server.durable.shutdown();
}

// Holds J15.
TEST(Durable, AcknowledgedWritesSurviveAKill) {
    const os::TestDirectory home, copy;
    {
        Server server(home.path());
        server.start();
        MappedFile& file = server.create("test.0");
        server.write(file, 8192, "first");
        server.durable.await_commit_blocking();
        server.write(file, 8200, "second");
        server.durable.await_commit_blocking();
        copy_directory(home.path(), copy.path());
        // The data file is lost altogether: the journal alone must bring it back.
        std::filesystem::remove(copy / "test.0");
        server.durable.shutdown();
    }
    Server server(copy.path());
    server.start();
    const MappedFile& file = server.durable.views().open("test.0");
    EXPECT_EQ(file.length(), kFileBytes);
    EXPECT_EQ(text_at(file, 8192, 5), "first");
    EXPECT_EQ(text_at(file, 8200, 6), "second");
    server.durable.shutdown();
}

TEST(Durable, CleanShutdownLeavesDataAndNoJournal) {
    const os::TestDirectory home;
    {
        Server server(home.path());
        server.start();
        server.write(server.create("test.0"), 100, "kept");
        server.durable.shutdown();
        server.durable.release_journal();
    }
    EXPECT_TRUE(os::real_file_system().list(home / "journal").empty());
    Server server(home.path());
    server.start();
    EXPECT_EQ(text_at(server.durable.views().open("test.0"), 100, 4), "kept");
    server.durable.shutdown();
}

// Holds J10.
TEST(Durable, NothingReachesTheDataFileBeforeItsCommit) {
    const os::TestDirectory home;
    Server server(home.path());
    server.start();
    MappedFile& file = server.create("test.0");
    server.durable.await_commit_blocking();
    server.durable.lock_commits();
    server.write(file, 5000, "pending");
    const auto on_disk = [&] {
        std::string text(7, '?');
        os::real_file_system()
            .open(home / "test.0", {})
            ->read_at(5000, {reinterpret_cast<uint8_t*>(text.data()), text.size()});
        return text;
    };
    EXPECT_EQ(text_at(file, 5000, 7), "pending");
    EXPECT_EQ(on_disk(), std::string(7, '\0'));
    {
        const storage::GlobalLock lock(server.locks, storage::GlobalMode::W);
        server.durable.commit_now();
    }
    EXPECT_EQ(on_disk(), "pending");
    EXPECT_EQ(text_at(file, 5000, 7), "pending") << "the remapped view shows the file";
    server.durable.unlock_commits();
    server.durable.shutdown();
}

TEST(Durable, ManyWritersAllGetTheirAcknowledgement) {
    const os::TestDirectory home, copy;
    constexpr int kThreads = 4, kWrites = 60;
    {
        Server server(home.path());
        server.start();
        MappedFile& file = server.create("test.0");
        std::vector<std::thread> threads;
        for (int t = 0; t < kThreads; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < kWrites; ++i) {
                    const auto at = static_cast<size_t>(t * kWrites + i) * 64;
                    server.write(file, 4096 + at, fmt::format("{:03}/{:03}", t, i));
                    server.durable.await_commit_blocking();
                }
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        copy_directory(home.path(), copy.path());
        server.durable.shutdown();
    }
    Server server(copy.path());
    server.start();
    const MappedFile& file = server.durable.views().open("test.0");
    for (int t = 0; t < kThreads; ++t) {
        for (int i = 0; i < kWrites; ++i) {
            const auto at = static_cast<size_t>(t * kWrites + i) * 64;
            EXPECT_EQ(text_at(file, 4096 + at, 7), fmt::format("{:03}/{:03}", t, i));
        }
    }
    server.durable.shutdown();
}

// A clean shutdown keeps what was acknowledged at w:1, however late that was.
TEST(Durable, WritesThatRaceWithAShutdownAreKeptOrNeverDone) {
    constexpr size_t kWriters = 3;
    for (const bool journal : {true, false}) {
        for (int round = 0; round < 10; ++round) {
            const os::TestDirectory home;
            storage::LockManager locks;
            Durable durable({.dbpath = home.path(),
                             .journal = journal,
                             .journal_file_bytes = journal::kSmallLimitBytes,
                             .journal_options = kNoCheckSpace,
                             .no_prealloc_journal = true},
                            locks);
            durable.recover();
            durable.start();
            MappedFile* file = nullptr;
            {
                const storage::DatabaseLock lock(locks, "test", true);
                file = &durable.views().create("test.0", kFileBytes);
                durable.views().note_created(*file);
                durable.views().declare(file->view(), 5);
            }
            std::array<std::atomic<uint64_t>, kWriters> acknowledged{};
            std::array<sched::Operation, kWriters> operations;
            std::vector<std::thread> writers;
            for (size_t i = 0; i < kWriters; ++i) {
                operations[i].start();
                writers.emplace_back([&, i] {
                    const sched::Operation::Scope scope(&operations[i]);
                    try {
                        for (uint64_t n = 1;; ++n) {
                            {
                                const storage::DatabaseLock lock(locks, "test", true);
                                durable.views().write(file->view() + 8192 * (i + 1), &n, sizeof n);
                            }
                            acknowledged[i] = n;
                        }
                    } catch (const base::Error& e) {
                        EXPECT_EQ(e.code(), base::kInterrupted);  // waiting for the lock
                    }
                });
            }
            for (const auto& count : acknowledged)
                while (count < 20)
                    std::this_thread::yield();
            durable.shutdown();
            for (sched::Operation& operation : operations)
                operation.kill(operation.id());
            for (std::thread& writer : writers)
                writer.join();
            for (size_t i = 0; i < kWriters; ++i) {
                uint64_t kept = 0;
                os::real_file_system()
                    .open(home / "test.0", {})
                    ->read_at(8192 * (i + 1), {reinterpret_cast<uint8_t*>(&kept), sizeof kept});
                EXPECT_EQ(kept, acknowledged[i]);
            }
        }
    }
}

TEST(Durable, TruncatingLeavesNoJournalAndNumberingGoesOn) {
    const os::TestDirectory home;
    Server server(home.path());
    server.start();
    MappedFile& file = server.create("test.0");
    server.durable.await_commit_blocking();
    EXPECT_TRUE(os::real_file_system().exists(home / "journal/j._0"));
    {
        const storage::GlobalLock lock(server.locks, storage::GlobalMode::W);
        server.durable.sync_and_truncate_journal();
    }
    EXPECT_FALSE(journal::has_journal_files(os::real_file_system(), home / "journal"));
    server.write(file, 0, "again");
    server.durable.await_commit_blocking();
    EXPECT_TRUE(os::real_file_system().exists(home / "journal/j._1"));
    server.durable.shutdown();
}

// Holds J19.
TEST(Durable, AnUndeclaredWriteIsNamedAndNeverAcknowledged) {
    const os::TestDirectory home;
    EXPECT_EXIT(
        {
            base::log::set_sink(
                [](base::log::Severity, std::string_view line) { std::cerr << line << std::endl; });
            Server server(home.path(), kNoCheckSpace | kParanoid);
            server.start();
            MappedFile& file = server.create("test.0");
            {
                const storage::DatabaseLock lock(server.locks, "test", true);
                server.durable.views().write(file.view() + 8192, "declared", 8);
                file.view()[12345] = 'u';
                file.view()[12346] = 'n';
            }
            server.durable.await_commit_blocking();
            std::_Exit(base::kExitClean);
        },
        testing::ExitedWithCode(base::kExitAbrupt),
        "Fatal assertion 13599 2 bytes of private views were changed without a declared write "
        "intent, the first at offset 0x3039 of test\\.0");
}

// Holds J19.
TEST(Durable, ParanoidFindsAnUndeclaredWrite) {
    const os::TestDirectory home;
    EXPECT_EXIT(
        {
            Server server(home.path(), kNoCheckSpace | kParanoid | kAlwaysRemap);
            server.start();
            MappedFile& file = server.create("test.0");
            server.durable.await_commit_blocking();
            // A remap between the write and the comparison would undo it: write until it is seen.
            for (char c = 0;; ++c) {
                {
                    const storage::DatabaseLock lock(server.locks, "test", true);
                    file.view()[12345] = static_cast<uint8_t>(c);
                }
                server.durable.await_commit_blocking();
            }
        },
        testing::ExitedWithCode(base::kExitAbrupt), "");
}

// Whichever thread commits: the journal's buffers are not accounted to its operation.
TEST(Durable, ACommitTakesNoMemoryFromTheOperationThatMakesIt) {
    constexpr size_t kBytes = 12 << 20;
    constexpr int64_t kLimit = 1 << 20;
    const os::TestDirectory home;
    Server server(home.path(), kNoCheckSpace);
    server.start();
    MappedFile& file = server.create("test.0", 16 << 20);
    sched::memory::set_limits(kLimit, sched::memory::kAllBytes);
    sched::Operation operation;
    operation.start();
    {
        const sched::Operation::Scope scope(&operation);
        const storage::GlobalLock lock(server.locks, storage::GlobalMode::W);
        server.durable.views().declare(file.view(), kBytes);
        std::memset(file.view(), 'x', kBytes);
        server.durable.commit_now();
    }
    EXPECT_LT(operation.memory_held(), kLimit);
    sched::memory::set_limits(sched::memory::kOperationBytes, sched::memory::kAllBytes);
    server.durable.shutdown();
}

// Holds J20.
// Every thread that finds little uncommitted may write much, and what is written is not counted
// before its lock is released.
TEST(Durable, LargeDocumentsThatArriveTogetherShareCommitsOfABoundedSize) {
    constexpr int kThreads = 24;
    constexpr size_t kBytes = 15 << 20;
    const os::TestDirectory home;
    Server server(home.path(), kNoCheckSpace);
    server.start();
    std::vector<MappedFile*> files;
    for (int i = 0; i < kThreads; ++i)
        files.push_back(&server.create(fmt::format("db{}.0", i), 16 << 20));
    server.durable.await_commit_blocking();
    server.durable.lock_commits();  // no other thread commits
    std::barrier together(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            // Half of them to databases of their own, half to the same one.
            const std::string db = i % 2 == 0 ? fmt::format("db{}", i) : "local";
            together.arrive_and_wait();
            const storage::DatabaseLock lock(server.locks, db, true);
            server.durable.make_room(kBytes);
            MappedFile& file = *files[static_cast<size_t>(i)];
            server.durable.views().declare(file.view(), kBytes);
            std::memset(file.view(), 'a' + i % 26, kBytes);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    server.durable.unlock_commits();
    server.durable.await_commit_blocking();
    {
        // Waiters are notified before the data files have it; one commit more, and they do.
        const storage::GlobalLock lock(server.locks, storage::GlobalMode::R);
        server.durable.commit_now();
    }
    for (const auto& found :
         journal::find_journal_files(os::real_file_system(), home / "journal")) {
        journal::FileReader reader(os::real_file_system(), found.path, true);
        for (journal::FileReader::Section section; reader.next(section);)
            EXPECT_LE(section.ops.size(), CommitLimits{}.admitted_bytes);
    }
    for (int i = 0; i < kThreads; ++i) {
        uint8_t byte = 0;
        os::real_file_system()
            .open(home / fmt::format("db{}.0", i), {})
            ->read_at(kBytes - 1, {&byte, 1});
        EXPECT_EQ(byte, 'a' + i % 26);
    }
    server.durable.shutdown();
}

// Holds J20, whichever thread the system runs when.
TEST(Durable, ALargeDocumentWaitsForThoseThatNoCommitCarriesWithIt) {
    constexpr int64_t kBytes = 60 << 20;  // two of these and their keys are too much
    const os::TestDirectory home;
    Server server(home.path(), kNoCheckSpace);
    server.start();
    std::atomic<bool> waits_or_has_passed{false}, first_has_ended{false};
    const auto tell = [&] { waits_or_has_passed = true; };
    base::log::set_verbosity(1);
    base::log::set_sink([&](base::log::Severity, std::string_view line) {
        if (line.find("upgrading from shared write") != std::string_view::npos) tell();
    });
    std::thread second;
    server.durable.lock_commits();  // else the second may wait behind the journal thread
    {
        const storage::DatabaseLock lock(server.locks, "first", true);
        server.durable.make_room(kBytes);
        second = std::thread([&] {
            const storage::DatabaseLock other(server.locks, "second", true);
            server.durable.make_room(kBytes);
            EXPECT_TRUE(first_has_ended);
            tell();
        });
        while (!waits_or_has_passed)
            std::this_thread::yield();
        server.durable.unlock_commits();
        first_has_ended = true;
    }
    second.join();
    base::log::set_sink(nullptr);
    base::log::set_verbosity(0);
    server.durable.shutdown();
}

TEST(Durable, WritesBeyondTheLimitAreCommittedByTheWriter) {
    const os::TestDirectory home;
    Server server(home.path());
    server.start();
    server.durable.lock_commits();  // no other thread commits
    MappedFile* file = nullptr;
    {
        const storage::DatabaseLock lock(server.locks, "test", true);
        file = &server.durable.views().create("test.0", 128 << 20);
        server.durable.views().note_created(*file);
        EXPECT_FALSE(server.durable.commit_if_needed());
        server.durable.views().declare(file->view(), 110 << 20);
        file->view()[100 << 20] = 'x';
        // Declarations that are still in this thread's spool are not counted yet; these cannot be
        // merged there.
        uint8_t* const behind = file->view() + (111 << 20);
        for (int i = 0; i < 30; ++i)
            server.durable.views().declare(behind + i * 8192, 1);
        server.durable.begin_undo();
        EXPECT_FALSE(server.durable.commit_if_needed());
        server.durable.end_undo();
        EXPECT_TRUE(server.durable.commit_if_needed());
        EXPECT_EQ(storage::LockManager::mode(), storage::GlobalMode::w);
    }
    uint8_t byte = 0;
    os::real_file_system().open(home / "test.0", {})->read_at(100 << 20, {&byte, 1});
    EXPECT_EQ(byte, 'x');
    server.durable.unlock_commits();
    server.durable.shutdown();
}

TEST(Durable, WithoutAJournalThereIsOneViewAndNothingToWaitFor) {
    const os::TestDirectory home;
    storage::LockManager locks;
    Durable durable({.dbpath = home.path(), .journal = false}, locks);
    durable.recover();
    durable.start();
    EXPECT_FALSE(durable.journaling());
    storage::CommitWaiter waiter;
    EXPECT_TRUE(durable.await_commit(&waiter));
    {
        const storage::DatabaseLock lock(locks, "test", true);
        MappedFile& file = durable.views().create("test.0", kFileBytes);
        durable.views().write(file.view() + 10, "plain", 5);
    }
    EXPECT_EQ(durable.flush_all(true), 1);
    std::string text(5, '?');
    os::real_file_system()
        .open(home / "test.0", {})
        ->read_at(10, {reinterpret_cast<uint8_t*>(text.data()), 5});
    EXPECT_EQ(text, "plain");
    durable.shutdown();
    EXPECT_FALSE(os::real_file_system().exists(home / "journal"));
}

TEST(Durable, StatusHasTheFieldsInTheirOrder) {
    const os::TestDirectory home;
    Server server(home.path());
    server.start();
    bson::Builder out;
    server.durable.append_dur_status(out);
    std::vector<std::string> names;
    for (const bson::Element& e : out.doc())
        names.emplace_back(e.name());
    const std::vector<std::string> expected{"commits",
                                            "journaledMB",
                                            "writeToDataFilesMB",
                                            "compression",
                                            "commitsInWriteLock",
                                            "earlyCommits",
                                            "timeMs",
                                            "journaledBytes",
                                            "uncompressedBytes",
                                            "writeToDataFilesBytes",
                                            "journalCommitIntervalMs"};
    EXPECT_EQ(names, expected);
    server.durable.shutdown();
}

TEST(Durable, FilesOfDatabasesInDirectories) {
    const os::TestDirectory home, copy;
    {
        Server server(home.path());
        server.start();
        server.write(server.create("local/local.0"), 1, "here");
        server.durable.await_commit_blocking();
        copy_directory(home.path(), copy.path());
        std::filesystem::remove_all(copy / "local");
        server.durable.shutdown();
    }
    Server server(copy.path());
    server.start();
    EXPECT_EQ(text_at(server.durable.views().open("local/local.0"), 1, 4), "here");
    EXPECT_FALSE(os::real_file_system().exists(copy / "local/_tmp"));
    server.durable.shutdown();
}

}  // namespace
}  // namespace mmapv1

// The whole of Durable on the simulated disk: what remains after a power cut or a kill, and what a
// call that fails ends.

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "journal/journal.h"
#include "os/testing/sim_clock.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/commit/durable.h"

namespace mmapv1 {
namespace {

struct SimDisk {
    SimDisk() { disk.create_directory("/db"); }
    os::SimFileSystem disk;
    os::SimClock clock;
};

// A server on it without threads: the thread that wants a commit makes it.
struct SimServer : SimDisk {
    SimServer() { durable.recover(); }
    MappedFile& create() {
        MappedFile& file = durable.views().create("test.0", 8192);
        durable.views().note_created(file);
        return file;
    }
    std::unique_ptr<os::SimFileSystem> after_a_cut() {
        os::EveryChoice nothing_unsynced_survives;
        return disk.power_cut(nothing_unsynced_survives, 512);
    }

    storage::LockManager locks;
    Durable durable{{.dbpath = "/db", .journal_options = kNoCheckSpace}, locks, disk, clock};
};

// The place of the text that a test wrote into the file.
constexpr size_t kAt = 4000;
std::string text_on(os::FileSystem& disk) {
    std::string text(4, '?');
    disk.open("/db/test.0", {})
        ->read_at(kAt, {reinterpret_cast<uint8_t*>(text.data()), text.size()});
    return text;
}

// Holds J5.
TEST(Durable, TruncatingLeavesTheDataOnTheDevice) {
    SimServer server;
    const storage::GlobalLock lock(server.locks, storage::GlobalMode::W);
    server.durable.views().write(server.create().view() + kAt, "kept", 4);
    server.durable.sync_and_truncate_journal();
    const auto after = server.after_a_cut();
    EXPECT_FALSE(journal::has_journal_files(*after, "/db/journal"));
    EXPECT_EQ(text_on(*after), "kept");
}

// Holds J17.
TEST(Durable, AClosedFileIsOnTheDiskAndNotOnlyInTheJournal) {
    SimServer server;
    const storage::GlobalLock lock(server.locks, storage::GlobalMode::W);
    MappedFile& file = server.create();
    server.durable.views().write(file.view() + kAt, "kept", 4);
    server.durable.views().close(file);
    EXPECT_EQ(text_on(*server.after_a_cut()), "kept");
}

// Holds J12.
TEST(Durable, WhatWasUnlockedIsInTheNextCommit) {
    SimServer server;
    MappedFile* file = nullptr;
    {
        const storage::DatabaseLock lock(server.locks, "test", true);
        file = &server.create();
        server.durable.views().write(file->view(), "made", 4);
    }
    // One declaration, far from filling the writer's spool.
    std::thread([&] {
        const storage::DatabaseLock lock(server.locks, "test", true);
        server.durable.views().write(file->view() + kAt, "kept", 4);
    }).join();
    {
        const storage::GlobalLock lock(server.locks, storage::GlobalMode::R);
        server.durable.commit_now();
    }
    EXPECT_EQ(text_on(*server.disk.process_kill()), "kept");
}

// Holds J9.
TEST(Durable, TheJournalDirectoryIsNeverEmptyWhileAServerRuns) {
    os::SimFileSystem disk;
    os::SimClock clock;
    disk.create_directory("/db");
    const auto serve = [&](const std::vector<std::string>& left_over) {
        if (!left_over.empty()) disk.create_directory("/db/journal");
        for (const std::string& name : left_over)
            disk.open("/db/journal/" + name, {.access = os::Access::write, .create = true});
        storage::LockManager locks;
        Durable durable({.dbpath = "/db", .journal_options = kNoCheckSpace}, locks, disk, clock);
        durable.claim_journal();
        int calls = 0;
        disk.set_observer([&](const os::SimFileSystem::Event&) {
            ++calls;
            EXPECT_TRUE(journal::was_in_use(disk, "/db/journal"));
        });
        durable.recover();
        {
            const storage::GlobalLock lock(locks, storage::GlobalMode::W);
            MappedFile& file = durable.views().create("test.0", 8192);
            durable.views().note_created(file);
            durable.commit_now();
            durable.sync_and_truncate_journal();
            durable.views().write(file.view() + 4000, "kept", 4);
            durable.commit_now();
        }
        durable.shutdown();
        disk.set_observer(nullptr);
        EXPECT_GT(calls, 20);
        durable.release_journal();
    };
    serve({});
    EXPECT_TRUE(disk.list("/db/journal").empty());
    serve({"prealloc.1"});
    serve({"tempLatencyTest"});
}

// Holds J9.
TEST(Durable, ARunWithoutAJournalLeavesNoMarkOfOne) {
    os::SimFileSystem disk;
    os::SimClock clock;
    disk.create_directory("/db");
    disk.create_directory("/db/journal");
    for (const char* name : {"prealloc.0", "lsn"})
        disk.open(os::join("/db/journal", name), {.access = os::Access::write, .create = true});
    storage::LockManager locks;
    Durable durable({.dbpath = "/db", .journal = false}, locks, disk, clock);
    durable.claim_journal();
    EXPECT_EQ(disk.list("/db/journal"), std::vector<std::string>{"prealloc.0"});
    durable.shutdown();
}

// Ends the process by its own code if the write is acknowledged.
void write_with_failing_journal(os::SimFileSystem::Call call) {
    SimServer server;
    const storage::GlobalLock lock(server.locks, storage::GlobalMode::W);
    MappedFile& file = server.create();
    server.durable.commit_now();
    server.disk.fail(call, "j._0", std::errc::io_error);
    server.durable.views().write(file.view(), "lost", 4);
    storage::CommitWaiter waiter;
    waiter.done = [](storage::CommitWaiter*) { std::_Exit(3); };
    server.durable.await_commit(&waiter);
    server.durable.commit_now();
}

// Holds J13, J18.
TEST(Durable, AFailedJournalWriteEndsTheProcessUnacknowledged) {
    using Call = os::SimFileSystem::Call;
    const testing::ExitedWithCode abrupt(base::kExitAbrupt);
    EXPECT_EXIT(write_with_failing_journal(Call::write), abrupt, "");
    EXPECT_EXIT(write_with_failing_journal(Call::sync_data), abrupt, "");
    // A call that no commit makes: the waiter is notified.
    EXPECT_EXIT(write_with_failing_journal(Call::sync_mapping), testing::ExitedWithCode(3), "");
}

// Holds J18.
TEST(Durable, AFailedFlushIsFatal) {
    EXPECT_EXIT(
        {
            SimServer server;
            server.durable.views().create("test.0", 8192);
            server.disk.fail(os::SimFileSystem::Call::sync_mapping, "test.0", std::errc::io_error);
            server.durable.flush_all(true);
        },
        testing::ExitedWithCode(base::kExitAbrupt), "");
}

}  // namespace
}  // namespace mmapv1

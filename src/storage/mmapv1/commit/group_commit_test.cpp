// The safety rules of group_commit.h, one by one, on the simulated disk.

#include "storage/mmapv1/commit/group_commit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/testing/fatal_handler.h"
#include "os/testing/sim_file_system.h"
#include "sched/operation.h"
#include "storage/mmapv1/commit/testing/core.h"

namespace mmapv1 {
namespace {

using Call = os::SimFileSystem::Call;

constexpr int64_t kFileBytes = 16 * 1024;

class GroupCommitTest : public testing::Test {
  protected:
    GroupCommitTest() {
        core.recover();
        core.journal.prepare();
        core.files.create_on_disk("test.0", kFileBytes);
        file = &core.files.open("test.0", true);
        const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
        core.collector.note_created(file->path(), file->length());
        write(0, "made");
        core.commit.commit_in_lock();
    }
    ~GroupCommitTest() override { disk.set_observer(nullptr); }

    static os::SimFileSystem& with_dbpath(os::SimFileSystem& disk) {
        disk.create_directory("/db");
        disk.sync_directory("/");
        return disk;
    }
    void write(size_t offset, std::string_view text) {
        core.collector.declare(file->view() + offset, static_cast<uint32_t>(text.size()));
        std::memcpy(file->view() + offset, text.data(), text.size());
    }
    static std::string text_at(const uint8_t* view, size_t offset, size_t size = 4) {
        return {reinterpret_cast<const char*>(view) + offset, size};
    }
    std::string seen(size_t offset) const { return text_at(file->view(), offset); }
    std::string stored(size_t offset) const { return text_at(file->shared_view(), offset); }
    const std::string nothing = std::string(4, '\0');

    os::SimFileSystem disk;
    os::SimClock clock;
    Core core{with_dbpath(disk), clock};
    DurableFile* file = nullptr;
};

// Holds J10.
TEST_F(GroupCommitTest, TheDataFileChangesAfterTheSync) {
    int calls = 0;
    disk.set_observer([&](const os::SimFileSystem::Event& event) {
        if (!event.path.ends_with("j._0")) return;
        ++calls;
        EXPECT_EQ(stored(100), nothing) << "call " << static_cast<int>(event.call);
    });
    const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
    write(100, "text");
    core.commit.commit_in_lock();
    EXPECT_EQ(calls, 2) << "the write and the sync";
    EXPECT_EQ(stored(100), "text");
}

// Holds J11.
TEST_F(GroupCommitTest, ACommitWaitsForTheOperationThatIsUnderWay) {
    std::atomic<bool> half_done{false}, committed{false};
    std::thread writer([&] {
        const storage::DatabaseLock lock(core.locks, "test", true);
        write(100, "half");
        core.collector.unspool();
        half_done = true;
        while (!core.locks.contended() && !committed)
            std::this_thread::yield();
        EXPECT_FALSE(committed) << "the other half is missing";
        write(200, "half");
        core.collector.unspool();
    });
    while (!half_done)
        std::this_thread::yield();
    core.commit.run_cycle();
    committed = true;
    writer.join();
    EXPECT_EQ(stored(100), "half");
    EXPECT_EQ(stored(200), "half");
}

// Holds J14.
TEST_F(GroupCommitTest, ASecondCommitWaitsUntilTheFirstIsApplied) {
    std::thread second;
    std::atomic<int> sections = 0;
    disk.set_observer([&](const os::SimFileSystem::Event& event) {
        if (event.call != Call::write || !event.path.ends_with("j._0")) return;
        if (++sections == 2) {
            EXPECT_EQ(stored(100), "1st ") << "the first commit is not applied yet";
            return;
        }
        second = std::thread([&] {
            const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
            write(100, "2nd ");
            core.commit.commit_in_lock();
        });
        while (sections == 1 && !core.latch.is_awaited())
            std::this_thread::yield();
    });
    {
        const storage::DatabaseLock lock(core.locks, "test", true);
        write(100, "1st ");
        core.collector.unspool();
    }
    core.commit.run_cycle();  // the usual path: no global lock while it writes
    second.join();
    EXPECT_EQ(sections, 2);
    EXPECT_EQ(stored(100), "2nd ");
}

// Holds J16.
TEST_F(GroupCommitTest, NothingIsRemappedWhileAWriteIsPending) {
    struct WritingWaiter : storage::CommitWaiter {
        std::function<void()> write;
    } waiter;
    // Between the taking of the job and the remap.
    waiter.write = [this] { write(200, "late"); };
    waiter.done = [](storage::CommitWaiter* waiter) {
        static_cast<WritingWaiter*>(waiter)->write();
    };
    const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
    write(100, "text");
    core.notifier.add(&waiter);
    core.commit.commit_in_lock();
    EXPECT_EQ(stored(100), "text");
    EXPECT_EQ(stored(200), nothing);
    EXPECT_EQ(seen(200), "late") << "no other copy of it exists";
    core.commit.commit_in_lock();
    EXPECT_EQ(stored(200), "late");
}

// Private copies of pages are memory that is freed in no other way. Bytes that were not declared
// are gone with them, which shows that the pages are remapped.
TEST_F(GroupCommitTest, WhatHasBeenWrittenIsRemapped) {
    const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
    write(100, "text");
    std::memcpy(file->view() + 200, "copy", 4);
    core.commit.commit_in_lock();
    EXPECT_EQ(seen(100), "text");
    EXPECT_EQ(seen(200), nothing);
}

// Reports its notification.
struct RecordingWaiter : storage::CommitWaiter {
    explicit RecordingWaiter(std::function<void()> then = [] {}) : when_notified(std::move(then)) {
        done = [](storage::CommitWaiter* waiter) {
            auto* self = static_cast<RecordingWaiter*>(waiter);
            self->is_notified = true;
            self->when_notified();
        };
    }
    std::function<void()> when_notified;
    bool is_notified = false;
};

// Holds J13.
TEST_F(GroupCommitTest, WhoComesDuringACommitWaitsForTheNext) {
    RecordingWaiter early, late;
    disk.set_observer([&](const os::SimFileSystem::Event& event) {
        if (event.call == Call::sync_data && !early.is_notified) core.notifier.add(&late);
    });
    const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
    write(100, "text");
    core.notifier.add(&early);
    core.commit.commit_in_lock();
    EXPECT_TRUE(early.is_notified);
    EXPECT_FALSE(late.is_notified);
    write(200, "more");
    core.commit.commit_in_lock();
    EXPECT_TRUE(late.is_notified);
}

// Holds J5.
TEST_F(GroupCommitTest, ASectionCountsAsAppliedOnlyOnceItIs) {
    uint64_t applied = 0;
    RecordingWaiter waiter([&] { applied = core.journal.flush_started().sequence; });
    const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
    const uint64_t before = core.journal.flush_started().sequence;
    write(100, "text");
    core.notifier.add(&waiter);
    core.commit.commit_in_lock();
    EXPECT_EQ(applied, before) << "notified before the data files have it";
    EXPECT_GT(core.journal.flush_started().sequence, before);
}

TEST_F(GroupCommitTest, WhoWaitsToHoldCommitsCanGiveUp) {
    CommitHold& hold = core.commit.hold();
    hold.acquire();
    sched::Operation operation;
    operation.start();
    operation.kill(operation.id());
    {
        const sched::Operation::Scope scope(&operation);
        EXPECT_THROW(hold.acquire(), base::Error);
    }
    hold.release();
    hold.acquire();
    hold.release();
}

// The latch that the next test asks about while a commit ends the process: does another one find it
// held?
CommitLatch* g_latch = nullptr;
void require_that_no_other_commit_begins(int /*id*/, std::string_view text) {
    if (text.find("exception in groupCommit") == std::string_view::npos) std::_Exit(5);
    static std::atomic<bool> begun{false};
    std::thread([] {
        const std::lock_guard latch(*g_latch);
        begun = true;
    }).detach();
    while (!g_latch->is_awaited() && !begun)
        std::this_thread::yield();
    std::_Exit(begun ? 4 : base::kExitAbrupt);
}

// Holds J18.
TEST_F(GroupCommitTest, ACommitThatCannotRotateEndsTheProcess) {
    const auto rotate = [this] {
        g_latch = &core.latch;
        base::set_fatal_handler(require_that_no_other_commit_begins);
        disk.fail(Call::truncate, "j._0", std::errc::io_error);
        const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
        for (int i = 0; i < 5; ++i) {
            write(100, "text");
            core.commit.commit_in_lock();
        }
        std::_Exit(3);
    };
    EXPECT_EXIT(rotate(), testing::ExitedWithCode(base::kExitAbrupt), "");
}

// Holds J8.
TEST_F(GroupCommitTest, TheLsnFileLetsRecoverySkipNothing) {
    {
        const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
        write(100, "text");
        core.commit.commit_in_lock();
    }
    const uint64_t lsn = uint64_t{1} << 40;  // later than any section
    const journal::LsnFile content{0, 0, lsn, ~lsn, {}};
    const auto lsn_file =
        disk.open("/db/journal/lsn", {.access = os::Access::read_write, .create = true});
    lsn_file->write_at(0, {reinterpret_cast<const uint8_t*>(&content), sizeof content});
    lsn_file->sync();
    disk.sync_directory("/db/journal");
    os::EveryChoice nothing_unsynced_survives;
    const auto after = disk.power_cut(nothing_unsynced_survives, 4096);
    EXPECT_EQ(journal::read_lsn(*after, "/db/journal"), lsn);
    Core again(*after, clock);
    again.recover();
    EXPECT_EQ(text_at(again.image().at("test.0").data(), 100), "text");
}

}  // namespace
}  // namespace mmapv1

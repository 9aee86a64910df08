// Crash-state enumeration: a small history of commits, a flush, rotations and a shutdown runs on
// the simulated disk. Before every call to the disk, states that a power cut could leave there are
// recovered, and each must show the data as of one commit: not older than the last one that was
// acknowledged, not mixed. Journal spec 8.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.h"
#include "base/testing/muted.h"
#include "os/testing/sim_clock.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/commit/testing/core.h"

namespace mmapv1 {
namespace {

constexpr int64_t kFileBytes = 32 * 1024;
constexpr size_t kSectorBytes = 4096;
constexpr size_t kStatesPerPoint = 48;

// Up to `limit` states after a power cut: all of them if they are so few, else a sample.
std::vector<std::unique_ptr<os::SimFileSystem>> states_after_cut(const os::SimFileSystem& files,
                                                                 size_t limit) {
    std::vector<std::unique_ptr<os::SimFileSystem>> states;
    os::EveryChoice all;
    do {
        states.push_back(files.power_cut(all, kSectorBytes));
    } while (all.next() && states.size() <= limit);
    if (states.size() <= limit) return states;
    states.clear();
    for (unsigned seed = 0; seed < limit; ++seed) {
        os::SampledChoices sample(seed);
        states.push_back(files.power_cut(sample, kSectorBytes));
    }
    return states;
}

class CrashStates : public testing::Test {
  protected:
    CrashStates() {
        disk.create_directory("/db");
        disk.sync_directory("/");
        history.push_back({});
    }

    // Each of the states must recover to the data of one commit among those that may be there.
    void check_point(const std::string& where) {
        ++points;
        for (const auto& state : states_after_cut(disk, kStatesPerPoint)) {
            ++states;
            expect_recoverable(*state, where);
            if (testing::Test::HasFailure()) return;
        }
    }
    // A kill between the writing and the syncing of a section, then a cut during the recovery.
    void expect_synced_before_replay(bool first_of_its_file);
    void expect_recoverable(os::SimFileSystem& state, const std::string& where) {
        if (!state.exists("/db")) return;
        os::SimClock clock;
        Core core(state, clock);
        try {
            core.recover();
        } catch (const base::Error& e) {
            FAIL() << where << ": recovery fails: " << e.what();
        }
        const Image found = core.image();
        for (size_t i = acknowledged; i < history.size(); ++i) {
            if (found == history[i]) return;
        }
        ADD_FAILURE() << where << ": the recovered data is none of the commits " << acknowledged
                      << " to " << history.size() - 1;
    }

    void watch() {
        disk.set_observer([this](const os::SimFileSystem::Event& event) {
            if (watching_) return;  // our own reads of the disk
            watching_ = true;
            check_point(fmt::format("call {} on {}", static_cast<int>(event.call), event.path));
            watching_ = false;
        });
    }

    // One commit under W: `change` writes, and the result becomes a possible state.
    void commit(Core& core, const std::function<void(Core&)>& change) {
        const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
        change(core);
        Image image;
        for (const auto& file : core.files.snapshot())
            image[file->path()] = Bytes(file->view(), file->view() + file->length());
        history.push_back(std::move(image));
        struct AcknowledgingWaiter : storage::CommitWaiter {
            CrashStates* test;
        } waiter{};
        waiter.test = this;
        waiter.done = [](storage::CommitWaiter* w) {
            CrashStates& test = *static_cast<AcknowledgingWaiter*>(w)->test;
            test.acknowledged = test.history.size() - 1;
        };
        core.notifier.add(&waiter);
        core.commit.commit_in_lock();
        clock.advance_us(5'000'000);
        EXPECT_EQ(acknowledged, history.size() - 1);
    }
    static void write(Core& core, const std::string& file, size_t offset, char c, size_t bytes) {
        uint8_t* const p = core.files.find(file)->view() + offset;
        core.collector.declare(p, static_cast<uint32_t>(bytes));
        // Does not compress, so that sections are long enough to be torn.
        for (uint32_t i = 0, x = static_cast<uint8_t>(c); i < bytes; ++i)
            p[i] = static_cast<uint8_t>((x = x * 1103515245 + 12345) >> 16);
    }
    // A flush of one file after the other, with a commit in between if `between` is given.
    void flush(Core& core, const std::function<void()>& between = nullptr) {
        const auto mark = core.journal.flush_started();
        bool first = true;
        for (const auto& file : core.files.snapshot()) {
            file->flush(true);
            if (first && between) between();
            first = false;
        }
        core.journal.flush_finished(mark);
    }

    // Thousands of recoveries would log hundreds of thousands of lines.
    const base::MutedLog muted;
    os::SimFileSystem disk;
    os::SimClock clock;
    std::vector<Image> history;  // after each commit
    size_t acknowledged = 0;
    int points = 0, states = 0;

  private:
    bool watching_ = false;
};

// Holds J5, J10.
TEST_F(CrashStates, EveryStateRecoversToACommit) {
    Core core(disk, clock);
    core.recover();
    core.journal.prepare();
    core.files.create_on_disk("test.ns", kFileBytes);
    core.files.create_on_disk("test.0", kFileBytes);
    DurableFile& ns = core.files.open("test.ns", true);
    DurableFile& data = core.files.open("test.0", true);
    // Until the first commit says that the files exist, a cut may leave them or not.
    commit(core, [&](Core& c) {
        c.collector.note_created(ns.path(), ns.length());
        c.collector.note_created(data.path(), data.length());
        write(c, "test.ns", 0, 'n', 100);
        write(c, "test.0", 0, 'd', 6000);
    });
    watch();
    // Rewrites one place again and again, so that a mixture shows; rotates every third commit.
    for (int i = 0; i < 7; ++i) {
        commit(core, [&](Core& c) {
            write(c, "test.0", 4000, static_cast<char>('0' + i), 300);
            write(c, "test.0", static_cast<size_t>(i % 5) * 5000, 'v', 5000);
            write(c, "test.ns", 200, static_cast<char>('0' + i), 8);
        });
        // Commit in the middle of a flush, closing the file: that commit is not covered.
        if (i == 3)
            flush(core,
                  [&] { commit(core, [&](Core& c) { write(c, "test.0", 31000, 'm', 300); }); });
    }
    // Two flushes far enough from the closing of files to let them go.
    for (int i = 0; i < 2; ++i) {
        clock.advance_us(30'000'000);
        flush(core);
        for (int j = 0; j < 3; ++j)
            commit(core,
                   [&](Core& c) { write(c, "test.0", 4100, static_cast<char>('A' + i), 50); });
    }
    EXPECT_FALSE(disk.exists("/db/journal/j._0")) << "the history must remove a journal file";
    flush(core);
    core.files.close_all();
    core.journal.remove_files();
    check_point("after the shutdown");
    EXPECT_GT(points, 60);
    EXPECT_GT(states, 600);
}

// Holds J7.
TEST_F(CrashStates, ACutDuringRecoveryIsFollowedByARecovery) {
    {
        Core core(disk, clock);
        core.recover();
        core.journal.prepare();
        core.files.create_on_disk("test.ns", kFileBytes);
        core.files.open("test.ns", true);
        commit(core, [&](Core& c) {
            c.collector.note_created("test.ns", kFileBytes);
            write(c, "test.ns", 0, 'x', 20000);
        });
        for (int i = 0; i < 6; ++i)
            commit(core, [&](Core& c) {
                write(c, "test.ns", static_cast<size_t>(i) * 3000, static_cast<char>('0' + i),
                      4000);
            });
    }
    // The pages of the data file have partly reached the disk.
    os::SampledChoices some(7);
    disk.write_back(some, kSectorBytes);
    watch();
    Core again(disk, clock);
    again.recover();
    disk.set_observer(nullptr);
    EXPECT_EQ(again.image(), history.back());
    EXPECT_GT(points, 15);
}

void CrashStates::expect_synced_before_replay(bool first_of_its_file) {
    std::unique_ptr<os::SimFileSystem> killed;
    {
        Core core(disk, clock);
        core.recover();
        core.journal.prepare();
        core.files.create_on_disk("test.0", kFileBytes);
        core.files.open("test.0", true);
        commit(core, [&](Core& c) {
            c.collector.note_created("test.0", kFileBytes);
            write(c, "test.0", 0, 'a', 20000);
        });
        // Nothing that the journal still holds repairs what an unsynced section does to the file.
        flush(core);
        core.journal.remove_files();
        // Opens the next file; its header is synced by itself in any case.
        if (!first_of_its_file) commit(core, [&](Core& c) { write(c, "test.0", 30000, 'c', 10); });
        disk.set_observer([&](const os::SimFileSystem::Event& event) {
            if (event.call == os::SimFileSystem::Call::sync_data && !killed &&
                disk.file_length(event.path) > journal::kFileHeaderBytes)
                killed = disk.process_kill();
        });
        commit(core, [&](Core& c) { write(c, "test.0", 8000, 'b', 20000); });
        disk.set_observer(nullptr);
    }
    ASSERT_NE(killed, nullptr);
    acknowledged = first_of_its_file ? 1 : 2;  // by the time of the kill
    // Power is cut while the next process recovers.
    killed->set_observer([&, busy = false](const os::SimFileSystem::Event& event) mutable {
        if (busy || HasFailure()) return;
        busy = true;
        ++points;
        for (const auto& state : states_after_cut(*killed, kStatesPerPoint))
            expect_recoverable(
                *state, fmt::format("call {} on {}", static_cast<int>(event.call), event.path));
        busy = false;
    });
    Core again(*killed, clock);
    again.recover();
    killed->set_observer(nullptr);
    EXPECT_EQ(again.image(), history.back());
    EXPECT_GT(points, 8);
}

// Holds J10.
TEST_F(CrashStates, WhatAKilledProcessDidNotSyncIsSyncedBeforeItIsReplayed) {
    expect_synced_before_replay(false);
}

TEST_F(CrashStates, AnUnsyncedSectionIsSyncedBeforeItIsReplayedAlsoAsTheFirst) {
    expect_synced_before_replay(true);
}

// Holds J13.
TEST_F(CrashStates, AKilledProcessLosesNothingAcknowledged) {
    Core core(disk, clock);
    core.recover();
    core.journal.prepare();
    core.files.create_on_disk("test.0", kFileBytes);
    core.files.open("test.0", true);
    disk.set_observer([&, busy = false](const os::SimFileSystem::Event&) mutable {
        if (busy || acknowledged == 0) return;
        busy = true;
        expect_recoverable(*disk.process_kill(), "kill");
        ++points;
        busy = false;
    });
    for (int i = 0; i < 7; ++i)
        commit(core, [&](Core& c) {
            if (i == 0) c.collector.note_created("test.0", kFileBytes);
            write(c, "test.0", static_cast<size_t>(i) * 1000, static_cast<char>('0' + i), 3000);
        });
    EXPECT_GT(points, 20);
}

}  // namespace
}  // namespace mmapv1

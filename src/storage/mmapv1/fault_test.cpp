// Each call to the disk fails once, in each way it can fail, during commits, rotation, flushes,
// removal, closing, and during a recovery; then the power is cut, or the process is killed. Every
// state that this can leave must recover to a commit that is not older than the last one
// acknowledged.

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>

#include "base/error.h"
#include "base/testing/muted.h"
#include "os/testing/failing_file_system.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/commit/testing/core.h"

namespace mmapv1 {
namespace {

constexpr int64_t kFileBytes = 16 * 1024;
constexpr size_t kSectorBytes = 4096;
constexpr unsigned kCuts = 8;

struct Died {};
[[noreturn]] void die(int, std::string_view) {
    throw Died{};
}

// One run over a disk of its own.
struct Life {
    Life() {
        disk.create_directory("/db");
        disk.sync_directory("/");
        disk.create_directory("/db/journal");
        disk.sync_directory("/db");
        history.push_back({});
    }
    // Spare files, so that files of the journal are used again.
    void add_spare_files() {
        for (const char* name : {"prealloc.0", "prealloc.1", "prealloc.2"}) {
            const auto file = disk.open(os::join("/db/journal", name),
                                        {.access = os::Access::read_write, .create = true});
            file->write_at(0, Bytes(6 * 8192, 'x'));
            file->sync();
        }
        disk.sync_directory("/db/journal");
    }

    void commit(Core& core, const std::function<void()>& change) {
        const storage::GlobalLock lock(core.locks, storage::GlobalMode::W);
        change();
        Image image;
        for (const auto& file : core.files.snapshot())
            image[file->path()] = Bytes(file->view(), file->view() + file->length());
        history.push_back(std::move(image));
        struct AcknowledgingWaiter : storage::CommitWaiter {
            Life* run;
        } waiter{};
        waiter.run = this;
        waiter.done = [](storage::CommitWaiter* told) {
            Life& run = *static_cast<AcknowledgingWaiter*>(told)->run;
            run.acknowledged = run.history.size() - 1;
        };
        core.notifier.add(&waiter);
        core.commit.commit_in_lock();
        clock.advance_us(5'000'000);
    }
    static void write(Core& core, const std::string& name, size_t offset, int seed, size_t bytes) {
        uint8_t* const p = core.files.find(name)->view() + offset;
        core.collector.declare(p, static_cast<uint32_t>(bytes));
        for (uint32_t i = 0, x = static_cast<uint32_t>(seed); i < bytes; ++i)
            p[i] = static_cast<uint8_t>((x = x * 1103515245 + 12345) >> 16);
    }
    static void flush(Core& core) {
        const auto mark = core.journal.flush_started();
        for (const auto& file : core.files.snapshot())
            file->flush(true);
        core.journal.flush_finished(mark);
    }
    // A client gets an error and tries again; everything else goes on as before.
    template <typename Work>
    void until_done(Work work) {
        try {
            work();
        } catch (const base::Error&) {
            ++errors_told;
            work();
        }
    }

    // Everything that a server does to the disk. Throws Died, or base::Error where a start fails.
    void live(os::FileSystem& files) {
        Core core(files, clock);
        core.recover();
        core.journal.prepare();
        until_done([&] { core.files.create_on_disk("test.0", kFileBytes); });
        until_done([&] { core.files.open("test.0", true); });
        commit(core, [&] {
            core.collector.note_created("test.0", kFileBytes);
            write(core, "test.0", 0, 1, 9000);
        });
        int seed = 1;
        const auto commits = [&](int count) {
            for (int i = 0; i < count; ++i, ++seed)
                commit(core, [&] {
                    write(core, "test.0", 4000, seed, 300);
                    write(core, "test.0", static_cast<size_t>(seed % 3) * 5000, seed, 3000);
                });
        };
        commits(4);
        // Files of the journal become spare ones, and are used again.
        for (int i = 0; i < 2; ++i) {
            clock.advance_us(30'000'000);
            flush(core);
            commits(4);
        }
        // Flushes and removes the journal as dropDatabase does.
        until_done([&] {
            flush(core);
            core.journal.remove_files();
        });
        commits(2);
        until_done([&] { core.files.create_on_disk("test.1", kFileBytes); });
        until_done([&] { core.files.open("test.1", true); });
        commit(core, [&] {
            core.collector.note_created("test.1", kFileBytes);
            write(core, "test.1", 100, seed, 5000);
        });
        commits(3);
        // Ends as a shutdown does.
        flush(core);
        core.files.close_all();
        core.journal.remove_files();
    }

    // Which states are possible now, and whether each recovers.
    void check(os::SimFileSystem& files, const std::string& where) {
        for (unsigned seed = 0; seed < kCuts; ++seed) {
            os::SampledChoices choices(seed);
            expect_recoverable(*files.power_cut(choices, kSectorBytes),
                               fmt::format("{}, power cut {}", where, seed));
        }
        expect_recoverable(*files.process_kill(), where + ", killed");
    }
    void expect_recoverable(os::SimFileSystem& state, const std::string& where) {
        ++states;
        if (testing::Test::HasFailure()) return;
        Core core(state, clock);
        try {
            core.recover();
        } catch (const base::Error& e) {
            ADD_FAILURE() << where << ": recovery fails: " << e.what();
            return;
        }
        const Image found = core.image();
        for (size_t i = acknowledged; i < history.size(); ++i)
            if (found == with_empty_files(history[i], found)) return;
        ADD_FAILURE() << where << ": the data is of none of the commits " << acknowledged << " to "
                      << history.size() - 1;
    }
    // A file that no commit has named yet may be there or not.
    static Image with_empty_files(Image image, const Image& found) {
        for (const auto& [name, bytes] : found)
            if (bytes == Bytes(kFileBytes)) image.try_emplace(name, bytes);
        return image;
    }

    os::SimFileSystem disk;
    os::SimClock clock;
    std::vector<Image> history;  // after each commit
    size_t acknowledged = 0;
    int errors_told = 0;
    int states = 0;
};

class DiskFaults : public testing::TestWithParam<bool> {
  protected:
    // Calls `one` for every way in which every one of those calls can fail.
    template <typename One>
    void for_each_fault(const std::vector<os::FailingFileSystem::Kind>& calls, One one) {
        for (size_t i = 0; i < calls.size() && !HasFailure(); ++i)
            for (const std::errc reason : os::FailingFileSystem::reasons(calls[i]))
                one(static_cast<int64_t>(i + 1), reason);
    }
    std::string where(const os::FailingFileSystem& files, int64_t call, std::errc reason) {
        return fmt::format("call {}, {}: {}", call, files.failed_call(),
                           std::make_error_code(reason).message());
    }
    void report() {
        std::cout << faults << " faults: " << died << " ended the process, " << refused
                  << " the start, " << told << " were reported; " << states << " states"
                  << std::endl;
        EXPECT_GT(faults, 100);
    }

    const base::MutedLog muted;
    const base::FatalScope dying{die};
    int faults = 0, died = 0, refused = 0, told = 0, states = 0;
};

// Holds J1, J18.
TEST_P(DiskFaults, EveryCallOfALifeFailsOnce) {
    std::vector<os::FailingFileSystem::Kind> calls;
    {
        Life run;
        if (GetParam()) run.add_spare_files();
        os::FailingFileSystem files(run.disk);
        files.arm(0);
        run.live(files);
        calls = files.calls();
        EXPECT_EQ(run.acknowledged, run.history.size() - 1);
    }
    for_each_fault(calls, [&](int64_t call, std::errc reason) {
        Life run;
        if (GetParam()) run.add_spare_files();
        os::FailingFileSystem files(run.disk);
        files.arm(call, reason);
        ++faults;
        bool ended = true;
        try {
            run.live(files);
            ended = false;
            told += run.errors_told > 0;
        } catch (const Died&) {
            ++died;
        } catch (const base::Error&) {
            ++refused;
        }
        if (!ended) {
            EXPECT_EQ(run.acknowledged, run.history.size() - 1);
        }
        run.check(run.disk, where(files, call, reason));
        states += run.states;
    });
    report();
    EXPECT_GT(died, 50);
}

// A page of a data file that the device does not give, or has no room for, ends the process by a
// signal, in the middle of a commit that has been acknowledged.
TEST_P(DiskFaults, EveryStoreEndsALifeOnce) {
    int stores = 0;
    {
        Life run;
        if (GetParam()) run.add_spare_files();
        run.disk.set_observer([&](const os::SimFileSystem::Event& event) {
            stores += event.call == os::SimFileSystem::Call::store;
        });
        run.live(run.disk);
        run.disk.set_observer(nullptr);
    }
    EXPECT_GT(stores, 30);
    for (int store = 0; store < stores && !HasFailure(); ++store) {
        Life run;
        if (GetParam()) run.add_spare_files();
        run.disk.end_at_store("", store, [] { die(0, "SIGBUS"); });
        EXPECT_THROW(run.live(run.disk), Died) << store;
        run.check(run.disk, fmt::format("store {}", store));
        states += run.states;
    }
    std::cout << stores << " stores; " << states << " states" << std::endl;
}

// Holds J7.
TEST_P(DiskFaults, EveryCallOfARecoveryFailsOnce) {
    // A process that has been killed while it wrote its last section.
    Life first;
    if (GetParam()) first.add_spare_files();
    std::unique_ptr<os::SimFileSystem> killed;
    {
        os::FailingFileSystem files(first.disk);
        files.arm(0);
        int64_t appends = 0;
        first.disk.set_observer([&](const os::SimFileSystem::Event& event) {
            const bool appended = event.call == os::SimFileSystem::Call::sync_data;
            if (appended && ++appends == 14) killed = first.disk.process_kill();
            if (killed != nullptr) die(0, "");
        });
        EXPECT_THROW(first.live(files), Died);
        first.disk.set_observer(nullptr);
    }
    ASSERT_NE(killed, nullptr);
    std::vector<os::FailingFileSystem::Kind> calls;
    {
        const auto disk = killed->process_kill();
        os::FailingFileSystem files(*disk);
        files.arm(0);
        Core(files, first.clock).recover();
        calls = files.calls();
    }
    for_each_fault(calls, [&](int64_t call, std::errc reason) {
        const auto disk = killed->process_kill();
        os::FailingFileSystem files(*disk);
        files.arm(call, reason);
        ++faults;
        try {
            Core(files, first.clock).recover();
            ++told;
        } catch (const Died&) {
            ++died;
        } catch (const base::Error&) {
            ++refused;
        }
        first.check(*disk, where(files, call, reason));
    });
    states = first.states;
    std::cout << faults << " faults in a recovery: " << died << " ended the process, " << refused
              << " the start, " << told << " did no harm; " << states << " states" << std::endl;
    EXPECT_GT(faults, 30);
}

INSTANTIATE_TEST_SUITE_P(Preallocation, DiskFaults, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "On" : "Off"); });

}  // namespace
}  // namespace mmapv1

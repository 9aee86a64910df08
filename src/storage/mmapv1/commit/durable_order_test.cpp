// Tests on the simulated disk which writes have to be on the device before something else happens.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.h"
#include "journal/journal.h"
#include "os/testing/sim_clock.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/commit/durable.h"

namespace mmapv1 {
namespace {

using Call = os::SimFileSystem::Call;

constexpr size_t kAt = 4000;

// A Durable without its threads: the thread that wants a commit makes it.
class DurableOrder : public testing::Test {
  protected:
    DurableOrder() {
        disk.create_directory("/db");
        disk.sync_directory("/");
    }
    ~DurableOrder() override { disk.set_observer(nullptr); }

    std::unique_ptr<Durable> make(bool journal = true) {
        auto durable = std::make_unique<Durable>(
            DurableOptions{.dbpath = "/db", .journal = journal, .journal_options = kNoCheckSpace},
            locks, disk, clock);
        durable->claim_journal();
        durable->recover();
        return durable;
    }
    MappedFile& create(Durable& durable) {
        const storage::DatabaseLock lock(locks, "test", true);
        MappedFile& file = durable.views().create("test.0", 8192);
        durable.views().note_created(file);
        return file;
    }
    void write(Durable& durable, MappedFile& file, std::string_view text) {
        const storage::DatabaseLock lock(locks, "test", true);
        durable.views().write(file.view() + kAt, text.data(), text.size());
    }
    std::unique_ptr<os::SimFileSystem> after_a_cut() {
        os::EveryChoice nothing_unsynced_survives;
        return disk.power_cut(nothing_unsynced_survives, 512);
    }
    std::string on_the_device() {
        const auto after = after_a_cut();
        if (!after->exists("/db/test.0")) return "no file";
        std::string text(4, '?');
        after->open("/db/test.0", {})
            ->read_at(kAt, {reinterpret_cast<uint8_t*>(text.data()), text.size()});
        return text;
    }
    // Whenever a journal file is about to go, the data file must have it.
    void expect_kept_until(const std::string& text) {
        disk.set_observer([this, text](const os::SimFileSystem::Event& event) {
            const bool goes = event.call == Call::remove || event.call == Call::rename;
            if (!goes || !os::base_name(event.path).starts_with("j._")) return;
            ++removals;
            EXPECT_EQ(on_the_device(), text);
        });
    }

    os::SimFileSystem disk;
    os::SimClock clock;
    storage::LockManager locks;
    int removals = 0;
};

// Holds J5.
TEST_F(DurableOrder, TruncatingKeepsTheJournalUntilTheDataIsOnTheDevice) {
    const auto durable = make();
    MappedFile& file = create(*durable);
    {
        const storage::GlobalLock lock(locks, storage::GlobalMode::W);
        durable->commit_now();
    }
    write(*durable, file, "kept");
    expect_kept_until("kept");
    const storage::GlobalLock lock(locks, storage::GlobalMode::W);
    durable->sync_and_truncate_journal();
    EXPECT_EQ(removals, 1);
}

TEST_F(DurableOrder, TruncatingWithoutAJournalLeavesTheDataOnTheDevice) {
    const auto durable = make(false);
    write(*durable, create(*durable), "kept");
    const storage::GlobalLock lock(locks, storage::GlobalMode::W);
    durable->sync_and_truncate_journal();
    EXPECT_EQ(on_the_device(), "kept");
}

// Holds J5.
TEST_F(DurableOrder, AShutdownKeepsTheJournalUntilTheDataIsOnTheDevice) {
    const auto durable = make();
    MappedFile& file = create(*durable);
    {
        const storage::GlobalLock lock(locks, storage::GlobalMode::W);
        durable->commit_now();
    }
    write(*durable, file, "kept");
    expect_kept_until("kept");
    durable->shutdown();
    EXPECT_EQ(removals, 1);
    EXPECT_EQ(on_the_device(), "kept");
}

// Holds J9.
TEST_F(DurableOrder, TheMarkOfAJournalIsGoneForGood) {
    make();
    ASSERT_TRUE(journal::was_in_use(*after_a_cut(), "/db/journal"));
    const auto durable = make(false);
    EXPECT_FALSE(journal::was_in_use(*after_a_cut(), "/db/journal"));
}

// Holds J15.
TEST_F(DurableOrder, ANewFileIsOnTheDeviceBeforeItHasItsName) {
    const auto durable = make();
    disk.clear_events();
    create(*durable);
    std::vector<Call> calls;
    for (const auto& event : disk.events()) {
        const bool of_the_file = event.path == "/db/_tmp/1";
        if (of_the_file || (event.call == Call::sync_directory && event.path == "/db"))
            calls.push_back(event.call);
    }
    EXPECT_EQ(calls, (std::vector<Call>{Call::open, Call::allocate, Call::sync, Call::rename,
                                        Call::sync_directory}));
    EXPECT_EQ(on_the_device(), std::string(4, '\0'));
}

TEST_F(DurableOrder, AFileThatCannotBeMadeLeavesNoPiece) {
    const auto durable = make();
    for (const Call call : {Call::allocate, Call::sync}) {
        disk.fail(call, "_tmp/" + std::to_string(call == Call::sync ? 2 : 1),
                  std::errc::no_space_on_device);
        EXPECT_THROW(create(*durable), base::Error);
        EXPECT_TRUE(disk.list("/db/_tmp").empty());
        EXPECT_FALSE(disk.exists("/db/test.0"));
    }
    create(*durable);
}

}  // namespace
}  // namespace mmapv1

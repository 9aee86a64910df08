// A server that was killed, or stopped, on a full disk starts again: what it needs is there.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/testing/muted.h"
#include "crash/testing/small_server.h"
#include "os/testing/sim_file_system.h"

namespace crash {
namespace {

class FullDiskStart : public testing::Test {
  protected:
    FullDiskStart() { disk_->create_directory("/db"); }

    std::unique_ptr<EngineServer> start() {
        mmapv1::EngineOptions options = mmapv1::small_engine_options("/db");
        options.durable.journal_options = 0;  // the space is looked at
        options.durable.journal_file_bytes = 1 << 20;
        options.durable.no_prealloc_journal = true;
        return std::make_unique<EngineServer>(mmapv1::open_engine(options, *disk_, clock_));
    }
    // 0, or the code of what it is refused with.
    int refusal_of_start() {
        try {
            start()->stop();
        } catch (const base::Error& error) {
            return error.code();
        }
        return 0;
    }
    // Into the journal.
    static void insert(EngineServer& server, int id) {
        const bson::Object reply =
            server.run(fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}}}]}})", id));
        ASSERT_EQ(reply["n"].to_int64(), 1) << bson::to_text(reply);
        const storage::GlobalLock lock(server.engine().locks(), storage::GlobalMode::W);
        server.engine().durability().commit_now();
    }
    static int64_t count(EngineServer& server) {
        return server.run(R"({"count": "c"})")["n"].to_int64();
    }
    // One document in the data files.
    void make_data() {
        const auto server = start();
        insert(*server, 1);
        server->stop();
    }
    // And one in the journal.
    void make_journal() {
        make_data();
        const auto server = start();
        insert(*server, 2);
        auto killed = disk_->process_kill();
        server->stop();
        disk_ = std::move(killed);
    }
    void fill() { disk_->set_full(true); }

    const base::MutedLog muted_;
    SleepyClock clock_;
    std::unique_ptr<os::SimFileSystem> disk_ = std::make_unique<os::SimFileSystem>();
};

TEST_F(FullDiskStart, RecoversTheJournalAfterAKill) {
    make_journal();
    fill();
    const auto next = start();
    EXPECT_EQ(count(*next), 2);
    insert(*next, 3);
    next->stop();
}

// A start takes a while, and may be killed itself.
TEST_F(FullDiskStart, IsKilledAtEachCallAndStartsAgain) {
    make_journal();
    fill();
    std::vector<std::unique_ptr<os::SimFileSystem>> killed;
    disk_->set_observer(
        [&](const os::SimFileSystem::Event&) { killed.push_back(disk_->process_kill()); });
    const auto second = start();
    disk_->set_observer(nullptr);
    second->stop();
    EXPECT_GT(killed.size(), 20u);
    for (size_t call = 0; call < killed.size(); ++call) {
        SCOPED_TRACE(call);
        disk_ = std::move(killed[call]);
        fill();
        const auto next = start();
        EXPECT_EQ(count(*next), 2);
        next->stop();
    }
}

// The files that it would make in advance are there.
TEST_F(FullDiskStart, GoesOnWithTheFilesThatACleanStopHasLeft) {
    make_data();
    for (const char* name : {"/db/journal/prealloc.0", "/db/journal/prealloc.1"}) {
        const auto file = disk_->open(name, {.access = os::Access::read_write, .create = true});
        file->write_at((1 << 20) - 1, std::vector<uint8_t>(1));
    }
    start()->stop();  // makes the third one
    fill();
    const auto server = start();
    EXPECT_EQ(count(*server), 1);
    insert(*server, 2);
    server->stop();
}

TEST_F(FullDiskStart, IsRefusedWhereNoJournalIsToBeRecovered) {
    make_data();
    disk_->set_free_bytes((1 << 20) * 33 / 10 - 1);
    // However often: a refusal is no unclean end.
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(refusal_of_start(), 15926);
    disk_->set_free_bytes((1 << 20) * 33 / 10);
    EXPECT_EQ(refusal_of_start(), 0);
}

}  // namespace
}  // namespace crash

// A database that cannot be opened because a call to the system fails is opened by its next use:
// nothing is wrong with it, without a restart of the server.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "base/testing/muted.h"
#include "crash/testing/small_server.h"
#include "os/testing/sim_file_system.h"
#include "sched/testing/failing_memory.h"

namespace crash {
namespace {

using Call = os::SimFileSystem::Call;
using Names = std::vector<std::string>;

class OpenAgainTest : public testing::Test {
  protected:
    OpenAgainTest() {
        disk_.create_directory("/db");
        start();
        for (const char* db : {"d", "e"})
            EXPECT_EQ(server_->perform(db, R"({"insert": "c", "documents": [{"_id": 1}]})"), 0);
        // Goes away with the next start, and only then.
        EXPECT_EQ(server_->perform("d", R"({"create": "passing", "temp": true})"), 0);
    }

    void start() { server_.emplace("/db", disk_, false); }
    void fail(Call call, const char* path_end) {
        disk_.fail(call, path_end, std::errc::too_many_files_open);
    }
    void close_all() { EXPECT_EQ(server_->perform("admin", R"({"closeAllDatabases": 1})"), 0); }
    Names unusable() { return server_->engine().unusable_databases(); }
    int64_t count(const std::string& db) {
        return server_->run(R"({"count": "c"})", db)["n"].to_int64();
    }
    bool has_temporary() {
        const bson::Object reply =
            server_->run(R"({"listCollections": 1, "filter": {"name": "passing"}})", "d");
        return !reply["cursor"].as_doc()["firstBatch"].as_doc().empty();
    }

    const base::MutedLog muted_;
    os::SimFileSystem disk_;
    std::optional<SmallServer> server_;
};

TEST_F(OpenAgainTest, ItsNextUseOpensIt) {
    const std::function<void()> uses[] = {
        [&] { EXPECT_EQ(count("d"), 1); },
        [&] { EXPECT_EQ(server_->query("d.c", "{}", 0).size(), 1u); },
        [&] { server_->insert_old("d.old", {R"({"_id": 2})"}); },
        [&] { server_->update_old("d.old", R"({"_id": 2})", R"({"_id": 2, "a": 1})"); },
        [&] { server_->delete_old("d.old", R"({"_id": 2})"); },
        [&] {
            EXPECT_EQ(server_->perform("d", R"({"update": "c", "updates": [{"q": {"_id": 1},
                                               "u": {"$set": {"a": 1}}}]})"),
                      0);
        },
        [&] {
            for (const char* command : {R"({"renameCollection": "d.c", "to": "d.other"})",
                                        R"({"renameCollection": "d.other", "to": "d.c"})"})
                EXPECT_EQ(server_->perform("admin", command), 0);
        },
        [&] {
            EXPECT_EQ(server_->perform("admin", R"({"renameCollection": "e.c", "to": "d.moved"})"),
                      0);
            EXPECT_EQ(server_->perform("admin", R"({"renameCollection": "d.moved", "to": "e.c"})"),
                      0);
        },
        [&] { EXPECT_TRUE(has_temporary()); },
    };
    for (const auto& use : uses) {
        for (const Call call : {Call::open, Call::map}) {
            for (const char* file : {"/d.ns", "/d.0"}) {
                fail(call, file);
                close_all();
                ASSERT_EQ(unusable(), Names{"d"});
                EXPECT_EQ(count("e"), 1);
                ASSERT_EQ(unusable(), Names{"d"});
                use();
                EXPECT_EQ(unusable(), Names{});
                EXPECT_EQ(count("d"), 1);
            }
        }
    }
    EXPECT_EQ(server_->damage(), "");
    EXPECT_TRUE(has_temporary());
}

TEST_F(OpenAgainTest, ItIsTriedAsOftenAsItIsUsed) {
    for (int i = 0; i < 3; ++i)
        fail(Call::open, "/d.0");
    close_all();
    const bson::Object reply = server_->run(R"({"count": "c"})", "d");
    EXPECT_NE(reply["errmsg"].as_string().find("database d cannot be opened: call of /db/d.0"),
              std::string_view::npos)
        << bson::to_json(reply);
    EXPECT_NE(server_->perform("d", R"({"create": "x"})"), 0);
    EXPECT_EQ(server_->perform("d", R"({"create": "x"})"), 0);
    EXPECT_EQ(count("d"), 1);
}

// An error that ends the operation that opens the database (its memory, its time) says nothing
// about the database, which stays known: as an unknown one it would be made anew.
TEST_F(OpenAgainTest, TheEndOfAnOperationIsNoFaultOfTheDatabase) {
    int64_t failures = 0;
    for (int64_t nth = 1;; ++nth) {
        fail(Call::open, "/d.0");
        close_all();
        ASSERT_EQ(unusable(), Names{"d"});
        sched::test::fail_allocation(nth);
        server_->perform("d", R"({"create": "made"})");
        const bool failed = sched::test::fail_allocation(0);
        ASSERT_EQ(server_->perform("d", R"({"insert": "other", "documents": [{}]})"), 0) << nth;
        ASSERT_EQ(count("d"), 1) << nth;
        if (!failed) break;
        ++failures;
    }
    EXPECT_GT(failures, 10);
    EXPECT_EQ(server_->damage(), "");
}

// With all that a start does.
TEST_F(OpenAgainTest, OneThatCouldNotBeOpenedByAStart) {
    server_->stop();
    server_.reset();
    fail(Call::open, "/d.0");
    start();
    ASSERT_EQ(unusable(), Names{"d"});
    EXPECT_EQ(count("e"), 1);
    EXPECT_EQ(count("d"), 1);
    EXPECT_FALSE(has_temporary());
}

TEST_F(OpenAgainTest, NoRequestWaitsForItWhileFsyncHasTheLock) {
    fail(Call::open, "/d.0");
    close_all();
    EXPECT_EQ(server_->perform("admin", R"({"fsync": 1, "lock": true})"), 0);
    EXPECT_NE(server_->perform("d", R"({"count": "c"})"), 0);
    EXPECT_EQ(count("e"), 1);
    EXPECT_EQ(server_->perform("admin", R"({"fsyncUnlock": 1})"), 0);
    EXPECT_EQ(count("d"), 1);
}

// Looking again would not help.
TEST_F(OpenAgainTest, DamageIsNotLookedAtAgain) {
    server_->stop();
    server_.reset();
    {
        const auto file = disk_.open("/db/d.0", {.access = os::Access::read_write});
        const uint8_t version[4] = {9};
        file->write_at(0, version);
    }
    start();
    ASSERT_EQ(unusable(), Names{"d"});
    disk_.clear_events();
    EXPECT_NE(server_->perform("d", R"({"count": "c"})"), 0);
    EXPECT_EQ(unusable(), Names{"d"});
    for (const os::SimFileSystem::Event& event : disk_.events())
        EXPECT_FALSE(event.path.starts_with("/db/d.")) << event.path;
}

}  // namespace
}  // namespace crash

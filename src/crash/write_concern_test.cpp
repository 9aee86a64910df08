// A write whose concern promises it is on the device when the reply comes, with a journal and
// without.
#include <memory>

#include "crash/testing/sim_disk.h"

namespace crash {
namespace {

class WriteConcernTest : protected SimDisk,
                         public command::ServiceTest,
                         public testing::WithParamInterface<bool> {
  protected:
    WriteConcernTest() : command::ServiceTest([this] { return make_engine(); }) {}

    std::unique_ptr<storage::Engine> make_engine() {
        mmapv1::EngineOptions options = small_options();
        options.durable.journal = GetParam();
        return mmapv1::open_engine(options, disk, os::system_clock());
    }
    // How often something became durable: of a data file, or of the journal.
    size_t syncs(os::SimFileSystem::Call call, std::string_view path) {
        size_t count = 0;
        for (const auto& event : disk.events())
            count += event.call == call && event.path.starts_with(path);
        return count;
    }
    void expect_durable(const std::string& command) {
        SCOPED_TRACE(command);
        ASSERT_EQ(code(run(R"({"insert": "c", "documents": [{}]})")), 0);
        disk.clear_events();
        ASSERT_EQ(code(run(command)), 0);
        if (GetParam()) {
            EXPECT_GE(syncs(os::SimFileSystem::Call::sync_data, "/db/journal/j._"), 1u);
        } else {
            EXPECT_GE(syncs(os::SimFileSystem::Call::sync_mapping, "/db/test.0"), 1u);
            EXPECT_GE(syncs(os::SimFileSystem::Call::sync_mapping, "/db/test.ns"), 1u);
        }
    }
};

TEST_P(WriteConcernTest, FsyncHoldsForEveryCommandThatWrites) {
    ASSERT_EQ(code(run(R"({"create": "c"})")), 0);
    const std::string concern = R"("writeConcern": {"fsync": true}})";
    for (const char* command : {
             R"({"insert": "c", "documents": [{"_id": 1}], )",
             R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}], )",
             R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}], )",
             R"({"findAndModify": "c", "query": {"_id": 2}, "update": {"a": 2}, "upsert": true, )",
             R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}], )",
             R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}, )",
             R"({"aggregate": "c", "pipeline": [{"$merge": "f"}], "cursor": {}, )",
             R"({"create": "e", )",
             R"({"drop": "e", )",
         })
        expect_durable(command + concern);
}

// The reply counts it, so it is acknowledged.
TEST_P(WriteConcernTest, WhatABatchHasDoneBeforeItsErrorIsDurable) {
    ASSERT_EQ(code(run(R"({"create": "c"})")), 0);
    const auto expect_part = [this](const std::string& fields) {
        for (const char* ordered : {"true", "false"}) {
            const std::string command = fmt::format(
                R"({{{}, "ordered": {}, "writeConcern": {{"fsync": true}}}})", fields, ordered);
            expect_durable(command);
        }
    };
    expect_part(R"("insert": "c", "documents": [{"a": 1}, {"_id": 1}, {"_id": 1}])");
    expect_part(R"("update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"a": 1}}},
                                              {"q": {"_id": 1}, "u": {"$no": {"a": 1}}}])");
    expect_part(R"("delete": "c", "deletes": [{"q": {"a": 1}, "limit": 1},
                                              {"q": {"a": {"$no": 1}}, "limit": 1}])");
}

TEST_P(WriteConcernTest, TheCommandFsyncFlushes) {
    ASSERT_EQ(code(run(R"({"insert": "c", "documents": [{"_id": 1, "a": "in the data file"}]})")),
              0);
    ASSERT_EQ(code(run(R"({"fsync": 1})", "admin")), 0);
    // The files on the device now are read, whatever the journal has.
    disk.sync_directory("/");
    os::EveryChoice nothing_unsynced_survives;
    const auto after = disk.power_cut(nothing_unsynced_survives, 4096);
    std::string data(after->file_length("/db/test.0"), '?');
    after->open("/db/test.0", {})
        ->read_at(0, {reinterpret_cast<uint8_t*>(data.data()), data.size()});
    EXPECT_NE(data.find("in the data file"), std::string::npos);
}

TEST_P(WriteConcernTest, AskingForTheLastErrorWithFsyncFlushes) {
    ASSERT_EQ(code(run(R"({"create": "c"})")), 0);
    insert_old("test.c", {R"({"_id": 1})"});
    disk.clear_events();
    EXPECT_EQ(code(run_old(R"({"getLastError": 1, "fsync": true})")), 0);
    if (GetParam()) {
        EXPECT_GE(syncs(os::SimFileSystem::Call::sync_data, "/db/journal/j._"), 1u);
    } else {
        EXPECT_GE(syncs(os::SimFileSystem::Call::sync_mapping, "/db/test.0"), 1u);
    }
}

TEST_P(WriteConcernTest, WithoutAConcernNothingIsFlushed) {
    if (GetParam()) GTEST_SKIP() << "the journal commits by itself";
    ASSERT_EQ(code(run(R"({"create": "c"})")), 0);
    disk.clear_events();
    ASSERT_EQ(code(run(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 1}})")), 0);
    EXPECT_EQ(syncs(os::SimFileSystem::Call::sync_mapping, "/db"), 0u);
}

TEST_P(WriteConcernTest, OutChecksItsConcernBeforeItWrites) {
    ASSERT_EQ(code(run(R"({"insert": "c", "documents": [{}]})")), 0);
    const auto out = [this](const std::string& concern) {
        return code(run(R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {},
                            "writeConcern": )" +
                        concern + "}"));
    };
    EXPECT_EQ(out(R"({"w": 2})"), base::kBadValue);
    EXPECT_EQ(out(R"({"w": "elsewhere"})"), base::kBadValue);
    EXPECT_EQ(run(R"({"count": "d"})")["n"].to_int64(), 0);
    EXPECT_EQ(out(R"({"j": true})"), GetParam() ? 0 : base::kBadValue);
    EXPECT_EQ(run(R"({"count": "d"})")["n"].to_int64(), GetParam() ? 1 : 0);
    EXPECT_EQ(out(R"({"w": 1})"), 0);
    EXPECT_EQ(run(R"({"count": "d"})")["n"].to_int64(), 1);
    // A pipeline that only reads has nothing to be concerned about.
    EXPECT_EQ(code(run(R"({"aggregate": "c", "pipeline": [], "cursor": {},
                           "writeConcern": {"w": 2}})")),
              0);
}

INSTANTIATE_TEST_SUITE_P(Journal, WriteConcernTest, testing::Bool(), [](const auto& info) {
    return std::string(info.param ? "With" : "Without");
});

}  // namespace
}  // namespace crash

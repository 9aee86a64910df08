// The log of a master, and of a member of a set: in every state that a kill or a power cut leaves,
// the documents are what its entries make of nothing, and what clients may send again is known
// exactly where it has been done. Rule R1 (catalog/change_log.h).
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>

#include "base/testing/effort.h"
#include "base/testing/muted.h"
#include "command/commands/testing/follower.h"
#include "crash/testing/random.h"
#include "crash/testing/small_server.h"
#include "os/testing/sim_file_system.h"

namespace crash {
namespace {

constexpr int64_t kLogBytes = 24 << 20;  // it does not go round
constexpr size_t kSectorBytes = 512;

class OplogStates : public testing::TestWithParam<oplog::Form> {
  protected:
    OplogStates() {
        disk_.create_directory("/db");
        disk_.keep_no_events();
        server_ = std::make_unique<SmallServer>("/db", disk_, false, log());
        server_->commit();
    }
    static KeptLog log() { return {kLogBytes, GetParam()}; }
    // A set does so once, before its first write.
    void initiate() {
        if (GetParam() == oplog::Form::master) return;
        EXPECT_EQ(server_->perform("admin", R"({"replSetInitiate": {}})"), 0);
    }
    ~OplogStates() override {
        disk_.set_observer({});
        if (server_ != nullptr) server_->stop();
    }

    // From now on every call to the disk, but so many of them, is followed by a look at what a stop
    // there would leave.
    void watch(int every) {
        disk_.set_observer([this, every](const os::SimFileSystem::Event& event) {
            if (event.call == os::SimFileSystem::Call::read || ++calls_ % every != 0) return;
            killed_.push_back(disk_.process_kill());
            const int percent = static_cast<int>(random_.below(5)) * 25;
            SomeSurvives choices(random_.next(), percent);
            cut_.push_back(disk_.power_cut(choices, kSectorBytes));
        });
    }
    void examine() {
        for (auto* states : {&killed_, &cut_})
            for (auto& state : std::exchange(*states, {}))
                examine(*state);
    }
    virtual void examine(os::SimFileSystem& state) {
        state.keep_no_events();
        SmallServer found("/db", state, false, log());
        command::Follower follower;
        size_t entries = 0;
        for (const bson::Object& entry : log_of(found)) {
            ++entries;
            follower.apply(entry["op"].as_string()[0], std::string(entry["ns"].as_string()),
                           bson::Object(entry["o"].as_doc()),
                           entry["o2"] ? bson::Object(entry["o2"].as_doc()) : bson::Object());
        }
        EXPECT_EQ(follower.contents(),
                  command::contents(found, found.catalog(), found.engine().locks()))
            << entries << " entries, call " << calls_;
        lengths_.insert(entries);
        ++states_;
        found.stop();
    }
    static std::vector<bson::Object> log_of(SmallServer& server) {
        std::vector<bson::Object> entries;
        const storage::DatabaseLock lock(server.engine().locks(), "local", false);
        catalog::Collection* const ring = server.catalog().collection(
            GetParam() == oplog::Form::master ? oplog::kMasterLog : oplog::kSetLog);
        if (ring == nullptr) return entries;
        const auto cursor = ring->records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next())
            entries.emplace_back(record->doc);
        return entries;
    }
    void done(const std::string& command, const std::string& db = "test") {
        EXPECT_EQ(server_->perform(db, command), 0) << command;
    }

    const base::MutedLog muted_;
    Random random_{20261127};
    os::SimFileSystem disk_;
    std::unique_ptr<SmallServer> server_;
    std::vector<std::unique_ptr<os::SimFileSystem>> killed_, cut_;
    int calls_ = 0;
    int states_ = 0;
    std::set<size_t> lengths_;  // logs that were seen, by their entries
};

TEST_P(OplogStates, AnEntryAndItsChangeComeTogether) {
    watch(std::max(1, 12 / base::test_effort(4)));
    initiate();
    for (int i = 0; i < 6; ++i) {
        done(fmt::format(R"({{"insert": "c", "documents": [{{"_id": {0}, "a": {0}}}]}})", i));
        done(fmt::format(R"({{"update": "c", "updates": [{{"q": {{"_id": {}}},
                             "u": {{"$set": {{"long": "{}"}}}}}}]}})",
                         i, std::string(3000, 'x')));
        server_->commit();
    }
    done(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    done(R"({"update": "c", "updates": [{"q": {}, "u": {"$inc": {"a": 1}}, "multi": true}]})");
    done(R"({"delete": "c", "deletes": [{"q": {"_id": 3}, "limit": 1}]})");
    server_->commit();
    done(R"({"create": "ring", "capped": true, "size": 65536, "max": 5})");
    for (int i = 0; i < 12; ++i)
        done(fmt::format(R"({{"insert": "ring", "documents": [{{"_id": {}, "t": "{}"}}]}})", i,
                         std::string(500, 'y')));
    server_->commit();
    done(R"({"aggregate": "c", "pipeline": [{"$match": {}}, {"$out": "out"}], "cursor": {}})");
    done(R"({"renameCollection": "test.out", "to": "test.c", "dropTarget": true})", "admin");
    server_->commit();
    done(R"({"insert": "c", "documents": [{"_id": 1}]})", "second");
    server_->commit();
    done(R"({"dropDatabase": 1})", "second");
    done(R"({"drop": "ring"})");
    server_->commit();
    examine();
    std::cout << states_ << " states, " << lengths_.size() << " lengths of the log" << std::endl;
    EXPECT_GT(states_, 40);
    EXPECT_GT(lengths_.size(), 6U);
}

// One operation writes so much that it commits on its way.
TEST_P(OplogStates, AlsoWhereAnOperationCommitsInPieces) {
    initiate();
    const std::string large(2'900'000, 'x');
    for (int i = 0; i < 5; ++i)
        done(fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}}}]}})", i));
    server_->commit();
    watch(15);
    const bson::Object reply =
        server_->run_old(fmt::format(R"({{"update": "c", "updates": [{{"q": {{"$isolated": 1}},
                                         "u": {{"$set": {{"t": "{}"}}}}, "multi": true}}]}})",
                                     large));
    EXPECT_EQ(reply["n"].to_int64(), 5);
    server_->commit();
    examine();
    EXPECT_GT(states_, 4);
}

// The entry has been committed by then.
TEST_P(OplogStates, ADropThatTheDiskRefusesLeavesNoEntry) {
    initiate();
    done(R"({"insert": "c", "documents": [{"_id": 1}]})");
    server_->commit();
    const size_t before = log_of(*server_).size();
    disk_.fail(os::SimFileSystem::Call::remove, "test.ns", std::errc::io_error);
    EXPECT_NE(server_->perform("test", R"({"dropDatabase": 1})"), 0);
    EXPECT_EQ(log_of(*server_).size(), before);
    done(R"({"insert": "c", "documents": [{"_id": 2}]})");
    server_->commit();
    examine(*disk_.process_kill());
    done(R"({"dropDatabase": 1})");
    EXPECT_EQ(log_of(*server_).size(), before + 2);
    server_->commit();
    examine(*disk_.process_kill());
}

// Writes with numbers, each the first of a session of its own. Whatever a stop leaves, all of them
// are sent again: were one known that is not in the documents, its change would be missing then,
// and were one in the documents unknown, it would be there twice.
class RetryStates : public OplogStates {
  protected:
    // How many documents it is about, which is what it answers.
    void number(int count, const std::string& command) {
        bson::Builder out;
        out.append_all(bson::from_json(command));
        out.append("lsid",
                   bson::from_json(fmt::format(
                       R"({{"id": {{"$binary": {{"base64": "{:021}A==", "subType": "04"}}}}}})",
                       writes_.size())));
        out.append("txnNumber", int64_t{1});
        writes_.push_back({out.object(), count});
        send(*server_, writes_.back());
    }
    void examine(os::SimFileSystem& state) override {
        state.keep_no_events();
        SmallServer found("/db", state, false, log());
        for (const Write& write : writes_)
            send(found, write);
        EXPECT_EQ(contents(found), expected_) << "call " << calls_;
        std::map<std::string, int> done;
        for (const bson::Object& entry : log_of(found))
            if (entry["stmtId"] && entry["op"].as_string() != "n")
                ++done[fmt::format("{} {}", bson::to_json(entry["lsid"].as_doc()),
                                   entry["stmtId"].to_int64())];
        for (const auto& [statement, times] : done)
            EXPECT_EQ(times, 1) << statement;
        lengths_.insert(done.size());
        retried_.insert(found.member().retries().retried_statements());
        ++states_;
        found.stop();
    }
    static std::string contents(SmallServer& server) {
        std::string text;
        for (const char* name : {"c", "counted", "removed", "upserted"}) {
            const bson::Object reply = server.run(
                fmt::format(R"({{"find": "{}", "sort": {{"k": 1}}, "projection": {{"_id": 0}}}})",
                            name),
                "test");
            text += fmt::format("{}: {}\n", name,
                                bson::to_text(reply["cursor"].as_doc()["firstBatch"]));
        }
        return text;
    }

    std::string expected_;
    std::set<int64_t> retried_;  // of each state, how many statements were known

  private:
    struct Write {
        bson::Object command;
        int count;
    };
    static void send(SmallServer& server, const Write& write) {
        const bson::Object reply = server.run(write.command, "test");
        EXPECT_EQ(SmallServer::code(reply), 0) << bson::to_text(reply.doc());
        EXPECT_TRUE(reply["writeErrors"].missing()) << bson::to_text(reply.doc());
        const bson::Element count =
            reply["n"] ? reply["n"] : reply["lastErrorObject"].as_doc()["n"];
        EXPECT_EQ(count.to_int64(), write.count) << bson::to_text(write.command.doc());
    }
    std::vector<Write> writes_;
};

TEST_P(RetryStates, WhatIsDoneIsKnownAndNothingElse) {
    constexpr int kRounds = 5;
    initiate();
    for (int i = 1; i <= kRounds; ++i) {
        done(fmt::format(R"({{"insert": "counted", "documents": [{{"k": {}, "n": 0}}]}})", i));
        done(fmt::format(R"({{"insert": "removed", "documents": [{{"k": {0}}}, {{"k": {0}}}]}})",
                         i));
    }
    server_->commit();
    watch(std::max(1, 12 / base::test_effort(4)));
    for (int i = 1; i <= kRounds; ++i) {
        number(3, fmt::format(R"({{"insert": "c", "documents": [{{"k": {0}1}}, {{"k": {0}2}},
                                   {{"k": {0}3, "t": "{1}"}}]}})",
                              i, std::string(3000, 'x')));
        number(1, fmt::format(R"({{"update": "counted", "updates": [
                                  {{"q": {{"k": {}}}, "u": {{"$inc": {{"n": 1}}}}}}]}})",
                              i));
        server_->commit();
        number(1, fmt::format(R"({{"findAndModify": "counted", "query": {{"k": {0}}},
                                   "update": {{"$push": {{"list": {0}}}}}}})",
                              i));
        number(1, fmt::format(R"({{"delete": "removed", "deletes": [
                                  {{"q": {{"k": {}}}, "limit": 1}}]}})",
                              i));
        number(1, fmt::format(R"({{"update": "upserted", "updates": [
                                  {{"q": {{"k": {}}}, "u": {{"$inc": {{"n": 1}}}},
                                    "upsert": true}}]}})",
                              i));
        server_->commit();
    }
    expected_ = contents(*server_);
    OplogStates::examine();
    std::cout << states_ << " states, " << retried_.size() << " numbers of known statements"
              << std::endl;
    EXPECT_GT(states_, 20);
    EXPECT_GT(retried_.size(), 4U);
    EXPECT_EQ(lengths_, std::set<size_t>{7 * kRounds});
}

INSTANTIATE_TEST_SUITE_P(forms, RetryStates, testing::Values(oplog::Form::replica_set),
                         [](const testing::TestParamInfo<oplog::Form>&) { return "set"; });

INSTANTIATE_TEST_SUITE_P(forms, OplogStates,
                         testing::Values(oplog::Form::master, oplog::Form::replica_set),
                         [](const testing::TestParamInfo<oplog::Form>& info) {
                             return info.param == oplog::Form::master ? "master" : "set";
                         });

}  // namespace
}  // namespace crash

// The time that a member of a set tells in its replies, and reads that wait for one.
#include <fmt/core.h>

#include <future>
#include <thread>

#include "base/error.h"
#include "base/milliseconds.h"
#include "base/testing/failure.h"
#include "command/commands/testing/replica_set.h"
#include "command/context/operation_context.h"
#include "command/context/waits.h"

namespace command {
namespace {

constexpr uint64_t kSecond = uint64_t{1} << 32;

class ClusterTimeTest : public ReplicaSetTest {
  protected:
    ClusterTimeTest() { initiate(); }

    uint64_t last() const { return member_->last().ts; }
    // The request, by a client that knows of a time, if it is not 0.
    static bson::Object after(const std::string& command, uint64_t time, uint64_t told,
                              const char* more = "{}") {
        bson::Builder out;
        out.append_all(bson::from_json(command).doc());
        {
            bson::Builder concern = out.sub_object("readConcern");
            concern.append_all(bson::from_json(more).doc())
                .append_timestamp("afterClusterTime", time);
        }
        if (told != 0) out.sub_object("$clusterTime").append_timestamp("clusterTime", told);
        return out.object();
    }
    bson::Object find_after(uint64_t time, uint64_t told, const char* more = "{}") {
        return run(after(R"({"find": "c"})", time, told, more));
    }
    // Runs it on another thread, and returns once it waits.
    std::future<bson::Object> begin(const bson::Object& request) {
        const size_t before = waits();  // ended ones among them
        auto reply = std::async(std::launch::async, [this, request] { return run(request); });
        while (!is_ready(reply) && waits() <= before)
            std::this_thread::yield();
        EXPECT_FALSE(is_ready(reply)) << "it does not wait";
        return reply;
    }
    static bool is_ready(const std::future<bson::Object>& reply) {
        return reply.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
    size_t waits() {
        const storage::DatabaseLock lock(engine_->locks(), "local", false);
        return catalog_->collection(oplog::kSetLog)->waiters().size();
    }
    void kill_all() {
        service_->contexts().each(
            [](OperationContext& context) { context.kill(context.operation().id()); });
    }
    // The write is that of another client.
    int insert() {
        TestConnection other;
        other.open(*service_, 2);
        return code(other.run(R"({"insert": "c", "documents": [{"a": 1}]})"));
    }
};

TEST_F(ClusterTimeTest, EachReplyOfAMemberHasIt) {
    const auto expect_time = [&](const bson::Object& reply) {
        EXPECT_EQ(reply["operationTime"].as_timestamp(), last()) << bson::to_text(reply.doc());
        const bson::Doc time = reply["$clusterTime"].as_doc();
        EXPECT_EQ(time["clusterTime"].as_timestamp(), last());
        EXPECT_EQ(time.at_path("signature.hash").binary_data().size(), 20U);
        EXPECT_EQ(time.at_path("signature.keyId").as_int64(), 0);
    };
    uint64_t before = last();
    for (const char* command :
         {R"({"insert": "c", "documents": [{"_id": 1}]})",
          R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})",
          R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})"}) {
        expect_time(run(command));
        EXPECT_GT(last(), before);
        before = last();
    }
    for (const char* command : {R"({"ping": 1})", R"({"find": "c"})", R"({"hello": 1})",
                                R"({"unknown": 1})", R"({"find": 1})", R"({"find": "c", "x": 1})"})
        expect_time(run(command));
    EXPECT_EQ(last(), before);
    const bson::Object reply = run(R"({"ping": 1})");
    std::string names;
    for (const bson::Element& e : reply)
        names += fmt::format("{} ", e.name());
    EXPECT_EQ(names, "ok $clusterTime operationTime ");
    for (const char* command : {R"({"ping": 1})", R"({"find": 1})", R"({"count": "c"})"}) {
        const bson::Object old = run_old(command);
        EXPECT_TRUE(old["operationTime"].missing() && old["$clusterTime"].missing()) << command;
    }
}

TEST_F(ClusterTimeTest, AReplyThatWaitedForMembersHasItLast) {
    ASSERT_EQ(code(run(R"({"replSetReconfig": {"_id": "rs0", "version": 2, "members": [
                           {"_id": 0, "host": "here:27017"},
                           {"_id": 1, "host": "b:1", "priority": 0}]}, "force": true})",
                       "admin")),
              0);
    const bson::Object reply = run(
        R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 2, "wtimeout": 1}})");
    std::string names;
    for (const bson::Element& e : reply)
        names += fmt::format("{} ", e.name());
    EXPECT_EQ(names, "n writeConcernError ok $clusterTime operationTime ");
}

TEST_F(ReplicaSetTest, AMemberWithoutALogTellsNoTime) {
    EXPECT_TRUE(run(R"({"ping": 1})")["operationTime"].missing());
    initiate();
    EXPECT_FALSE(run(R"({"ping": 1})")["operationTime"].missing());
    restart();
    EXPECT_EQ(run(R"({"ping": 1})")["operationTime"].as_timestamp(), member_->last().ts);
}

TEST_F(ClusterTimeTest, WhatTheLogHasIsReadAtOnce) {
    ASSERT_EQ(insert(), 0);
    suspensions_ = 0;
    for (const char* command :
         {R"({"find": "c"})", R"({"count": "c"})", R"({"distinct": "c", "key": "a"})",
          R"({"aggregate": "c", "pipeline": [], "cursor": {}})"})
        EXPECT_EQ(code(run(after(command, last(), 0))), 0) << command;
    EXPECT_EQ(code(find_after(last(), last(), R"({"level": "local"})")), 0);
    EXPECT_EQ(suspensions_, 0);
}

TEST_F(ClusterTimeTest, ALaterTimeIsWaitedFor) {
    const auto counted = [this] {
        return service_->counters().command.load() + service_->counters().query.load();
    };
    for (const char* command :
         {R"({"find": "c"})", R"({"count": "c"})", R"({"distinct": "c", "key": "_id"})",
          R"({"aggregate": "c", "pipeline": [{"$match": {}}], "cursor": {}})"}) {
        ASSERT_EQ(insert(), 0);
        const int64_t before = counted();
        const uint64_t time = last() + 3;  // the clock may pass it
        auto reply = begin(after(command, time, time));
        while (last() < time)
            ASSERT_EQ(insert(), 0);
        const bson::Object done = reply.get();
        EXPECT_EQ(code(done), 0) << command;
        EXPECT_EQ(counted(), before + 1) << command;
    }
    // It sees what it has waited for.
    const int64_t before = run(R"({"count": "c"})")["n"].to_int64();
    auto reply = begin(after(R"({"count": "c"})", last() + 1, last() + 1));
    ASSERT_EQ(insert(), 0);
    EXPECT_EQ(reply.get()["n"].to_int64(), before + 1);
}

TEST_F(ClusterTimeTest, AWaitEnds) {
    const uint64_t later = last() + kSecond * 1000;
    EXPECT_EQ(code(run(after(R"({"find": "c", "maxTimeMS": 20})", later, later))),
              base::kExceededTimeLimit);
    auto killed = begin(after(R"({"find": "c"})", later, later));
    kill_all();
    EXPECT_EQ(code(killed.get()), base::kInterrupted);
    // A member that takes no reads any more refuses them.
    auto closed = begin(after(R"({"find": "c"})", later, later));
    hear_of_primary("b:1");
    EXPECT_EQ(code(closed.get()), base::kNotPrimaryNoSecondaryOk);
}

TEST_F(ClusterTimeTest, AnIdlePrimaryLogsNotes) {
    member_->note_idleness();
    uint64_t before = last();
    member_->note_idleness();
    EXPECT_GT(last(), before);
    auto reply = begin(after(R"({"find": "c"})", last() + 1, last() + 1));
    member_->note_idleness();
    EXPECT_EQ(code(reply.get()), 0);
    ASSERT_EQ(insert(), 0);
    before = last();
    member_->note_idleness();
    EXPECT_EQ(last(), before);
    const std::vector<bson::Object> notes =
        query("local.oplog.rs", R"({"o.msg": "periodic noop"})", 0);
    ASSERT_EQ(notes.size(), 2U);
    EXPECT_EQ(notes[0]["op"].as_string(), "n");
    hear_of_primary("b:1");
    before = last();
    for (int i = 0; i < 3; ++i)
        member_->note_idleness();
    EXPECT_EQ(last(), before);
}

TEST_F(ClusterTimeTest, OddTimesAreRefused) {
    const auto expect_refusal = [](const bson::Object& reply, const std::string& text) {
        EXPECT_EQ(code(reply), base::kInvalidOptions);
        EXPECT_EQ(reply["errmsg"].as_string(), text);
    };
    const uint64_t later = last() + 5;
    const auto shown = [](uint64_t ts) {
        return fmt::format("{{ ts: Timestamp({}, {}) }}", ts >> 32, ts & 0xffffffff);
    };
    const auto too_late = [&](uint64_t current) {
        return fmt::format(
            "readConcern afterClusterTime value must not be greater than the current clusterTime. "
            "Requested clusterTime: {}; current clusterTime: {}",
            shown(later), shown(current));
    };
    expect_refusal(find_after(later, 0), too_late(last()));
    expect_refusal(find_after(later, later - 1), too_late(later - 1));
    expect_refusal(find_after(later, 1), too_late(last()));
    // No clock is so wrong.
    const uint64_t of_broken_clock = ~uint64_t{0} << 32;
    EXPECT_EQ(code(find_after(of_broken_clock, of_broken_clock)), base::kInvalidOptions);
    expect_refusal(find_after(0, 0), "afterClusterTime cannot be a null timestamp");
    expect_refusal(find_after(last(), 0, R"({"level": "available"})"),
                   "afterClusterTime field can be set only if level is equal to majority, local, "
                   "or snapshot");
    EXPECT_EQ(code(run(R"({"find": "c", "readConcern": {"afterClusterTime": 1}})")),
              base::kTypeMismatch);
    EXPECT_EQ(code(run(R"({"find": "c", "$clusterTime": {"clusterTime": 1}})")),
              base::kTypeMismatch);
}

TEST_F(ClusterTimeTest, ADriverOfTodayIsToldByTheOldMessageToo) {
    for (const char* name : {"hello", "isMaster"}) {
        const bson::Object reply =
            run_old(fmt::format(R"({{"{}": 1, "helloOk": true}})", name), "admin");
        EXPECT_EQ(reply["operationTime"].as_timestamp(), last());
        EXPECT_EQ(reply["$clusterTime"].as_doc()["clusterTime"].as_timestamp(), last());
        EXPECT_TRUE(
            run_old(fmt::format(R"({{"{}": 1}})", name), "admin")["$clusterTime"].missing());
    }
}

TEST_F(ClusterTimeTest, WhatClientsTellMovesNothing) {
    const uint64_t before = last();
    bson::Builder ping;
    ping.append("ping", 1)
        .sub_object("$clusterTime")
        .append_timestamp("clusterTime", before + kSecond * 100);
    EXPECT_EQ(run(ping.object())["operationTime"].as_timestamp(), before);
    ASSERT_EQ(insert(), 0);
    EXPECT_LE(last() >> 32, static_cast<uint64_t>(base::ms_since_1970() / 1000));
}

}  // namespace
}  // namespace command

// Usage counters, and the server's own work among the running operations, which operators examine.
#include <fmt/core.h>

#include <thread>

#include "bson/validate.h"
#include "command/commands/testing/service.h"
#include "command/write/ttl.h"
#include "storage/lock.h"

namespace command {
namespace {

class UsageCountersTest : public EachEngineTest {
  protected:
    // {reads: n, writes: n, commands: n} of $collStats.
    std::string operations() {
        const bson::Object reply = run(
            R"({"aggregate": "c", "pipeline": [{"$collStats": {"latencyStats": {}}}],
                "cursor": {}})");
        const auto ops = [&reply](const char* kind) {
            return reply.doc()
                .at_path(fmt::format("cursor.firstBatch.0.latencyStats.{}.ops", kind))
                .to_int64();
        };
        return fmt::format("{} {} {}", ops("reads"), ops("writes"), ops("commands"));
    }
    int64_t uses(const std::string& index) {
        const bson::Object reply =
            run(R"({"aggregate": "c", "pipeline": [{"$indexStats": {}}, {"$match": {"name": ")" +
                index + R"("}}], "cursor": {}})");
        return reply.doc().at_path("cursor.firstBatch.0.accesses.ops").to_int64();
    }
    // The operations of which `query` is true.
    bson::Object running(const std::string& query) {
        return run(R"({"currentOp": 1, )" + query + "}", "admin");
    }
};

TEST_P(UsageCountersTest, LatencyIsCountedByKind) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    run(R"({"find": "c"})");
    run(R"({"find": "c"})");
    run(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})");
    run(R"({"delete": "c", "deletes": [{"q": {"_id": 9}, "limit": 1}]})");
    run(R"({"count": "c"})");
    EXPECT_EQ(operations(), "2 3 1");
    EXPECT_EQ(operations(), "2 3 2");  // the question before was an aggregate
}

// Monitors take the difference of two looks, which a drop must not make negative.
TEST_P(UsageCountersTest, LatenciesOfTheServerOnlyRise) {
    const auto writes = [this](const char* field) {
        return run(R"({"serverStatus": 1})", "admin")
            .doc()
            .at_path(fmt::format("opLatencies.writes.{}", field))
            .as_int64();
    };
    const int64_t before = writes("ops");
    for (int i = 0; i < 3; ++i)
        run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    EXPECT_EQ(writes("ops"), before + 3);
    const int64_t time = writes("latency");
    run(R"({"drop": "c"})");
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    EXPECT_EQ(writes("ops"), before + 4);
    EXPECT_GE(writes("latency"), time);
}

TEST_P(UsageCountersTest, WhatMonitorsReadIsToldByToday) {
    const bson::Object today = run(R"({"serverStatus": 1})", "admin");
    EXPECT_EQ(today.doc().at_path("connections.active").to_int64(), 1);
    const bson::Object old = run_old(R"({"serverStatus": 1})", "admin");
    EXPECT_FALSE(old["opLatencies"]);
    EXPECT_FALSE(old.doc().at_path("connections.active"));
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    const bson::Object stats = run(R"({"dbStats": 1})");
    EXPECT_EQ(stats["totalSize"].to_int64(),
              stats["storageSize"].to_int64() + stats["indexSize"].to_int64());
    EXPECT_FALSE(run_old(R"({"dbStats": 1})")["totalSize"]);
}

TEST_P(UsageCountersTest, CommandsAreCountedWhenTheyAreAnswered) {
    const auto count = [this](const std::string& name) {
        return run(R"({"serverStatus": 1})", "admin").doc().at_path("metrics.commands." + name);
    };
    EXPECT_EQ(count("distinct.total").as_int64(), 0);
    run(R"({"distinct": "c", "key": "a"})");
    run(R"({"distinct": "c", "key": 1})");
    run_old(R"({"distinct": "c", "key": "a"})");
    EXPECT_EQ(count("distinct.total").as_int64(), 3);
    EXPECT_EQ(count("distinct.failed").as_int64(), 1);
    run(R"({"isMaster": 1})");
    run(R"({"ismaster": 1})");
    EXPECT_EQ(count("isMaster.total").as_int64(), 2) << "by either name";
    const int64_t unknown = count("<UNKNOWN>").as_int64();
    run(R"({"nothing": 1})");
    EXPECT_EQ(count("<UNKNOWN>").as_int64(), unknown + 1);
    EXPECT_FALSE(run(R"({"serverStatus": 1, "metrics": {"commands": false}})", "admin")
                     .doc()
                     .at_path("metrics.commands"));
    EXPECT_FALSE(run_old(R"({"serverStatus": 1})", "admin").doc().at_path("metrics.commands"));
}

TEST_P(UsageCountersTest, CursorsAreCountedForToday) {
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
    run(R"({"find": "c", "batchSize": 1})");
    const bson::Object today = run(R"({"serverStatus": 1})", "admin");
    EXPECT_EQ(today.doc().at_path("metrics.cursor.totalOpened").as_int64(), 1);
    EXPECT_EQ(today.doc().at_path("metrics.cursor.moreThanOneBatch").as_int64(), 0);
    EXPECT_EQ(today.doc().at_path("metrics.cursor.lifespan.lessThan1Second").as_int64(), 0);
    const bson::Object old = run_old(R"({"serverStatus": 1})", "admin");
    EXPECT_FALSE(old.doc().at_path("metrics.cursor.totalOpened"));
}

TEST_P(UsageCountersTest, ADroppedCollectionBeginsAnew) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    run(R"({"drop": "c"})");
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    EXPECT_EQ(operations(), "0 1 0");
    const bson::Object totals = run(R"({"top": 1})", "admin");
    const bson::Doc entry = totals["totals"].as_doc()["test.c"].as_doc();
    EXPECT_EQ(entry.at_path("insert.count").as_int64(), 1);
    EXPECT_EQ(entry.at_path("writeLock.count").as_int64(), 1);
    EXPECT_EQ(entry.at_path("total.count").as_int64(), 2);
    EXPECT_EQ(entry.at_path("readLock.count").as_int64(), 1);
}

// A field of the reply would end at the NUL, and what follows would be read as its value.
TEST_P(UsageCountersTest, NamesEndAtANul) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    run(R"({"find": "c\u0000d"})");
    run(R"({"count": "\u0000"})");
    const bson::Object totals = run(R"({"top": 1})", "admin");
    EXPECT_EQ(bson::validate(totals.bytes().data(), totals.bytes().size()), "");
    EXPECT_EQ(operations(), "1 1 0");
}

TEST_P(UsageCountersTest, IndexesCountTheOperationsThatReadThroughThem) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})");
    EXPECT_EQ(uses("a"), 0);
    EXPECT_EQ(uses("_id_"), 0);
    run(R"({"find": "c", "filter": {"a": 1}})");
    run(R"({"find": "c", "sort": {"a": 1}})");
    run(R"({"find": "c"})");
    run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"b": 1}}}]})");
    EXPECT_EQ(uses("a"), 2);
    EXPECT_EQ(uses("_id_"), 1);
    // Planned again where no index gives the order.
    run(R"({"aggregate": "c", "pipeline": [{"$match": {"a": 1}}, {"$sort": {"b": 1}}],
            "cursor": {}})");
    EXPECT_EQ(uses("a"), 3);
}

TEST_P(UsageCountersTest, TheServersOwnWorkIsShown) {
    run(R"({"createIndexes": "c",
            "indexes": [{"key": {"t": 1}, "name": "t", "expireAfterSeconds": 60}]})");
    run(R"({"insert": "c", "documents": [{"_id": 1, "t": {"$date": {"$numberLong": "1000"}}}]})");
    std::thread monitor;
    {
        const storage::DatabaseLock lock(engine_->locks(), "test", true);
        monitor = std::thread([this] { delete_expired(service_->contexts()); });
        const std::string waiting = R"("desc": "TTLMonitor", "waitingForLock": true)";
        while (running(waiting)["inprog"].as_doc().empty())
            std::this_thread::yield();
        EXPECT_FALSE(running(waiting).doc().at_path("inprog.0.connectionId"));
    }
    monitor.join();
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "0");
    EXPECT_TRUE(running(R"("desc": "TTLMonitor")")["inprog"].as_doc().empty());
}

INSTANTIATE_TEST_SUITE_P(engines, UsageCountersTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

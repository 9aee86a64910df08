// $lookup and $graphLookup between collections: which index they use, what ends them, what becomes
// of them while collections come and go.
#include <fmt/core.h>

#include <thread>

#include "base/error.h"
#include "command/commands/testing/service.h"

namespace command {
namespace {

class LookupTest : public EachEngineTest {
  protected:
    LookupTest() { service_->profiler().set_slow_ms(100'000); }

    // {_id: i, k: i, up: i - 1} of so many.
    void fill(const std::string& collection, int count) {
        bson::Builder command;
        command.append("insert", collection);
        {
            bson::Builder list = command.sub_array("documents");
            for (int i = 0; i < count; ++i)
                list.push(bson::make("_id", i, "k", i, "up", i - 1));
        }
        ASSERT_EQ(code(run(command.object())), 0);
    }
    bson::Object aggregate(const std::string& stages, const std::string& more = "") {
        return run(
            fmt::format(R"({{"aggregate": "c", "pipeline": {}, "cursor": {{}}{}}})", stages, more));
    }
    std::string results(const std::string& stages) {
        const bson::Object reply = aggregate(stages);
        EXPECT_EQ(code(reply), 0) << bson::to_text(reply);
        return bson::to_text(reply.doc().at_path("cursor.firstBatch"));
    }
    // Documents and keys that requests have looked at so far.
    int64_t scanned() {
        const bson::Object status = run(R"({"serverStatus": 1})");
        return status.doc().at_path("metrics.queryExecutor.scanned").to_int64();
    }
    int64_t scanned_by(const std::string& stages) {
        const int64_t before = scanned();
        EXPECT_EQ(code(aggregate(stages)), 0);
        return scanned() - before;
    }
};

TEST_P(LookupTest, UsesAnIndexOfTheOtherCollection) {
    fill("c", 10);
    fill("f", 200);
    const std::string join = R"([{"$lookup": {"from": "f", "localField": "k",
        "foreignField": "k", "as": "f"}}])";
    const std::string expression = R"([{"$lookup": {"from": "f", "let": {"k": "$k"}, "as": "f",
        "pipeline": [{"$match": {"$expr": {"$eq": ["$k", "$$k"]}}}]}}])";
    const std::string graph = R"([{"$match": {"_id": 9}}, {"$graphLookup": {"from": "f",
        "startWith": "$k", "connectFromField": "up", "connectToField": "k", "as": "f"}}])";
    std::vector<std::string> before;
    for (const std::string& stages : {join, expression, graph})
        before.push_back(results(stages));
    EXPECT_GE(scanned_by(join), 10 * 200);
    ASSERT_EQ(code(run(R"({"createIndexes": "f", "indexes": [{"key": {"k": 1}, "name": "k"}]})")),
              0);
    // The documents of c are read, and those found in f with at most the key behind each.
    EXPECT_LE(scanned_by(join), 10 + 2 * 10);
    EXPECT_LE(scanned_by(expression), 10 + 2 * 10);
    EXPECT_LE(scanned_by(graph), 1 + 2 * 11);
    size_t at = 0;
    for (const std::string& stages : {join, expression, graph})
        EXPECT_EQ(results(stages), before[at++]);
}

TEST_P(LookupTest, FindsTheSameByManyValues) {
    // A level of a graph that takes several queries.
    fill("f", 3000);
    bson::Builder command;
    command.append("insert", "c");
    {
        bson::Builder documents = command.sub_array("documents");
        bson::Builder doc = documents.sub_object("0");
        bson::Builder list = doc.sub_array("l");
        for (int i = 0; i < 2500; ++i)
            list.push(i);
    }
    ASSERT_EQ(code(run(command.object())), 0);
    EXPECT_EQ(results(R"([{"$graphLookup": {"from": "f", "startWith": "$l", "as": "f",
                           "connectFromField": "none", "connectToField": "k"}},
                          {"$lookup": {"from": "f", "localField": "l", "foreignField": "_id",
                                       "as": "g"}},
                          {"$project": {"_id": 0, "n": {"$size": "$f"}, "m": {"$size": "$g"}}}])"),
              "[ { n: 2500, m: 2500 } ]");
}

TEST_P(LookupTest, MayReadItsOwnCollectionAndNone) {
    fill("c", 3);
    EXPECT_EQ(results(R"([{"$match": {"_id": 1}}, {"$lookup": {"from": "c", "localField": "up",
                           "foreignField": "_id", "as": "f"}}])"),
              "[ { _id: 1, k: 1, up: 0, f: [ { _id: 0, k: 0, up: -1 } ] } ]");
    EXPECT_EQ(results(R"([{"$match": {"_id": 1}}, {"$lookup": {"from": "no", "localField": "up",
                           "foreignField": "_id", "as": "f"}}])"),
              "[ { _id: 1, k: 1, up: 0, f: [] } ]");
}

TEST_P(LookupTest, StandsInAPipelineOverNoCollection) {
    fill("f", 3);
    constexpr const char* kStage = R"({"$lookup": {"from": "f", "pipeline": [], "as": "f"}})";
    EXPECT_EQ(results(fmt::format("[{}]", kStage)), "[]");
    EXPECT_EQ(results(fmt::format(R"([{{"$count": "n"}}, {}, {{"$out": "o"}}])", kStage)), "[]");
    EXPECT_EQ(code(aggregate(fmt::format("[{}]", kStage), R"(, "hint": {"$natural": 1})")), 0);
}

TEST_P(LookupTest, WritesWhatItFinds) {
    fill("c", 3);
    fill("f", 3);
    results(R"([{"$lookup": {"from": "f", "localField": "k", "foreignField": "k", "as": "f"}},
                {"$project": {"n": {"$size": "$f"}}}, {"$out": "o"}])");
    EXPECT_EQ(bson::to_text(run(R"({"find": "o"})").doc().at_path("cursor.firstBatch")),
              "[ { _id: 0, n: 1 }, { _id: 1, n: 1 }, { _id: 2, n: 1 } ]");
}

TEST_P(LookupTest, StandsBehindWhatTheServerTells) {
    fill("f", 2);
    const bson::Object reply = run(R"({"aggregate": "f", "cursor": {"batchSize": 0}, "pipeline": [
        {"$indexStats": {}}, {"$lookup": {"from": "f", "pipeline": [{"$count": "n"}], "as": "f"}},
        {"$project": {"_id": 0, "name": 1, "f": 1}}]})");
    const int64_t id = reply.doc().at_path("cursor.id").to_int64();
    ASSERT_NE(id, 0) << bson::to_text(reply);
    const bson::Object more = run(bson::make("getMore", id, "collection", "f"));
    EXPECT_EQ(bson::to_text(more.doc().at_path("cursor.nextBatch")),
              R"([ { name: "_id_", f: [ { n: 2 } ] } ])");
    EXPECT_EQ(code(run(R"({"aggregate": "f", "cursor": {}, "pipeline": [
                  {"$lookup": {"from": "f", "pipeline": [{"$indexStats": {}}], "as": "f"}}]})")),
              51047);
}

// Between two batches, and so between two documents.
TEST_P(LookupTest, SeesCollectionsComeAndGo) {
    fill("c", 3);
    fill("f", 3);
    const bson::Object reply = run(R"({"aggregate": "c", "cursor": {"batchSize": 1}, "pipeline": [
        {"$lookup": {"from": "f", "localField": "k", "foreignField": "k", "as": "f"}},
        {"$project": {"_id": 0, "n": {"$size": "$f"}}}]})");
    EXPECT_EQ(bson::to_text(reply.doc().at_path("cursor.firstBatch")), "[ { n: 1 } ]");
    const int64_t id = reply.doc().at_path("cursor.id").to_int64();
    const auto next = [&](TestConnection& connection) {
        const bson::Object more =
            connection.run(bson::make("getMore", id, "collection", "c", "batchSize", 1));
        return bson::to_text(more.doc().at_path("cursor.nextBatch"));
    };
    ASSERT_EQ(code(run(R"({"drop": "f"})")), 0);
    // Another connection goes on with the cursor, after the one that opened it has gone.
    TestConnection other;
    other.open(*service_, 2);
    session_ = nullptr;
    EXPECT_EQ(next(other), "[ { n: 0 } ]");
    open(*service_, 3);
    fill("g", 3);
    ASSERT_EQ(code(run(R"({"renameCollection": "test.g", "to": "test.f"})", "admin")), 0);
    EXPECT_EQ(next(*this), "[ { n: 1 } ]");
    other.session_ = nullptr;
}

TEST_P(LookupTest, EndsWhenItsTimeIsOver) {
    fill("c", 400);
    fill("f", 400);
    // 64 million documents of f.
    EXPECT_EQ(code(aggregate(R"([{"$lookup": {"from": "f", "as": "f", "pipeline": [
                    {"$lookup": {"from": "f", "as": "f", "pipeline": [{"$count": "n"}]}},
                    {"$count": "n"}]}},
                  {"$count": "n"}])",
                             R"(, "maxTimeMS": 50)")),
              base::kExceededTimeLimit);
}

TEST_P(LookupTest, EndsWhenItIsKilled) {
    fill("c", 400);
    fill("f", 400);
    TestConnection killer;
    killer.open(*service_, 2);
    std::thread killing([&] {
        for (bool found = false; !found;) {
            const bson::Object running = killer.run(R"({"currentOp": 1, "$all": true})", "admin");
            for (const bson::Element& operation : running["inprog"].as_doc()) {
                if (operation.as_doc().at_path("query.aggregate").missing()) continue;
                found = true;
                killer.run(bson::make("killOp", 1, "op", operation.as_doc()["opid"].to_int32()),
                           "admin");
            }
        }
        killer.session_ = nullptr;
    });
    EXPECT_EQ(code(aggregate(R"([{"$graphLookup": {"from": "f", "startWith": "$k",
                                   "connectFromField": "up", "connectToField": "k", "as": "f"}},
                                 {"$count": "n"}])")),
              base::kInterrupted);
    killing.join();
}

TEST_P(LookupTest, IsExplainedAndNotRun) {
    fill("c", 2);
    for (const std::string stages :
         {R"([{"$match": {"$expr": {"$eq": ["$k", 1]}}}, {"$lookup": {"from": "f", "as": "f",
               "pipeline": [{"$match": {"a": 1}}]}}])",
          R"([{"$graphLookup": {"from": "f", "startWith": "$k", "connectFromField": "up",
               "connectToField": "k", "as": "f"}}])"}) {
        const bson::Object reply =
            run(fmt::format(R"({{"aggregate": "c", "pipeline": {}, "explain": true}})", stages));
        EXPECT_EQ(code(reply), 0) << bson::to_text(reply);
        EXPECT_NE(bson::to_text(reply).find("ookup: { from: \"f\""), std::string::npos)
            << bson::to_text(reply);
    }
}

TEST_P(LookupTest, TheOldServerHasNoSuchStage) {
    fill("c", 1);
    EXPECT_EQ(code(run_old(R"({"aggregate": "c", "pipeline": [
                  {"$lookup": {"from": "f", "pipeline": [], "as": "f"}}]})")),
              16436);
    EXPECT_EQ(code(run_old(R"({"aggregate": "c", "pipeline": [{"$graphLookup": {}}]})")), 16436);
    EXPECT_EQ(code(run_old(R"({"aggregate": "c", "pipeline": [{"$match": {"$expr": true}}]})")),
              16810);
}

INSTANTIATE_TEST_SUITE_P(engines, LookupTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

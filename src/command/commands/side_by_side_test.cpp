// Many clients that change the same documents at the same time: what the replies say adds up to
// what is there. The thread sanitizer runs it too.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "base/testing/effort.h"
#include "command/commands/testing/service.h"

namespace command {
namespace {

class SideBySideTest : public EachEngineTest {
  protected:
    static constexpr int kClients = 12;
    const int rounds_ = std::max(5, base::test_effort(50));

    SideBySideTest() {
        for (int i = 0; i < kClients; ++i)
            clients_[static_cast<size_t>(i)].open(*service_, i + 2);
    }
    // Calls `work` with each client and its number, all at the same time.
    void all_at_once(const std::function<void(TestConnection& client, int number)>& work) {
        std::vector<std::thread> threads;
        for (int i = 0; i < kClients; ++i)
            threads.emplace_back([&, i] { work(clients_[static_cast<size_t>(i)], i); });
        for (std::thread& thread : threads)
            thread.join();
    }
    static bson::Object run(TestConnection& client, const std::string& json) {
        bson::Object reply = client.run(json);
        EXPECT_EQ(TestConnection::code(reply), 0) << bson::to_text(reply);
        return reply;
    }
    bson::Object run(const std::string& json) { return run(*this, json); }
    int64_t count(const std::string& query) {
        return run(fmt::format(R"({{"count": "c", "query": {}}})", query))["n"].to_int64();
    }
    // The first document of a query.
    bson::Object find(const std::string& query) {
        const bson::Object reply = run(fmt::format(R"({{"find": "c", "filter": {}}})", query));
        return bson::Object(reply["cursor"].as_doc()["firstBatch"].as_doc().first().as_doc());
    }
    void expect_valid() {
        const bson::Object report = run(R"({"validate": "c", "full": true})");
        EXPECT_TRUE(report["valid"].truthy()) << bson::to_text(report);
    }

    TestConnection clients_[kClients];
};

TEST_P(SideBySideTest, IncrementsOfOneDocumentAddUp) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "n": 0, "s": "x"}, {"_id": 2, "n": 0}]})");
    std::atomic<int64_t> modified = 0;
    all_at_once([&](TestConnection& client, int) {
        for (int i = 0; i < rounds_; ++i) {
            // The document is found by its _id, by a scan, and by findAndModify.
            for (const char* q : {R"({"_id": 1})", R"({"s": "x"})"})
                modified += run(client, fmt::format(R"({{"update": "c", "updates": [
                    {{"q": {}, "u": {{"$inc": {{"n": 1}}}}}}]}})",
                                                    q))["nModified"]
                                .to_int64();
            run(client, R"({"findAndModify": "c", "query": {"_id": 1},
                            "update": {"$inc": {"n": 1}}})");
        }
    });
    EXPECT_EQ(modified, 2 * kClients * rounds_);
    EXPECT_EQ(find(R"({"_id": 1})")["n"].to_int64(), 3 * kClients * rounds_);
    EXPECT_EQ(find(R"({"_id": 2})")["n"].to_int64(), 0);
    expect_valid();
}

// Each client gets numbers that no other one gets.
TEST_P(SideBySideTest, NumbersAreGivenOnce) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})");
    std::vector<std::vector<int64_t>> given(kClients);
    all_at_once([&](TestConnection& client, int number) {
        for (int i = 0; i < rounds_; ++i)
            given[static_cast<size_t>(number)].push_back(
                run(client, R"({"findAndModify": "c", "query": {"_id": 1}, "new": true,
                                "update": {"$inc": {"n": 1}}})")["value"]
                    .as_doc()["n"]
                    .to_int64());
    });
    std::set<int64_t> all;
    for (const std::vector<int64_t>& mine : given) {
        EXPECT_TRUE(std::ranges::is_sorted(mine));
        all.insert(mine.begin(), mine.end());
    }
    EXPECT_EQ(all.size(), static_cast<size_t>(kClients * rounds_));
    EXPECT_EQ(*all.rbegin(), kClients * rounds_);
}

TEST_P(SideBySideTest, AUniqueKeyIsTakenOnce) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"k": 1}, "name": "k", "unique": true}]})");
    std::atomic<int64_t> inserted = 0, moved = 0, refused = 0;
    all_at_once([&](TestConnection& client, int number) {
        for (int i = 0; i < rounds_; ++i) {
            const bson::Object reply = client.run(fmt::format(
                R"({{"insert": "c", "ordered": false, "documents": [{{"_id": {}, "k": "a{}"}},
                    {{"k": "b{}"}}, {{"k": "own {} {}"}}]}})",
                i, i, i, number, i));
            EXPECT_EQ(code(reply), 0);
            inserted += reply["n"].to_int64();
            // An update to a key that others want too.
            const bson::Object update = client.run(fmt::format(
                R"({{"update": "c", "updates": [{{"q": {{"k": "own {} {}"}},
                    "u": {{"$set": {{"k": "c{}"}}}}}}]}})",
                number, i, i));
            EXPECT_EQ(code(update), 0);
            moved += update["nModified"].to_int64();
            refused += update["writeErrors"].missing() ? 0 : 1;
        }
    });
    EXPECT_EQ(inserted, (2 + kClients) * rounds_);
    EXPECT_EQ(moved, rounds_);
    EXPECT_EQ(refused, (kClients - 1) * rounds_);
    EXPECT_EQ(count("{}"), inserted);
    for (const char* name : {"^a", "^b", "^c"})
        EXPECT_EQ(count(fmt::format(R"({{"k": {{"$regex": "{}"}}}})", name)), rounds_) << name;
    expect_valid();
}

TEST_P(SideBySideTest, AnUpsertInsertsOnce) {
    std::atomic<int64_t> upserted = 0;
    all_at_once([&](TestConnection& client, int) {
        for (int i = 0; i < rounds_; ++i) {
            const bson::Object reply = run(client, fmt::format(R"({{"update": "c", "updates": [
                {{"q": {{"k": {}}}, "u": {{"$inc": {{"n": 1}}}}, "upsert": true}}]}})",
                                                               i));
            upserted += reply["upserted"].missing() ? 0 : 1;
            run(client, fmt::format(R"({{"findAndModify": "c", "query": {{"f": {}}},
                                         "update": {{"$inc": {{"n": 1}}}}, "upsert": true}})",
                                    i));
        }
    });
    EXPECT_EQ(upserted, rounds_);
    EXPECT_EQ(count("{}"), 2 * rounds_);
    EXPECT_EQ(count(fmt::format(R"({{"n": {}}})", kClients)), 2 * rounds_);
    expect_valid();
}

// Clients take documents as workers take jobs from a queue: each job is taken by one.
TEST_P(SideBySideTest, ADocumentIsRemovedByOneClient) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"order": 1}, "name": "order"}]})");
    const int jobs = kClients * rounds_;
    for (int i = 0; i < jobs; ++i)
        run(fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}, "order": {}}}]}})", i,
                        jobs - i));
    std::atomic<int64_t> taken = 0, deleted = 0;
    std::atomic<int64_t> sum = 0;
    all_at_once([&](TestConnection& client, int) {
        while (true) {
            const bson::Object reply =
                run(client, R"({"findAndModify": "c", "query": {}, "sort": {"order": 1},
                                "remove": true})");
            if (!reply["value"].is_object()) break;
            ++taken;
            sum += reply["value"].as_doc()["_id"].to_int64();
            const int64_t next = (reply["value"].as_doc()["_id"].to_int64() * 7 + 3) % jobs;
            const int64_t gone = run(client, fmt::format(R"({{"delete": "c", "deletes": [
                {{"q": {{"_id": {}}}, "limit": 1}}]}})",
                                                         next))["n"]
                                     .to_int64();
            deleted += gone;
            sum += gone * next;
        }
    });
    EXPECT_EQ(taken + deleted, jobs);
    EXPECT_EQ(sum, int64_t{jobs} * (jobs - 1) / 2);
    EXPECT_EQ(count("{}"), 0);
    expect_valid();
}

// Updates of many documents, by indexes that they change, while others insert and remove.
TEST_P(SideBySideTest, UpdatesOfManyDocumentsChangeEachOfThem) {
    constexpr int kDocuments = 20;
    run(R"({"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"},
                                              {"key": {"list": 1}, "name": "list"}]})");
    for (int i = 0; i < kDocuments; ++i)
        run(fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}, "n": 0, "stays": 1}}]}})",
                        i));
    all_at_once([&](TestConnection& client, int number) {
        for (int i = 0; i < rounds_; ++i) {
            const std::string own = fmt::format("{}.{}", number, i);
            run(client, fmt::format(R"({{"insert": "c", "documents": [
                {{"_id": "{}", "n": 5, "list": [1, {}]}}]}})",
                                    own, number));
            EXPECT_EQ(run(client, R"({"update": "c", "updates": [
                {"q": {"n": {"$gte": 0}, "stays": 1}, "u": {"$inc": {"n": 1}}, "multi": true}]})")
                          ["nModified"]
                              .to_int64(),
                      kDocuments);
            EXPECT_EQ(run(client, fmt::format(R"({{"delete": "c", "deletes": [
                {{"q": {{"list": {}, "_id": "{}"}}, "limit": 0}}]}})",
                                              number, own))["n"]
                          .to_int64(),
                      1);
        }
    });
    EXPECT_EQ(count("{}"), kDocuments);
    EXPECT_EQ(count(fmt::format(R"({{"n": {}}})", kClients * rounds_)), kDocuments);
    expect_valid();
}

// A reader through an index whose entries writers change finds each document once, as it is.
TEST_P(SideBySideTest, ReadersSeeDocumentsThatMatch) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"}]})");
    run(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}, {"_id": 2, "n": 0},
                                         {"_id": 3, "n": 0}]})");
    std::atomic<bool> is_done = false;
    std::thread reader([&] {
        while (!is_done) {
            const bson::Object reply =
                run(R"({"find": "c", "filter": {"n": {"$gte": 0}}, "hint": "n"})");
            std::set<int64_t> found;
            for (const bson::Element& each : reply["cursor"].as_doc()["firstBatch"].as_doc())
                EXPECT_TRUE(found.insert(each.as_doc()["_id"].to_int64()).second);
            EXPECT_EQ(found.size(), 3U);
        }
    });
    all_at_once([&](TestConnection& client, int number) {
        for (int i = 0; i < rounds_; ++i)
            run(client, fmt::format(R"({{"update": "c", "updates": [
                {{"q": {{"_id": {}}}, "u": {{"$set": {{"n": {}}}}}}}]}})",
                                    1 + number % 3, i * kClients + number));
    });
    is_done = true;
    reader.join();
    expect_valid();
}

// A command that changes collections and indexes has the database alone.
TEST_P(SideBySideTest, CollectionsComeAndGoUnderWriters) {
    std::atomic<bool> is_done = false;
    std::thread other([&] {
        while (!is_done) {
            TestConnection::run(R"({"drop": "c"})");
            TestConnection::run(R"({"createIndexes": "c", "indexes": [
                {"key": {"k": 1}, "name": "k", "unique": true}]})");
            const bson::Object report = TestConnection::run(R"({"validate": "c", "full": true})");
            EXPECT_TRUE(code(report) != 0 || report["valid"].truthy()) << bson::to_text(report);
            TestConnection::run(R"({"convertToCapped": "c", "size": 100000})");
        }
    });
    all_at_once([&](TestConnection& client, int number) {
        for (int i = 0; i < rounds_; ++i) {
            client.run(fmt::format(R"({{"insert": "c", "documents": [{{"k": [{}, "x"]}}]}})",
                                   i * kClients + number));
            client.run(R"({"update": "c", "updates": [{"q": {}, "u": {"$inc": {"n": 1}},
                                                       "multi": true}]})");
            client.run(R"({"delete": "c", "deletes": [{"q": {}, "limit": 1}]})");
        }
    });
    is_done = true;
    other.join();
    TestConnection::run(R"({"create": "c"})");
    expect_valid();
}

INSTANTIATE_TEST_SUITE_P(engines, SideBySideTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

// Batches and sorts at their limits, and how little work the quick ways do: what they examine,
// move and index, shown by the counters that serverStatus shows.
#include <fmt/core.h>

#include <algorithm>

#include "command/commands/testing/service.h"
#include "sched/memory.h"

namespace command {
namespace {

using bson::make;

class BatchLimitsTest : public ServiceTest {
  protected:
    // {_id: 0...}, each with a text of that many bytes and a: -_id.
    void insert(int count, size_t bytes, const std::string& collection = "c") {
        const std::string text(bytes, 'x');
        for (int i = 0; i < count; ++i) {
            const bson::Object doc = make("_id", i, "a", -i, "t", text);
            const bson::Object list = make("0", doc);
            bson::Builder command;
            command.append("insert", collection).append_array("documents", list);
            ASSERT_EQ(code(run(command.object())), 0);
        }
    }
    // {_id: 0..., a: _id}, as many at once as a command takes.
    void insert_small(int count) {
        constexpr int kBatch = 1000;
        for (int from = 0; from < count; from += kBatch) {
            bson::Builder command;
            command.append("insert", "c");
            {
                bson::Builder list = command.sub_array("documents");
                for (int i = from; i < std::min(count, from + kBatch); ++i)
                    list.push(make("_id", i, "a", i));
            }
            ASSERT_EQ(code(run(command.object())), 0);
        }
    }
    int64_t batch(const bson::Object& reply, const char* name) {
        return reply.doc().at_path(fmt::format("cursor.{}", name)).as_doc().field_count();
    }
    int64_t metric(const char* path) {
        return run(R"({"serverStatus": 1})", "admin")
            .doc()
            .at_path(fmt::format("metrics.{}", path))
            .to_int64();
    }
};

TEST_F(BatchLimitsTest, FirstBatchesEndAtTheirNumberOrSize) {
    insert(150, 100);
    EXPECT_EQ(batch(run(R"({"find": "c"})"), "firstBatch"), 101);
    EXPECT_EQ(query("test.c", "{}", 0).size(), 101u);
    EXPECT_EQ(query("test.c", "{}", 120).size(), 120u);
    EXPECT_EQ(get_more("test.c", 0).size(), 30u);
    // A negative number, and 1, ask for one batch and no cursor.
    EXPECT_EQ(query("test.c", "{}", -7).size(), 7u);
    EXPECT_EQ(cursor_, 0);
    EXPECT_EQ(query("test.c", "{}", 1).size(), 1u);
    EXPECT_EQ(cursor_, 0);
}

TEST_F(BatchLimitsTest, OldBatchesEndOnceTheirSizeIsExceeded) {
    insert(20, 400000);
    EXPECT_EQ(query("test.c", "{}", 0).size(), 3u);    // the third exceeds 1 MB
    EXPECT_EQ(query("test.c", "{}", 20).size(), 11u);  // the eleventh 4 MB
    EXPECT_EQ(get_more("test.c", 0).size(), 9u);
    EXPECT_EQ(query("test.c", "{}", -20).size(), 11u);
    EXPECT_EQ(cursor_, 0);
}

TEST_F(BatchLimitsTest, TheLargestDocumentsComeOneByOne) {
    const auto largest = static_cast<size_t>(bson::kDocumentBytesMax);
    const size_t frame = static_cast<size_t>(make("_id", 0, "a", 0, "t", "").doc().size());
    insert(3, largest - frame);
    bson::Object reply = run(R"({"find": "c", "batchSize": 10})");
    EXPECT_EQ(batch(reply, "firstBatch"), 1);
    EXPECT_EQ(reply.doc().at_path("cursor.firstBatch.0").as_doc().size(), bson::kDocumentBytesMax);
    for (int i = 1; i < 3; ++i) {
        const int64_t id = reply.doc().at_path("cursor.id").to_int64();
        ASSERT_NE(id, 0);
        reply = run(make("getMore", id, "collection", "c"));
        EXPECT_EQ(batch(reply, "nextBatch"), 1);
    }
    EXPECT_EQ(query("test.c", "{}", 3).size(), 1u);
    // One byte more is too much.
    const std::string text(largest - frame + 1, 'x');
    const bson::Object list = make("0", make("_id", 9, "a", 0, "t", text));
    bson::Builder command;
    command.append("insert", "c").append_array("documents", list);
    const bson::Object refused = run(command.object());
    EXPECT_TRUE(code(refused) != 0 || refused.doc().has("writeErrors")) << bson::to_text(refused);
    EXPECT_EQ(this->text(run(R"({"count": "c"})"), "n"), "3");
}

TEST_F(BatchLimitsTest, UnindexedSortsOfOldMessagesEndAt32Megabytes) {
    insert(31, 1 << 20);
    EXPECT_EQ(code(run(R"({"find": "c", "sort": {"a": 1}, "batchSize": 1})")), 0);
    const bson::Object doc = make("_id", 31, "a", -31, "t", std::string(1 << 20, 'x'));
    bson::Builder command;
    command.append("insert", "c").append_array("documents", make("0", doc));
    run(command.object());
    EXPECT_EQ(code(run(R"({"find": "c", "sort": {"a": 1}, "batchSize": 1})")), 0);
    query("test.c", R"({"$query": {}, "$orderby": {"a": 1}})", 0);
    EXPECT_NE(reply_flags_ & wire::ReplyWriter::kQueryFailure, 0);
    // The top few need no more room than they take, and an index none.
    EXPECT_EQ(batch(run(R"({"find": "c", "sort": {"a": 1}, "limit": 5})"), "firstBatch"), 5);
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    EXPECT_EQ(code(run(R"({"find": "c", "sort": {"a": 1}, "batchSize": 1})")), 0);
}

// A command that goes through a whole collection remembers a few bytes of a record at most.
TEST_F(BatchLimitsTest, MemoryForAWholeCollection) {
    constexpr int kDocuments = 120'000;
    constexpr int64_t kBytes = 9 * kDocuments;
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    insert_small(kDocuments);
    sched::memory::set_limits(kBytes, sched::memory::kAllBytes);
    for (const char* command :
         {R"({"validate": "c"})", R"({"validate": "c", "full": true})", R"({"dbHash": 1})",
          R"({"count": "c", "query": {"$or": [{"a": {"$gte": 7}}, {"a": -1}]}})",
          R"({"update": "c", "updates": [{"q": {"a": {"$gte": 0}}, "multi": true,
              "u": {"$inc": {"a": 1}}}]})",
          R"({"createIndexes": "c", "indexes": [{"key": {"a": -1}, "name": "b"}]})",
          R"({"dropIndexes": "c", "index": "b"})", R"({"compact": "c"})",
          R"({"repairDatabase": 1})", R"({"validate": "c", "full": true})",
          R"({"delete": "c", "deletes": [{"q": {"a": {"$gte": 0}}, "limit": 0}]})"}) {
        const bson::Object reply = run(command);
        EXPECT_EQ(code(reply), 0) << command << ": " << bson::to_text(reply);
        EXPECT_FALSE(reply.doc().has("writeErrors")) << command << ": " << bson::to_text(reply);
        EXPECT_TRUE(!reply.doc().has("valid") || reply["valid"].truthy()) << command;
        EXPECT_TRUE(!reply.doc().has("n") || reply["n"].to_int64() >= kDocuments - 7) << command;
    }
    sched::memory::set_limits(sched::memory::kOperationBytes, sched::memory::kAllBytes);
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "0");
}

TEST_F(BatchLimitsTest, AnIndexedSortStreams) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    insert(2000, 10);
    const int64_t before = metric("queryExecutor.scanned");
    EXPECT_EQ(batch(run(R"({"find": "c", "sort": {"a": 1}, "batchSize": 10})"), "firstBatch"), 10);
    EXPECT_LE(metric("queryExecutor.scanned") - before, 11);
    const bson::Object plan =
        query("test.c", R"({"$query": {}, "$orderby": {"a": 1}, "$explain": true})", -5).at(0);
    EXPECT_EQ(text(plan, "n"), "5");
    EXPECT_LE(plan["nscanned"].to_int64(), 6);
    EXPECT_EQ(text(plan, "scanAndOrder"), "false");
    const int64_t before_aggregate = metric("queryExecutor.scanned");
    EXPECT_EQ(batch(run(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$sort": {"a": -1}},
                            {"$skip": 2}, {"$limit": 8}]})"),
                    "firstBatch"),
              10 - 2);
    EXPECT_LE(metric("queryExecutor.scanned") - before_aggregate, 11);
    EXPECT_EQ(metric("operation.scanAndOrder"), 0);
}

TEST_F(BatchLimitsTest, CountingByAnIndexTouchesNoDocuments) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    insert(500, 10);
    run(R"({"profile": 2})");
    const auto counted = [this](const std::string& filter) {
        const bson::Object reply = run(fmt::format(R"({{"count": "c", "query": {}}})", filter));
        const bson::Object entry =
            query("test.system.profile",
                  R"({"$query": {"command.count": "c"}, "$orderby": {"$natural": -1}})", -1)
                .at(0);
        return fmt::format("{}: {} keys, {} documents", text(reply, "n"), text(entry, "nscanned"),
                           text(entry, "nscannedObjects"));
    };
    EXPECT_EQ(counted(R"({"a": {"$gt": -100}})"), "100: 100 keys, 0 documents");
    EXPECT_EQ(counted(R"({"a": -5})"), "1: 1 keys, 0 documents");
    EXPECT_EQ(counted(R"({"t": "xxxxxxxxxx"})"), "500: 500 keys, 500 documents");
}

TEST_F(BatchLimitsTest, UpdatesInPlaceNeitherMoveNorIndex) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    run(R"({"profile": 2})");
    insert(1, 10);
    const auto last_update = [this] {
        return query("test.system.profile",
                     R"({"$query": {"op": "update"}, "$orderby": {"$natural": -1}})", -1)
            .at(0);
    };
    const int64_t fast = metric("operation.fastmod");
    run(R"({"update": "c", "updates": [{"q": {"_id": 0}, "u": {"$set": {"t": "yyyyyyyyyy"}}}]})");
    EXPECT_EQ(metric("operation.fastmod"), fast + 1);
    EXPECT_EQ(metric("record.moves"), 0);
    EXPECT_EQ(last_update()["keyUpdates"].to_int64(), 0);
    EXPECT_TRUE(last_update()["fastmod"].truthy());
    // An indexed field costs keys, growth costs a move.
    run(R"({"update": "c", "updates": [{"q": {"_id": 0}, "u": {"$inc": {"a": 1}}}]})");
    EXPECT_GT(last_update()["keyUpdates"].to_int64(), 0);
    const std::string text(5000, 'z');
    run(fmt::format(
        R"({{"update": "c", "updates": [{{"q": {{"_id": 0}}, "u": {{"$set": {{"t": "{}"}}}}}}]}})",
        text));
    EXPECT_EQ(metric("record.moves"), 1);
    EXPECT_EQ(last_update()["nmoved"].to_int64(), 1);
}

}  // namespace
}  // namespace command

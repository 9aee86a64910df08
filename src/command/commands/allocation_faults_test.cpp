// Every kind of request, with one of its allocations failing after the other: the request ends with
// an error or as if nothing had been, what it wrote is whole, and the server lives on.
#include <fmt/core.h>

#include "base/testing/effort.h"
#include "command/commands/testing/service.h"
#include "sched/testing/failing_memory.h"

namespace command {
namespace {

using bson::make;

class AllocationFaultsTest : public ServiceTest {
  protected:
    AllocationFaultsTest() : ServiceTest(true) {
        service_->access_control().enabled = false;
        fill();
    }
    ~AllocationFaultsTest() override { sched::test::fail_allocation(0); }

    static constexpr const char* kCollections[] = {"c", "ring", "made", "out", "other"};

    void fill() {
        for (const char* name : kCollections)
            run(make("drop", name));
        run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"},
                {"key": {"b.x": -1, "a": 1}, "name": "b"}]})");
        run(R"({"create": "ring", "capped": true, "size": 8192})");
        for (int i = 0; i < 40; ++i) {
            const bson::Object doc =
                make("_id", i, "a", i % 7, "b", make("x", i), "t", std::string(200, 'x'));
            bson::Builder command;
            command.append("insert", "c").append_array("documents", make("0", doc));
            ASSERT_EQ(code(run(command.object())), 0);
            bson::Builder other;
            other.append("insert", "ring").append_array("documents", make("0", doc));
            ASSERT_EQ(code(run(other.object())), 0);
        }
    }

    // Expects every collection to say the same with and without its indexes.
    void expect_valid(const std::string& what) {
        for (const char* name : kCollections) {
            const bson::Object report =
                run(fmt::format(R"({{"validate": "{}", "full": true}})", name));
            if (report["ok"].truthy()) {
                EXPECT_TRUE(report["valid"].truthy()) << what << ": " << bson::to_text(report);
            }
        }
        EXPECT_EQ(code(run(R"({"ping": 1})")), 0) << what;
    }

    // Runs it again and again, each time with a later one of its allocations failing, until none is
    // left to fail.
    void break_all(const std::string& command, const std::string& db, size_t bytes) {
        const int64_t step = base::test_effort(10) >= 10 ? 1 : 7;
        int64_t failures = 0;
        for (int64_t nth = 1; nth < 100'000; nth += step) {
            const bson::Object request = bson::from_json(command);
            sched::test::fail_allocation(nth, bytes);
            const bson::Object reply = run(request, db);
            const bool failed = sched::test::fail_allocation(0);
            if (!reply.doc().has("ok")) {
                ADD_FAILURE() << command << ": no answer, allocation " << nth;
                open(*service_, 1);
            }
            if (!failed) break;
            ++failures;
            if (failures % 16 == 1) expect_valid(command);
            // A client that got an error goes on in this way.
            if (failures % 64 == 0) fill();
        }
        failures_ += failures;
        expect_valid(command);
        fill();
    }

    int64_t failures_ = 0;
};

TEST_F(AllocationFaultsTest, EveryKindOfRequest) {
    const std::pair<const char*, const char*> requests[] = {
        {R"({"insert": "c", "documents": [{"a": 1, "b": [{"x": 1}, {"x": 2}]}, {"a": 2}]})",
         "test"},
        {R"({"insert": "ring", "documents": [{"a": 1}, {"a": 2}]})", "test"},
        {R"({"insert": "made", "documents": [{"a": 1}]})", "test"},
        {R"({"update": "c", "updates": [{"q": {"a": 3}, "multi": true,
             "u": {"$set": {"b.x": 9, "z.y": [1, 2]}, "$push": {"l": {"$each": [3, 1],
             "$sort": 1, "$slice": -5}}, "$inc": {"a": 1}}}]})",
         "test"},
        {R"({"update": "c", "updates": [{"q": {"_id": "new"}, "upsert": true,
             "u": {"$set": {"x": 1}, "$rename": {"x": "y"}}}]})",
         "test"},
        {R"({"delete": "c", "deletes": [{"q": {"a": {"$in": [5, 6]}}, "limit": 0}]})", "test"},
        {R"({"findAndModify": "c", "query": {"a": 2}, "sort": {"b.x": 1}, "new": true,
             "update": {"$set": {"w": {"v": 1}}}})",
         "test"},
        {R"({"find": "c", "filter": {"$or": [{"a": 1}, {"b.x": {"$gt": 3}}],
             "t": {"$regex": "x+x"}}, "sort": {"t": 1, "a": -1}, "batchSize": 5})",
         "test"},
        {R"({"find": "c", "filter": {"a": {"$in": [1, 2, 3]}}, "sort": {"_id": 1},
             "projection": {"b": {"$elemMatch": {"x": 1}}, "t": 1}})",
         "test"},
        {R"({"explain": {"find": "c", "filter": {"a": 1}, "sort": {"b": 1}}})", "test"},
        {R"({"count": "c", "query": {"a": {"$lt": 4}}})", "test"},
        {R"({"distinct": "c", "key": "b.x", "query": {"a": {"$ne": 1}}})", "test"},
        {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"a": {"$gt": 0}}},
             {"$project": {"a": 1, "s": {"$concat": ["$t", "y"]}, "b": "$b.x"}},
             {"$group": {"_id": "$a", "l": {"$push": "$b"}, "u": {"$addToSet": "$s"}}},
             {"$unwind": "$l"}, {"$sort": {"l": -1}}, {"$limit": 7}]})",
         "test"},
        {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"a": 1}},
             {"$out": "out"}]})",
         "test"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"t": 1, "a": 1}, "name": "new"}]})",
         "test"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"_id": "hashed"}, "name": "h",
             "background": true}]})",
         "test"},
        {R"({"dropIndexes": "c", "index": "a"})", "test"},
        {R"({"reIndex": "c"})", "test"},
        {R"({"compact": "c"})", "test"},
        {R"({"convertToCapped": "other", "size": 10000})", "test"},
        {R"({"cloneCollectionAsCapped": "c", "toCollection": "other", "size": 10000})", "test"},
        {R"({"renameCollection": "test.ring", "to": "test.other", "dropTarget": true})", "admin"},
        {R"({"listCollections": 1})", "test"},
        {R"({"listIndexes": "c"})", "test"},
        {R"({"listDatabases": 1})", "admin"},
        {R"({"collStats": "c"})", "test"},
        {R"({"dbStats": 1})", "test"},
        {R"({"validate": "c", "full": true})", "test"},
        {R"({"dbHash": 1})", "test"},
        {R"({"serverStatus": 1})", "admin"},
        {R"({"currentOp": 1})", "admin"},
        {R"({"drop": "ring"})", "test"},
    };
    for (const auto& [command, db] : requests)
        for (const size_t bytes : {size_t{0}, size_t{1024}, size_t{64 * 1024}})
            break_all(command, db, bytes);
    EXPECT_GT(failures_, base::test_effort(1000) / 2);
}

TEST_F(AllocationFaultsTest, OldMessages) {
    for (int64_t nth = 1; nth < 2000; ++nth) {
        sched::test::fail_allocation(nth);
        query("test.c", R"({"$query": {"a": {"$gt": 1}}, "$orderby": {"b.x": 1}})", 5);
        if (!sched::test::fail_allocation(0)) break;
    }
    for (int64_t nth = 1; nth < 2000; ++nth) {
        sched::test::fail_allocation(nth);
        insert_old("test.c", {R"({"a": 1})", R"({"a": 2})"});
        update_old("test.c", R"({"a": 1})", R"({"$set": {"b": 2}})", 2);
        delete_old("test.c", R"({"b": 2})");
        if (!sched::test::fail_allocation(0)) break;
    }
    expect_valid("old messages");
}

// An old write has no reply: getLastError tells of an error wherever nothing was done.
TEST_F(AllocationFaultsTest, OldWritesThatFailAreNotTakenForDone) {
    int failures = 0;
    for (int nth = 1; nth < 2000; ++nth) {
        sched::test::fail_allocation(nth);
        update_old("test.c", R"({"_id": 5})", fmt::format(R"({{"$set": {{"mark": {}}}}})", nth), 0);
        const bool failed = sched::test::fail_allocation(0);
        const bson::Object told = run(R"({"getLastError": 1, "j": true})");
        const std::string done =
            text(run(fmt::format(R"({{"count": "c", "query": {{"mark": {}}}}})", nth)), "n");
        EXPECT_TRUE(told["err"].is_string() || done == "1") << nth << ": " << bson::to_text(told);
        failures += told["err"].is_string() ? 1 : 0;
        if (!failed) break;
    }
    EXPECT_GT(failures, 0);
}

// An opener that has failed leaves no cursor.
TEST_F(AllocationFaultsTest, FirstBatches) {
    for (const char* command : {R"({"find": "c", "filter": {"a": {"$gte": 0}}, "batchSize": 2})",
                                R"({"aggregate": "c", "pipeline": [], "cursor": {"batchSize": 2}})",
                                R"({"listIndexes": "c", "cursor": {"batchSize": 1}})",
                                R"({"parallelCollectionScan": "c", "numCursors": 1})"}) {
        for (int64_t nth = 1; nth < 2000; ++nth) {
            sched::test::fail_allocation(nth);
            const bson::Object reply = run(command);
            const bool failed = sched::test::fail_allocation(0);
            ASSERT_TRUE(reply.doc().has("ok")) << command;
            if (code(reply) != 0)
                EXPECT_EQ(service_->cursors().counts().open, 0) << command << nth;
            else
                service_->cursors().kill_database("test");
            if (!failed) break;
        }
    }
}

TEST_F(AllocationFaultsTest, BatchesOfCursors) {
    for (int64_t nth = 1; nth < 2000; ++nth) {
        const bson::Object first =
            run(R"({"find": "c", "filter": {"a": {"$gte": 0}}, "batchSize": 2})");
        const int64_t id = first.doc().at_path("cursor.id").to_int64();
        ASSERT_NE(id, 0);
        sched::test::fail_allocation(nth);
        run(make("getMore", id, "collection", "c", "batchSize", 3));
        const bool failed = sched::test::fail_allocation(0);
        kill_old(id);
        if (!failed) break;
    }
    EXPECT_EQ(service_->cursors().counts().open, 0);
}

}  // namespace
}  // namespace command

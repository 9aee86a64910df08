// Readers of a log of writes from a time on find their place without a scan of what is older, and
// get what a scan would give.
#include <fmt/core.h>

#include "catalog/ring_marks.h"
#include "command/commands/testing/service.h"

namespace command {
namespace {

constexpr const char* kLog = "local.oplog.rs";
constexpr int32_t kOplogReplay = wire::kOplogReplay | wire::kSlaveOk;

class OplogReadersTest : public EachEngineTest {
  protected:
    // Makes a log of about that many MB, in entries of 8 KB with the `ts` first, first + 1, ...
    void make_log(int megabytes, const std::string& ns = kLog) {
        const catalog::Namespace parts = catalog::split(ns);
        run_old(
            fmt::format(R"({{"create": "{}", "capped": true, "size": {}, "autoIndexId": false}})",
                        parts.collection, megabytes << 20),
            std::string(parts.db));
    }
    void append(uint64_t first, uint64_t count, const std::string& ns = kLog) {
        const storage::DatabaseLock lock(engine_->locks(), catalog::split(ns).db, true);
        catalog::Collection& log = *catalog_->collection(ns);
        for (uint64_t ts = first; ts < first + count; ++ts)
            log.insert(entry(ts).doc());
    }
    static bson::Object entry(uint64_t ts) {
        bson::Builder b;
        b.append_timestamp("ts", ts).append("op", "n").append("pad", std::string(kPad, 'x'));
        return b.object();
    }
    // {ts: {$gte: ...}}
    static bson::Object since(uint64_t ts, const char* op = "$gte") {
        bson::Builder b;
        {
            bson::Builder condition = b.sub_object("ts");
            condition.append_timestamp(op, ts);
        }
        return b.object();
    }
    // The values of `ts` that a query gives.
    std::vector<uint64_t> read(const bson::Object& filter, int32_t flags,
                               const std::string& ns = kLog) {
        std::vector<uint64_t> found;
        std::vector<bson::Object> batch = documents(query_bytes(ns, filter, 0, flags));
        for (;;) {
            for (const bson::Object& doc : batch)
                found.push_back(doc["ts"].as_timestamp());
            if (cursor_ == 0) return found;
            batch = get_more(ns, 0);
        }
    }
    static std::vector<uint64_t> range(uint64_t first, uint64_t end) {
        std::vector<uint64_t> out;
        for (; first < end; ++first)
            out.push_back(first);
        return out;
    }
    // Returns how many documents a query looks at.
    int64_t examined(const bson::Object& filter, int32_t flags, const std::string& ns = kLog) {
        bson::Builder b;
        b.append("$query", filter.doc()).append("$explain", true);
        const auto replies = documents(query_bytes(ns, b.object(), 0, flags));
        return replies.at(0)["nscannedObjects"].to_int64();
    }
    uint64_t oldest() {
        return documents(query_bytes(kLog, bson::Object(), -1, 0)).at(0)["ts"].as_timestamp();
    }

    static constexpr size_t kPad = 8000;
    // Documents between two marks, and a few more.
    static constexpr int64_t kNear = catalog::RingMarks::kBytesApart / kPad + 10;
};

TEST_P(OplogReadersTest, FindTheirPlaceByMarks) {
    make_log(16);
    append(1000, 1000);  // about 8 MB
    EXPECT_EQ(read(since(1900), kOplogReplay), range(1900, 2000));
    // The first walk goes back to the place, the next ones begin at a mark.
    for (const uint64_t ts : {1990, 1950, 1901, 1999, 2000, 3000})
        EXPECT_LE(examined(since(ts), kOplogReplay), kNear + 100) << ts;
    EXPECT_EQ(read(since(1100), kOplogReplay), range(1100, 2000));
    for (uint64_t ts = 1100; ts < 2000; ts += 97) {
        const int64_t found = static_cast<int64_t>(2000 - ts);
        EXPECT_LE(examined(since(ts), kOplogReplay), found + kNear) << ts;
    }
    // Older than all of it.
    EXPECT_EQ(read(since(1), kOplogReplay), range(1000, 2000));
    EXPECT_EQ(examined(since(1), kOplogReplay), 1000);
}

TEST_P(OplogReadersTest, FindWhatCameSince) {
    make_log(16);
    append(1000, 500);
    EXPECT_EQ(read(since(1499), kOplogReplay), range(1499, 1500));
    append(1500, 500);
    EXPECT_EQ(read(since(1950), kOplogReplay), range(1950, 2000));
    EXPECT_LE(examined(since(1950), kOplogReplay), 50 + kNear);
    EXPECT_LE(examined(since(1999, "$gt"), kOplogReplay), kNear);
}

TEST_P(OplogReadersTest, FollowTheRingRound) {
    make_log(4);
    append(1000, 300);
    EXPECT_EQ(read(since(0), kOplogReplay), range(oldest(), 1300));
    uint64_t end = 1300;
    for (int round = 0; round < 40; ++round) {
        append(end, 61);
        end += 61;
        const uint64_t first = oldest();
        ASSERT_GT(end - first, 300U);
        for (const uint64_t ts : {first - 1, first, first + 1, first + 40, end - 100, end - 1}) {
            ASSERT_EQ(read(since(ts), kOplogReplay), range(std::max(ts, first), end)) << round;
            ASSERT_EQ(read(since(ts, "$gt"), kOplogReplay), range(std::max(ts + 1, first), end));
            const auto found = static_cast<int64_t>(end - std::max(ts, first));
            ASSERT_LE(examined(since(ts), kOplogReplay), found + kNear) << round;
        }
    }
    EXPECT_GT(oldest(), 1300U);
}

// Later servers need no word for it where the collection is called as a log.
TEST_P(OplogReadersTest, NeedAFlagOnlyForOtherRings) {
    make_log(8);
    append(1, 800);
    EXPECT_EQ(read(since(790), 0), range(790, 801));
    EXPECT_LE(examined(since(790), 0), 11 + kNear);
    const bson::Object reply =
        run(bson::make("find", "oplog.rs", "filter", since(795).doc(), "batchSize", 1000), "local");
    EXPECT_EQ(reply["cursor"].as_doc()["firstBatch"].as_doc().field_count(), 6);

    make_log(8, "test.ring");
    append(1, 800, "test.ring");
    EXPECT_EQ(read(since(790), 0, "test.ring"), range(790, 801));
    EXPECT_EQ(examined(since(790), 0, "test.ring"), 800);
    EXPECT_EQ(read(since(790), kOplogReplay, "test.ring"), range(790, 801));
    EXPECT_LE(examined(since(790), kOplogReplay, "test.ring"), 11 + kNear);
}

TEST_P(OplogReadersTest, UnderstandEachFormOfALowerEnd) {
    make_log(8);
    append(1, 800);
    bson::Builder equal;
    equal.append_timestamp("ts", 700);
    EXPECT_EQ(read(equal.object(), 0), range(700, 701));
    EXPECT_LE(examined(equal.object(), 0), 800 - 700 + kNear);
    bson::Builder both;
    {
        bson::Builder parts = both.sub_array("$and");
        parts.append("0", since(500).doc()).append("1", since(750).doc());
    }
    EXPECT_EQ(read(both.object(), kOplogReplay), range(750, 801));
    EXPECT_LE(examined(both.object(), kOplogReplay), 51 + kNear);
    // No lower end: everything is read.
    EXPECT_EQ(read(since(10, "$lt"), 0), range(1, 10));
    EXPECT_EQ(examined(since(10, "$lt"), 0), 800);
    // Nor one for a scan that begins at the newest.
    bson::Builder backward;
    {
        bson::Builder order = backward.append("$query", since(799).doc()).sub_object("$orderby");
        order.append("$natural", -1);
    }
    EXPECT_EQ(read(backward.object(), 0), (std::vector<uint64_t>{800, 799}));
}

// A log that stands in no order of time is scanned.
TEST_P(OplogReadersTest, LoseNothingWhereTheOrderIsBroken) {
    make_log(8);
    append(500, 300);
    EXPECT_EQ(read(since(700), 0).size(), 100U);
    append(650, 100);  // older than those before
    std::vector<uint64_t> wanted = range(700, 800);
    for (const uint64_t ts : range(700, 750))
        wanted.push_back(ts);
    EXPECT_EQ(read(since(700), 0), wanted);
    EXPECT_EQ(examined(since(700), 0), 400);

    make_log(8, "local.oplog.$main");  // met by the walk back
    append(500, 300, "local.oplog.$main");
    append(650, 100, "local.oplog.$main");
    EXPECT_EQ(read(since(640), 0, "local.oplog.$main").size(), 160U + 100U);
}

TEST_P(OplogReadersTest, LoseNothingWhereDocumentsAreChangedOrGone) {
    make_log(4);
    append(1, 400);
    const uint64_t first = oldest();
    EXPECT_EQ(read(since(0), 0), range(first, 401));
    const bson::Object truncated = run(R"({"captrunc": "oplog.rs", "n": 50})", "local");
    EXPECT_EQ(code(truncated), 0) << bson::to_text(truncated.doc());
    EXPECT_EQ(read(since(340), 0), range(340, 351));
    append(351, 20);
    EXPECT_EQ(read(since(340), 0), range(340, 371));
    EXPECT_LE(examined(since(370), 0), kNear);
    EXPECT_EQ(code(run(R"({"emptycapped": "oplog.rs"})", "local")), 0);
    EXPECT_EQ(read(since(340), 0), range(0, 0));
    append(10, 20);
    EXPECT_EQ(read(since(15), 0), range(15, 30));
}

TEST_P(OplogReadersTest, TailFromTheirPlaceOn) {
    make_log(8);
    append(1, 500);
    const auto batch = documents(query_bytes(kLog, since(499), 0, kOplogReplay | wire::kTailable));
    EXPECT_EQ(batch.size(), 2U);
    ASSERT_NE(cursor_, 0);
    append(501, 3);
    EXPECT_EQ(get_more(kLog, 0).size(), 3U);
    // None yet, and the cursor waits for it.
    EXPECT_TRUE(
        documents(query_bytes(kLog, since(600), 0, kOplogReplay | wire::kTailable)).empty());
    ASSERT_NE(cursor_, 0);
    append(504, 100);
    EXPECT_EQ(get_more(kLog, 0).size(), 4U);
}

TEST_P(OplogReadersTest, SeeHowLargeTheRingIs) {
    make_log(4);
    const bson::Object by_command = run(R"({"collStats": "oplog.rs"})", "local");
    EXPECT_GE(by_command["maxSize"].to_int64(), 4 << 20);
    EXPECT_LT(by_command["maxSize"].to_int64(), 5 << 20);
    EXPECT_TRUE(run_old(R"({"collStats": "oplog.rs"})", "local")["maxSize"].missing());
    const bson::Object by_stage = run(
        R"({"aggregate": "oplog.rs", "cursor": {},
            "pipeline": [{"$collStats": {"storageStats": {"scale": 1024}}}]})",
        "local");
    const bson::Doc stats =
        by_stage["cursor"].as_doc()["firstBatch"].as_doc()["0"].as_doc()["storageStats"].as_doc();
    EXPECT_EQ(stats["maxSize"].to_int64(), by_command["maxSize"].to_int64() / 1024);
    run(R"({"create": "plain"})");
    EXPECT_TRUE(run(R"({"collStats": "plain"})")["maxSize"].missing());
}

INSTANTIATE_TEST_SUITE_P(engines, OplogReadersTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

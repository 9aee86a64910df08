// Sorts in memory of more than they may hold: how many rows are wanted reaches the sort in every
// dialect, and a plan that needs no sort takes over from one that fails.
#include <fmt/core.h>

#include "base/error.h"
#include "command/commands/testing/service.h"
#include "spill/run.h"

namespace command {
namespace {

constexpr int kCount = 40;
constexpr int kQueryFailed = 17144;
constexpr int kGetMoreFailed = 17406;

class SortLimitTest : public EachEngineTest {
  protected:
    // 40 MB in `c`; `a` counts down.
    void SetUp() override {
        const std::string megabyte(1 << 20, 'x');
        for (int i = 0; i < kCount; ++i)
            insert_old("test.c", {fmt::format(R"({{"_id": {}, "a": {}, "x": "{}"}})", i, kCount - i,
                                              megabyte)});
    }

    static std::string ids(const std::vector<bson::Object>& docs) {
        std::string list;
        for (const bson::Object& doc : docs)
            list += fmt::format("{}{}", list.empty() ? "" : " ",
                                doc.doc().has("_id") ? doc["_id"].to_int32() : -1);
        return list;
    }
    static std::string ids(const bson::Element& array) {
        std::vector<bson::Object> docs;
        for (const bson::Element& e : array.as_doc())
            docs.emplace_back(e.as_doc());
        return ids(docs);
    }
    std::string first_batch(const std::string& command) {
        const bson::Object reply = run(command);
        if (code(reply) != 0) return fmt::format("error {}", code(reply));
        cursor_ = reply.doc().at_path("cursor.id").to_int64();
        return ids(reply.doc().at_path("cursor.firstBatch"));
    }
};

const char kByA[] = R"({"$query": {}, "$orderby": {"a": 1}})";

TEST_P(SortLimitTest, ANumberOfTheOldDialectReachesTheSort) {
    for (const int n : {2, 3, -2, -3}) {
        EXPECT_EQ(ids(query("test.c", kByA, n)), std::abs(n) == 2 ? "39 38" : "39 38 37") << n;
        EXPECT_EQ(cursor_ != 0, n > 0) << n;
    }
    EXPECT_EQ(ids(query("test.c", kByA, 1)), "39");
    EXPECT_EQ(cursor_, 0);
}

// The top few are enough only until more is asked for.
TEST_P(SortLimitTest, AnythingElseFailsWithTheCodeOfItsMessage) {
    for (const int n : {0, 38, -38})
        EXPECT_EQ(query("test.c", kByA, n).at(0)["code"].to_int32(), kQueryFailed) << n;
    EXPECT_EQ(ids(query("test.c", kByA, 5)), "39 38 37 36");  // a batch is 4 MB
    EXPECT_EQ(ids(get_more("test.c", 1)), "35");
    EXPECT_EQ(get_more("test.c", 1).at(0)["code"].to_int32(), kGetMoreFailed);
    EXPECT_EQ(cursor_, 0);
}

TEST_P(SortLimitTest, ALimitReachesTheSortOfCommands) {
    const std::string find = R"({"find": "c", "projection": {"a": 1}, "sort": {"a": 1})";
    EXPECT_EQ(first_batch(find + R"(, "limit": 3})"), "39 38 37");
    EXPECT_EQ(first_batch(find + R"(, "limit": 3, "skip": 2})"), "37 36 35");
    EXPECT_EQ(first_batch(find + R"(, "limit": -3})"), "error 51024");
    EXPECT_EQ(first_batch(find + R"(, "batchSize": 3, "singleBatch": true})"), "39 38 37");
    EXPECT_EQ(first_batch(find + R"(, "ntoreturn": 3})"), "39 38 37");
    EXPECT_NE(cursor_, 0);
    // Today's clients have 100 MB.
    EXPECT_EQ(first_batch(find + "}").substr(0, 8), "39 38 37");
    EXPECT_EQ(first_batch(find + R"(, "batchSize": 3})"), "39 38 37");
    EXPECT_EQ(first_batch(R"({"aggregate": "c", "pipeline": [{"$sort": {"a": 1}}, {"$skip": 1},
                              {"$limit": 2}, {"$project": {"a": 1}}], "cursor": {}})"),
              "38 37");
    const bson::Object found = run(R"({"findAndModify": "c", "query": {}, "sort": {"a": 1},
                                       "fields": {"a": 1}, "update": {"$set": {"y": 1}}})");
    EXPECT_EQ(found.doc().at_path("value._id").to_int32(), 39);
}

TEST_P(SortLimitTest, ThePlanInOrderWinsOverAnOverflow) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"b": 1}, "name": "b"},
                                              {"key": {"d": 1}, "name": "d"}]})");
    for (const char* filter : {R"({"b": null})", R"({"b": null, "d": null})", R"({"d": null})"}) {
        const std::string old =
            fmt::format(R"({{"$query": {}, "$orderby": {{"_id": -1}}}})", filter);
        EXPECT_EQ(query("test.c", old, 0).at(0)["_id"].to_int32(), kCount - 1) << filter;
        EXPECT_EQ(first_batch(fmt::format(R"({{"find": "c", "filter": {}, "sort": {{"_id": -1}},
                                               "projection": {{"a": 1}}, "batchSize": 2}})",
                                          filter)),
                  "39 38");
        const bson::Object found =
            run(fmt::format(R"({{"findAndModify": "c", "query": {}, "sort": {{"_id": 1}},
                                 "fields": {{"a": 1}}, "update": {{"$set": {{"y": 2}}}}}})",
                            filter));
        EXPECT_EQ(found.doc().at_path("value._id").to_int32(), 0);
    }
    // A query without such a plan fails, as the sort of each of its plans does.
    const char kNoOrder[] = R"({"$query": {"b": null, "d": null}, "$orderby": {"a": 1}})";
    EXPECT_EQ(query("test.c", kNoOrder, 0).at(0)["code"].to_int32(), kQueryFailed);
    // A pipeline sorts by itself, within its own limit.
    EXPECT_EQ(first_batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [
                  {"$match": {"b": null, "d": null}}, {"$sort": {"a": 1}},
                  {"$project": {"a": 1}}, {"$limit": 2}]})"),
              "39 38");
}

// A find sorts on the disk where it says so, as with later servers.
TEST_P(SortLimitTest, WithDiskUseThereIsNoLimit) {
    const std::string find =
        R"({"find": "c", "projection": {"a": 1}, "sort": {"a": 1}, "allowDiskUse": )";
    std::string expected;
    for (int i = kCount - 1; i >= 0; --i)
        expected += fmt::format("{}{}", expected.empty() ? "" : " ", i);
    EXPECT_EQ(first_batch(find + "true}"), expected);
    EXPECT_EQ(first_batch(find + "false}"), expected);  // within the 100 MB
    EXPECT_EQ(first_batch(find + "1}"), fmt::format("error {}", base::kTypeMismatch));
    EXPECT_EQ(first_batch(find + R"(true, "batchSize": 2})"), "39 38");
    EXPECT_EQ(ids(get_more("test.c", 3)), "37 36 35");
    run(fmt::format(R"({{"killCursors": "c", "cursors": [{{"$numberLong": "{}"}}]}})", cursor_));
    EXPECT_EQ(spill::bytes_on_disk(), 0);
    EXPECT_EQ(first_batch(R"({"aggregate": "c", "cursor": {}, "allowDiskUse": true, "pipeline": [
                  {"$sort": {"a": 1}}, {"$project": {"a": 1}}]})"),
              expected);
    EXPECT_EQ(code(run(R"({"explain": {"find": "c", "sort": {"a": 1}, "allowDiskUse": true}})")),
              0);
    EXPECT_EQ(spill::bytes_on_disk(), 0);
}

TEST_P(SortLimitTest, TheWholeSortFollowsTheTopFew) {
    run(R"({"drop": "c"})");
    for (int i = 0; i < 60; ++i)
        insert_old("test.c", {fmt::format(R"({{"_id": {}, "a": {}}})", i, i * 7 % 60)});
    std::vector<bson::Object> all = query("test.c", kByA, 10);
    EXPECT_EQ(all.size(), 10U);
    while (cursor_ != 0) {
        for (bson::Object& doc : get_more("test.c", 13))
            all.push_back(std::move(doc));
    }
    ASSERT_EQ(all.size(), 60U);
    for (int i = 0; i < 60; ++i)
        EXPECT_EQ(all[static_cast<size_t>(i)]["a"].to_int32(), i);
    // It reads what is there by then.
    EXPECT_EQ(query("test.c", kByA, 10).size(), 10U);
    run(R"({"delete": "c", "deletes": [{"q": {"a": {"$lt": 55}}, "limit": 0}]})");
    EXPECT_EQ(get_more("test.c", 0).size(), 5U);
    EXPECT_EQ(cursor_, 0);
}

INSTANTIATE_TEST_SUITE_P(engines, SortLimitTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

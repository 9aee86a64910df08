#include "query/plan/sort.h"
#include "dialect/dialect.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/testing/json.h"
#include "os/testing/directory.h"
#include "sched/memory.h"
#include "sched/memory_metrics.h"
#include "sched/operation.h"
#include "spill/run.h"

namespace query {
namespace {

using Ids = std::vector<int>;

// The _ids of the documents in sorted order.
Ids sorted(const char* pattern, const std::vector<const char*>& docs, int64_t limit = 0,
           const char* filter = "{}") {
    const auto matcher = Matcher::parse(bson::parse_test_json(filter));
    DocumentSorter sorter(SortPattern(bson::parse_test_json(pattern), matcher.get()), limit);
    for (const char* doc : docs)
        sorter.add(bson::parse_test_json(doc), 0, {});
    sorter.finish();
    Ids ids;
    bson::Doc doc;
    uint64_t tag = 0;
    MatchDetails details;
    while (sorter.next(&doc, &tag, &details))
        ids.push_back(doc["_id"].to_int32());
    return ids;
}

TEST(Sort, DirectionsAndTypes) {
    const std::vector<const char*> docs = {R"({"_id": 1, "a": "x"})", R"({"_id": 2, "a": 5})",
                                           R"({"_id": 3})", R"({"_id": 4, "a": [7, 1]})"};
    EXPECT_EQ(sorted(R"({"a": 1})", docs), (Ids{3, 4, 2, 1}));
    EXPECT_EQ(sorted(R"({"a": -1})", docs), (Ids{1, 4, 2, 3}));
}

TEST(Sort, EqualKeysKeepTheirOrder) {
    std::vector<std::string> texts;
    std::vector<const char*> docs;
    texts.reserve(100);
    docs.reserve(100);
    for (int i = 0; i < 100; ++i)
        texts.push_back("{\"_id\": " + std::to_string(i) + ", \"a\": " + std::to_string(i % 2) +
                        "}");
    for (const std::string& text : texts)
        docs.push_back(text.c_str());
    const Ids all = sorted(R"({"a": 1})", docs);
    EXPECT_EQ(all[49], 98);
    EXPECT_EQ(all[50], 1);
    // The top ones are the same when only they are kept.
    EXPECT_EQ(sorted(R"({"a": 1})", docs, 60), Ids(all.begin(), all.begin() + 60));
    EXPECT_EQ(sorted(R"({"a": 1})", docs, 1), Ids{0});
}

TEST(Sort, EqualKeysFollowTheirTags) {
    const bson::Object doc = bson::parse_test_json(R"({"a": 1})");
    for (const int64_t limit : {0, 2}) {
        DocumentSorter sorter(SortPattern(bson::parse_test_json(R"({"a": 1})")), limit);
        for (const uint64_t tag : {7, 3, 5, 9})
            sorter.add(doc, tag, {});
        sorter.finish();
        bson::Doc found;
        uint64_t tag = 0;
        MatchDetails details;
        ASSERT_TRUE(sorter.next(&found, &tag, &details));
        EXPECT_EQ(tag, 3u);
        ASSERT_TRUE(sorter.next(&found, &tag, &details));
        EXPECT_EQ(tag, 5u);
        EXPECT_EQ(sorter.next(&found, &tag, &details), limit == 0);
    }
}

TEST(Sort, OnlyElementsThatTheFilterAllowsCount) {
    const std::vector<const char*> docs = {R"({"_id": 1, "a": [1, 9]})", R"({"_id": 2, "a": [5]})"};
    EXPECT_EQ(sorted(R"({"a": 1})", docs), (Ids{1, 2}));
    EXPECT_EQ(sorted(R"({"a": 1})", docs, 0, R"({"a": {"$gt": 2}})"), (Ids{2, 1}));
    // An $or allows the elements that one branch allows.
    const std::vector<const char*> both = {
        R"({"_id": 1, "a": [0, 8]})", R"({"_id": 2, "a": [8, 1]})", R"({"_id": 3, "a": [5, 8]})"};
    for (const char* filter :
         {R"({"$or": [{"a": 1}, {"a": 8}]})", R"({"$or": [{"a": 1}, {"a": 8, "_id": {"$gt": 0}}]})",
          R"({"_id": {"$gt": 0}, "$or": [{"a": 1}, {"$or": [{"a": 8}, {"a": 9}]}]})"})
        EXPECT_EQ(sorted(R"({"a": 1, "_id": 1})", both, 0, filter), (Ids{2, 1, 3})) << filter;
    EXPECT_EQ(sorted(R"({"a": 1})", both, 0, R"({"$or": [{"a": 8}, {"b": 1}]})"), (Ids{1, 2, 3}));
    // The other fields of an element that $elemMatch is about count, too.
    const std::vector<const char*> nested = {
        R"({"_id": 1, "a": [{"x": 5, "y": 9}, {"x": 1, "y": 1}]})",
        R"({"_id": 2, "a": [{"x": 5, "y": 4}]})"};
    EXPECT_EQ(sorted(R"({"a.x": 1, "a.y": 1})", nested, 0,
                     R"({"a": {"$elemMatch": {"x": 5, "y": {"$gt": 0}}}})"),
              (Ids{2, 1}));
}

TEST(Sort, TagsAndDetailsAreReturned) {
    DocumentSorter sorter(SortPattern(bson::parse_test_json(R"({"a": -1})")), 0);
    MatchDetails details;
    details.has_index = true;
    details.array_index = 3;
    sorter.add(bson::parse_test_json(R"({"a": 1})"), 11, details);
    sorter.add(bson::parse_test_json(R"({"a": 2})"), 12, {});
    sorter.finish();
    bson::Doc doc;
    uint64_t tag = 0;
    ASSERT_TRUE(sorter.next(&doc, &tag, &details));
    EXPECT_EQ(tag, 12u);
    EXPECT_FALSE(details.has_index);
    ASSERT_TRUE(sorter.next(&doc, &tag, &details));
    EXPECT_EQ(tag, 11u);
    EXPECT_EQ(details.array_index, 3u);
    EXPECT_FALSE(sorter.next(&doc, &tag, &details));
}

TEST(Sort, MemoryIsLimitedByWhatIsKept) {
    const bson::Object doc = bson::make("a", 1, "pad", std::string(1 << 20, 'x'));
    const SortPattern pattern(bson::parse_test_json(R"({"a": 1})"));
    DocumentSorter all(pattern, 0);
    for (int i = 0; i < 31; ++i)
        all.add(doc, 0, {});
    try {
        all.add(doc, 0, {});
        FAIL();
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), base::kOverflow);
    }
    DocumentSorter top(pattern, 10);
    for (int i = 0; i < 100; ++i)
        top.add(doc, 0, {});
}

TEST(Sort, BadPatternsAndDocuments) {
    for (const char* bad : {R"({"a": 2})", R"({"a": 0})", R"({"a": "x"})", R"({"a": true})",
                            R"({"a": {"$meta": "textScore"}})"}) {
        EXPECT_THROW(SortPattern(bson::parse_test_json(bad)), base::Error) << bad;
    }
    SortPattern truncated(bson::parse_test_json(R"({"a": {"$numberDouble": "-1.5"}})"));
    EXPECT_EQ(truncated.descending_bits(), 1u);
    EXPECT_THROW(sorted(R"({"a": 1, "b": 1})", {R"({"_id": 1, "a": [1], "b": [2]})"}), base::Error);
}

// The thread gives the memory that it keeps from one document to the next back if finding the keys
// fails.
TEST(Sort, AnErrorLeavesTheThreadNoMemory) {
    constexpr int64_t kMB = 1 << 20;
    const SortPattern pattern(bson::parse_test_json(R"({"a": 1})"));
    std::string text = R"({"a": [)";
    for (int i = 0; i < 2000; ++i)
        text += fmt::format("{}\"{}\"", i == 0 ? "" : ",", std::string(4096, 'x'));
    const bson::Object doc = bson::parse_test_json(text + "]}");
    sched::Operation operation;
    operation.start();
    const sched::Operation::Scope scope(&operation);
    const int64_t before = sched::memory::held();
    sched::memory::set_limits(before + 6 * kMB, sched::memory::kAllBytes);
    bson::Buffer key;
    EXPECT_THROW(pattern.append_key(doc.doc(), key), std::bad_alloc);
    EXPECT_LT(sched::memory::held(), before + kMB);
    sched::memory::set_limits(sched::memory::kOperationBytes, sched::memory::kAllBytes);
}

// Beyond memory the order is the same, by keys, tags and arrival, with details and whatever limit.
TEST(Sort, TheDiskGivesTheSameOrder) {
    const os::TestDirectory home;
    const std::string folder = os::join(home.path(), "_tmp");
    const SortPattern pattern(bson::parse_test_json(R"({"a": 1, "b": -1})"));
    const std::string pad(2000, 'x');
    for (const int64_t limit : {0, 1, 90, 700}) {
        const auto rows = [&](bool on_disk) {
            sched::memory::set_limits(on_disk ? 200'000 : sched::memory::kOperationBytes,
                                      sched::memory::kAllBytes);
            DocumentSorter sorter(pattern, limit, &folder);
            for (int i = 0; i < 800; ++i) {
                MatchDetails details;
                details.has_index = i % 3 == 0;
                details.array_index = static_cast<uint32_t>(i);
                sorter.add(bson::make("_id", i, "a", i * 7 % 5, "b", i % 2, "pad", pad),
                           static_cast<uint64_t>(i * 13 % 100), details);
            }
            sorter.finish();
            EXPECT_EQ(sorter.has_left_out(), limit != 0);
            EXPECT_EQ(spill::bytes_on_disk() > 0, on_disk && limit != 1);
            std::vector<std::string> found;
            bson::Doc doc;
            uint64_t tag = 0;
            MatchDetails details;
            while (sorter.next(&doc, &tag, &details)) {
                found.push_back(fmt::format("{} {} {} {}", doc["_id"].to_int32(), tag,
                                            details.has_index, details.array_index));
                if (found.size() % 10 != 1) continue;
                sorter.put_back();
                EXPECT_TRUE(sorter.next(&doc, &tag, &details));
                EXPECT_TRUE(found.back().starts_with(fmt::format("{} ", doc["_id"].to_int32())));
            }
            return found;
        };
        const auto expected = rows(false);
        EXPECT_EQ(expected.size(), limit == 0 ? 800U : static_cast<size_t>(limit));
        EXPECT_EQ(rows(true), expected) << limit;
    }
    sched::memory::set_limits(sched::memory::kOperationBytes, sched::memory::kAllBytes);
    EXPECT_EQ(spill::bytes_on_disk(), 0);
}

TEST(Sort, OfTodayHasAllDatesBeforeTimestampsAndMoreMemory) {
    const bson::Object date = bson::parse_test_json(R"({"": {"$date": {"$numberLong": "9"}}})");
    const bson::Object stamp = bson::parse_test_json(R"({"": {"$timestamp": {"t": 0, "i": 5}}})");
    const SortPattern old(bson::parse_test_json(R"({"a": 1})"));
    const SortPattern today(bson::parse_test_json(R"({"a": 1})"), nullptr, nullptr,
                            dialect::kToday);
    const SortPattern downwards(bson::parse_test_json(R"({"a": -1})"), nullptr, nullptr,
                                dialect::kToday);
    EXPECT_GT(old.compare(date, stamp), 0);
    EXPECT_LT(today.compare(date, stamp), 0);
    EXPECT_GT(downwards.compare(date, stamp), 0);
    EXPECT_EQ(old.bytes_max(), 32 << 20);
    EXPECT_EQ(today.bytes_max(), 100 << 20);
    EXPECT_EQ(old.code_of_overflow(), 15);
    EXPECT_EQ(today.code_of_overflow(), 292);
}

}  // namespace
}  // namespace query

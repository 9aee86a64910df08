// Indexes have Dates and Timestamps in the order of old servers. By OP_MSG the answers are those
// without an index all the same, also when the index was opened with its keys in it.
#include <fmt/core.h>

#include <set>
#include <string>
#include <vector>

#include "command/commands/testing/service.h"

namespace command {
namespace {

std::string date(int64_t ms) {
    return fmt::format(R"({{"$date": {{"$numberLong": "{}"}}}})", ms);
}
std::string timestamp(uint32_t seconds, uint32_t number) {
    return fmt::format(R"({{"$timestamp": {{"t": {}, "i": {}}}}})", seconds, number);
}

// Values that stand elsewhere in the order of old servers, and their neighbours.
const std::vector<std::string> kMixed{date(9),         timestamp(0, 5),     date(3),
                                      date(-7),        timestamp(100, 1),   date(429496729601),
                                      timestamp(0, 9), timestamp(70000, 1), "7"};
// Dates beyond the year 10889.
const std::vector<std::string> kLate{timestamp(70000, 1), date(int64_t{1} << 50), date(4)};
// The usual ones, whose order is the same.
const std::vector<std::string> kUsual{date(1764000000000),
                                      timestamp(1764000000, 1),
                                      date(-5),
                                      date(0),
                                      timestamp(1764000000, 0),
                                      "\"x\""};

class MixedTimesTest : public EachEngineTest {
  protected:
    // Its engine and the catalog know nothing of what was done to the files before.
    void open_again() { EXPECT_EQ(code(run_old(R"({"closeAllDatabases": 1})", "admin")), 0); }
    // `form`: of the field `a`, with {} for the value.
    void store(const std::string& form, const std::vector<std::string>& values) {
        int id = 0;
        for (const std::string& value : values) {
            const std::string a = fmt::format(fmt::runtime(form), value);
            ASSERT_EQ(
                text(run(fmt::format(
                         R"({{"insert": "c", "documents": [{{"_id": {}, "a": {}, "b": {}}}]}})", id,
                         a, id % 2)),
                     "n"),
                "1")
                << a;
            ++id;
        }
    }
    void store_one(const std::string& value) {
        EXPECT_EQ(
            text(run(fmt::format(
                     R"({{"insert": "c", "documents": [{{"_id": "late", "a": {}, "b": 1}}]}})",
                     value)),
                 "n"),
            "1");
    }
    void index(const std::string& key) {
        ASSERT_EQ(
            code(run(fmt::format(
                R"({{"createIndexes": "c", "indexes": [{{"key": {}, "name": "i"}}]}})", key))),
            0);
    }
    std::string found(const std::string& words) {
        const bson::Object reply =
            run(fmt::format(R"({{"find": "c", "projection": {{"_id": 1}}, {}}})", words));
        if (code(reply) != 0) return fmt::format("code {}", code(reply));
        return bson::to_text(reply.doc().at_path("cursor.firstBatch"));
    }
    std::string piped(const std::string& stages, const std::string& hint) {
        const bson::Object reply = run(fmt::format(
            R"({{"aggregate": "c", "pipeline": [{}], "cursor": {{}}, "hint": {}}})", stages, hint));
        return bson::to_text(reply.doc().at_path("cursor.firstBatch"));
    }
    std::multiset<std::string> values() {
        const bson::Object reply = run(R"({"distinct": "c", "key": "a"})");
        std::multiset<std::string> all;
        for (const bson::Element& value : reply["values"].as_doc())
            all.insert(bson::to_text(value));
        return all;
    }
    bool sorts(const std::string& words) {
        const bson::Object reply = run(fmt::format(R"({{"explain": {{"find": "c", {}}}}})", words));
        EXPECT_EQ(code(reply), 0) << bson::to_text(reply);
        return bson::to_text(reply.doc()).find("\"SORT\"") != std::string::npos;
    }

    // Each question by the index right after it was opened, and without it.
    void expect_same(const std::string& form, const std::vector<std::string>& stored,
                     const std::string& key, bool multikey) {
        SCOPED_TRACE(form + " by " + key);
        run(R"({"drop": "c"})");
        store(form, stored);
        if (multikey) run(R"({"insert": "c", "documents": [{"_id": "m", "a": [5, 6], "b": 1}]})");
        const std::multiset<std::string> all = values();
        index(key);
        for (const char* filter : {"{}", R"({"b": {"$in": [0, 1]}})"}) {
            for (const char* sort :
                 {R"({"a": 1})", R"({"a": -1})", R"({"b": 1, "a": 1})", R"({"b": 1, "a": -1})"}) {
                for (const char* limit : {"", R"(, "limit": 2)"}) {
                    const std::string words =
                        fmt::format(R"("filter": {}, "sort": {}{})", filter, sort, limit);
                    const std::string wanted = found(words + R"(, "hint": {"$natural": 1})");
                    open_again();
                    EXPECT_EQ(found(words + R"(, "hint": "i")"), wanted) << words;
                }
            }
        }
        const std::string stages = R"({"$sort": {"a": 1}}, {"$limit": 3})";
        const std::string wanted = piped(stages, R"({"$natural": 1})");
        open_again();
        EXPECT_EQ(piped(stages, "\"i\""), wanted) << stages;
        open_again();
        EXPECT_EQ(values(), all);
    }
};

TEST_P(MixedTimesTest, SortsByAnIndexThatWasOpenedWithThem) {
    for (const bool multikey : {false, true})
        for (const char* form : {"{}", R"({{"x": [{{"y": {}}}]}})"})
            for (const auto& stored : {kMixed, kLate, kUsual})
                for (const char* key : {R"({"a": 1})", R"({"a": -1})", R"({"a": 1, "b": 1})",
                                        R"({"b": 1, "a": -1})", R"({"b": 1, "a": 1})"})
                    expect_same(form, stored, key, multikey);
}

TEST_P(MixedTimesTest, AnIndexWithoutThemServesTheSort) {
    store("{}", kUsual);
    for (const char* key : {R"({"a": 1})", R"({"b": 1, "a": 1})"}) {
        index(key);
        open_again();
        const std::string words =
            fmt::format(R"("filter": {{"b": 1}}, "sort": {}, "hint": "i")", key);
        EXPECT_FALSE(sorts(words)) << key;
        open_again();
        EXPECT_FALSE(sorts(words)) << key;
        // It is noticed when one comes.
        store_one(timestamp(0, 5));
        EXPECT_TRUE(sorts(words)) << key;
        open_again();
        EXPECT_TRUE(sorts(words)) << key;
        run(R"({"dropIndexes": "c", "index": "i"})");
        run(R"({"delete": "c", "deletes": [{"q": {"_id": "late"}, "limit": 1}]})");
    }
}

// A range that is named by its ends is one of the index's order: it is refused, not answered.
TEST_P(MixedTimesTest, RangesByMinAndMax) {
    store("{}", kMixed);
    for (const char* key : {R"({"a": 1})", R"({"a": -1})"}) {
        index(key);
        const char* const end = key[6] == '-' ? "max" : "min";
        for (const std::string& value : {date(4), timestamp(0, 6)}) {
            open_again();
            EXPECT_EQ(found(fmt::format(R"("hint": "i", "{}": {{"a": {}}})", end, value)),
                      "code 2");
        }
        open_again();
        const char* const other = key[6] == '-' ? "min" : "max";
        EXPECT_EQ(
            found(fmt::format(R"("hint": "i", "{}": {{"a": 6}}, "{}": {{"a": 8}})", end, other)),
            "[ { _id: 8 } ]");
        run(R"({"dropIndexes": "c", "index": "i"})");
    }
    run(R"({"drop": "c"})");
    store("{}", kUsual);
    index(R"({"a": 1})");
    open_again();
    EXPECT_EQ(found(fmt::format(R"("hint": "i", "min": {{"a": {}}})", date(1))),
              "[ { _id: 0 }, { _id: 4 }, { _id: 1 } ]");
}

// The index refuses the second one if both are one key, by OP_MSG too: never silently.
TEST_P(MixedTimesTest, AUniqueIndexTakesEqualOnesForOne) {
    store("{}", {date(5)});
    EXPECT_EQ(code(run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "i",
                            "unique": true}]})")),
              0);
    open_again();
    const bson::Object reply = run(
        fmt::format(R"({{"insert": "c", "documents": [{{"_id": 9, "a": {}}}]}})", timestamp(0, 5)));
    EXPECT_EQ(reply.doc().at_path("writeErrors.0.code").to_int64(), 11000) << bson::to_text(reply);
}

INSTANTIATE_TEST_SUITE_P(engines, MixedTimesTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

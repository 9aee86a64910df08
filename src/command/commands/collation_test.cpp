// The field `collation` of commands: which texts are equal, in which order they come, and that no
// index changes it.
#include <fmt/core.h>

#include "command/commands/testing/service.h"

namespace command {
namespace {

class CollationTest : public EachEngineTest {
  protected:
    void SetUp() override {
        EachEngineTest::SetUp();
        fill();
    }
    void fill() {
        ask(R"({"drop": "c"})");
        EXPECT_EQ(code(ask(R"({"insert": "c", "documents": [
            {"_id": "a", "t": "apple", "l": ["x", "Q"]}, {"_id": "A", "t": "Banana"},
            {"_id": "b", "t": "banana", "n": 5}, {"_id": "c", "t": "Äpfel", "d": {"t": "X"}},
            {"_id": "d", "t": "zebra", "l": ["z"]}, {"_id": "e", "t": "item10"},
            {"_id": "f", "t": "item2"}]})")),
                  0);
    }
    bson::Object ask(const std::string& command) { return run(bson::parse_test_json(command)); }
    std::string found(const std::string& rest) {
        const bson::Object reply = ask(fmt::format(R"({{"find": "c", {}}})", rest));
        if (code(reply) != 0) return fmt::format("error {}", code(reply));
        std::string all;
        for (const bson::Element& e : reply.doc().at_path("cursor.firstBatch").as_doc())
            all += std::string(e.as_doc()["_id"].as_string()) + " ";
        return all;
    }
    static int write_error(const bson::Object& reply) {
        const bson::Element errors = reply["writeErrors"];
        if (!errors.is_array()) return code(reply);
        return errors.as_doc().first().as_doc()["code"].to_int32();
    }
};

constexpr const char* kNoCase = R"("collation": {"locale": "en", "strength": 2})";

TEST_P(CollationTest, FindsAndSorts) {
    const auto by_id = [this](const std::string& filter) {
        return found(fmt::format(R"("filter": {}, "sort": {{"_id": 1}}, {})", filter, kNoCase));
    };
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(found(R"("filter": {"t": "BANANA"})"), "");
        EXPECT_EQ(by_id(R"({"t": "BANANA"})"), "A b ");
        EXPECT_EQ(by_id(R"({"t": {"$in": ["ZEBRA", "APPLE", 7]}})"), "a d ");
        EXPECT_EQ(by_id(R"({"t": {"$nin": ["ZEBRA", "APPLE"]}})"), "A b c e f ");
        EXPECT_EQ(by_id(R"({"t": {"$ne": "BANANA"}})"), "a c d e f ");
        EXPECT_EQ(by_id(R"({"t": {"$gte": "BANANA", "$lt": "item2"}})"), "A b e ");
        EXPECT_EQ(by_id(R"({"l": "q"})"), "a ");
        EXPECT_EQ(by_id(R"({"l": {"$all": ["q", "X"]}})"), "a ");
        EXPECT_EQ(by_id(R"({"l": {"$elemMatch": {"$gt": "Y"}}})"), "d ");
        EXPECT_EQ(by_id(R"({"d": {"t": "x"}})"), "c ");
        EXPECT_EQ(by_id(R"({"$or": [{"t": "ZEBRA"}, {"n": 5}]})"), "b d ");
        EXPECT_EQ(by_id(R"({"n": 5})"), "b ");
        EXPECT_EQ(by_id(R"({"t": {"$regex": "^b"}})"), "b ");  // not compared
        EXPECT_EQ(by_id(R"({"t": {"$type": "string"}, "n": null})"), "a A c d e f ");
        EXPECT_EQ(found(R"("filter": {"_id": "B"}, "collation": {"locale": "en", "strength": 1})"),
                  "b ");
        EXPECT_EQ(found(R"("filter": {"_id": {"$in": ["B", "E"]}},
                           "collation": {"locale": "en", "strength": 1})"),
                  "b e ");
        EXPECT_EQ(found(R"("filter": {}, "sort": {"t": 1, "_id": 1})"), "A a b e f d c ");
        EXPECT_EQ(found(R"("filter": {}, "sort": {"t": 1}, "collation": {"locale": "de"})"),
                  "c a b A e f d ");
        EXPECT_EQ(found(R"("filter": {}, "sort": {"t": -1}, "limit": 3,
                           "collation": {"locale": "de"})"),
                  "d f e ");
        EXPECT_EQ(found(R"("filter": {"t": {"$gt": "ite"}}, "sort": {"t": 1},
                           "collation": {"locale": "en", "numericOrdering": true})"),
                  "f e d ");
        EXPECT_EQ(
            found(R"("filter": {"l": {"$gte": "q"}}, "sort": {"l": -1}, )" + std::string(kNoCase)),
            "d a ");
        // And with indexes, which have the order of bytes.
        int number = 0;
        for (const char* key : {R"({"t": 1})", R"({"l": -1})", R"({"d": 1})", R"({"n": 1, "t": 1})",
                                R"({"t": "hashed"})"})
            EXPECT_EQ(code(ask(fmt::format(
                          R"({{"createIndexes": "c", "indexes": [{{"key": {}, "name": "i{}"}}]}})",
                          key, number++))),
                      0)
                << key;
    }
}

TEST_P(CollationTest, IndexesServeWhatIsNoText) {
    ask(R"({"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"}]})");
    const auto plan = [this](const std::string& filter) {
        const bson::Object reply = ask(fmt::format(
            R"({{"explain": {{"find": "c", "filter": {}, {}}}, "verbosity": "queryPlanner"}})",
            filter, kNoCase));
        return bson::to_text(reply["queryPlanner"]).find("IXSCAN") != std::string::npos;
    };
    EXPECT_TRUE(plan(R"({"n": 5})"));
    EXPECT_TRUE(plan(R"({"n": {"$gt": 5}})"));
    EXPECT_FALSE(plan(R"({"n": "5"})"));
    EXPECT_FALSE(plan(R"({"n": {"$in": [5, "5"]}})"));
    EXPECT_FALSE(plan(R"({"n": {"$not": {"$gt": "5"}}})"));
    EXPECT_NE(found(R"("filter": {}, "min": {"n": "x"}, )" + std::string(kNoCase)), "");
    EXPECT_EQ(found(R"("filter": {}, "min": {"n": "x"}, )" + std::string(kNoCase)), "error 2");
}

TEST_P(CollationTest, CountsAndDistinguishes) {
    EXPECT_EQ(
        text(ask(fmt::format(R"({{"count": "c", "query": {{"t": "BANANA"}}, {}}})", kNoCase)), "n"),
        "2");
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(
            text(ask(fmt::format(R"({{"distinct": "c", "key": "t", {}}})", kNoCase)), "values"),
            R"([ "apple", "Banana", "Äpfel", "zebra", "item10", "item2" ])");
        EXPECT_EQ(text(ask(fmt::format(
                           R"({{"distinct": "c", "key": "t", "query": {{"t": "BANANA"}}, {}}})",
                           kNoCase)),
                       "values"),
                  R"([ "Banana" ])");
        ask(R"({"createIndexes": "c", "indexes": [{"key": {"t": 1}, "name": "t"}]})");
    }
}

TEST_P(CollationTest, Writes) {
    const auto one = [](const char* command, const char* items, const std::string& item) {
        return fmt::format(R"({{"{}": "c", "{}": [{{{}, {}}}]}})", command, items, item, kNoCase);
    };
    EXPECT_EQ(text(ask(one("update", "updates",
                           R"("q": {"t": "BANANA"}, "u": {"$set": {"x": 1}}, "multi": true)")),
                   "nModified"),
              "2");
    EXPECT_EQ(
        text(ask(one("update", "updates", R"("q": {"_id": "D"}, "u": {"$set": {"x": 1}})")), "n"),
        "1");
    // The text of the query, not its key.
    EXPECT_EQ(write_error(ask(one("update", "updates",
                                  R"("q": {"_id": "New", "o": {"p": "Q"}},
                                     "u": {"$set": {"x": 2}}, "upsert": true)"))),
              0);
    EXPECT_EQ(bson::to_text(
                  ask(R"({"find": "c", "filter": {"x": 2}})").doc().at_path("cursor.firstBatch.0")),
              R"({ _id: "New", o: { p: "Q" }, x: 2 })");
    EXPECT_EQ(text(ask(one("update", "updates",
                           R"("q": {"_id": "NEW"}, "u": {"$set": {"x": 3}}, "upsert": true)")),
                   "nModified"),
              "1");
    EXPECT_EQ(bson::to_text(ask(fmt::format(R"({{"findAndModify": "c", "query": {{"t": "ZEBRA"}},
                                       "remove": true, "sort": {{"t": 1}}, {}}})",
                                            kNoCase))["value"]
                                .as_doc()["_id"]),
              R"("d")");
    EXPECT_EQ(text(ask(one("delete", "deletes", R"("q": {"_id": "NEW"}, "limit": 1)")), "n"), "1");
    EXPECT_EQ(text(ask(one("delete", "deletes", R"("q": {"t": "BANANA"}, "limit": 0)")), "n"), "2");
    EXPECT_EQ(found(R"("filter": {}, "sort": {"_id": 1})"), "a c e f ");
}

TEST_P(CollationTest, RefusesWhatItDoesNotDo) {
    const auto updates = [this](const std::string& item) {
        return code(ask(fmt::format(R"({{"update": "c", "updates": [{{"q": {{}}, {}, {}}}]}})",
                                    item, kNoCase)));
    };
    for (const char* update : {R"("u": {"$addToSet": {"l": "X"}})", R"("u": {"$pull": {"l": "X"}})",
                               R"("u": {"$pullAll": {"l": ["X"]}})", R"("u": {"$max": {"t": "x"}})",
                               R"("u": {"$min": {"t": "x"}})", R"("u": [{"$set": {"x": 1}}])",
                               R"("u": {"$push": {"l": {"$each": ["x"], "$sort": 1}}})",
                               R"("u": {"$set": {"l.$[e]": 1}}, "arrayFilters": [{"e": "X"}])"})
        EXPECT_EQ(updates(update), 72) << update;
    EXPECT_EQ(updates(R"("u": {"$push": {"m": "x"}, "$set": {"n": 1}})"), 0);
    EXPECT_EQ(code(ask(fmt::format(R"({{"aggregate": "c", "pipeline": [], "cursor": {{}}, {}}})",
                                   kNoCase))),
              72);
    EXPECT_EQ(found(R"("filter": {"$expr": {"$eq": ["$t", "BANANA"]}}, )" + std::string(kNoCase)),
              "error 72");
    EXPECT_EQ(code(ask(R"({"create": "v", "viewOn": "c", "pipeline": []})")), 0);
    for (const char* command :
         {R"("find": "v")", R"("count": "v")", R"("distinct": "v", "key": "t")"})
        EXPECT_EQ(code(ask(fmt::format("{{{}, {}}}", command, kNoCase))), 167) << command;
    EXPECT_EQ(code(ask(R"({"find": "v", "collation": {"locale": "simple"}})")), 0);
    EXPECT_EQ(found(R"("filter": {}, "collation": {"locale": "nosuch"})"), "error 2");
    EXPECT_EQ(found(R"("filter": {}, "collation": {"strength": 1})"), "error 40414");
    EXPECT_EQ(found(R"("filter": {}, "collation": "en")"), "error 14");
    EXPECT_EQ(code(run_old(fmt::format(R"({{"count": "c", {}}})", kNoCase))), 72);
    EXPECT_EQ(code(run_old(R"({"count": "c", "collation": {"locale": "simple"}})")), 0);
}

INSTANTIATE_TEST_SUITE_P(engines, CollationTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

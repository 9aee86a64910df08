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
    EXPECT_EQ(found(R"("filter": {}, "min": {"n": "x"}, "hint": "n", )" + std::string(kNoCase)),
              "error 51174");
}

TEST_P(CollationTest, IndexesOfTheSameCollationServeTexts) {
    const auto create = [this](const std::string& rest) {
        return code(ask(fmt::format(R"({{"createIndexes": "c", "indexes": [{{{}}}]}})", rest)));
    };
    EXPECT_EQ(create(R"("key": {"t": 1}, "name": "t", )" + std::string(kNoCase)), 0);
    EXPECT_EQ(create(R"("key": {"l": 1, "t": 1}, "name": "lt", )" + std::string(kNoCase)), 0);
    const auto plan = [this](const std::string& rest) {
        const bson::Object reply = ask(fmt::format(
            R"({{"explain": {{"find": "c", {}}}, "verbosity": "executionStats"}})", rest));
        return bson::to_text(reply);
    };
    const auto uses = [&](const std::string& rest) {
        return plan(rest).find("IXSCAN") != std::string::npos;
    };
    const std::string same = ", " + std::string(kNoCase);
    for (const char* query :
         {R"("filter": {"t": "BANANA"})", R"("filter": {"t": {"$gte": "b", "$lt": "c"}})",
          R"("filter": {"t": {"$in": ["x", "y"]}})", R"("filter": {"t": {"$ne": "x"}})",
          R"("filter": {"l": "Q"})", R"("filter": {}, "sort": {"t": 1})",
          R"("filter": {"t": {"$regex": "^b"}})",
          R"("filter": {"$expr": {"$eq": ["$t", "BANANA"]}})"})
        EXPECT_TRUE(uses(query + same)) << query;
    for (const char* query :
         {R"("filter": {"t": "BANANA"})", R"("filter": {"t": {"$gte": "b"}})",
          R"("filter": {"t": {"$in": [5, "y"]}})", R"("filter": {"t": {"$not": {"$gt": "x"}}})",
          R"("filter": {}, "sort": {"t": 1})",
          R"("filter": {"t": "BANANA"}, "collation": {"locale": "en"})",
          R"("filter": {"$expr": {"$eq": ["$t", "BANANA"]}})",
          R"("filter": {}, "sort": {"t": 1}, "collation": {"locale": "en", "strength": 1})"})
        EXPECT_FALSE(uses(query)) << query;
    // A value that is compared with no text has the same place in both orders.
    EXPECT_TRUE(uses(R"("filter": {"t": 5})"));
    EXPECT_TRUE(uses(R"("filter": {"t": {"$gt": 5}}, "collation": {"locale": "de"})"));
    EXPECT_NE(plan(R"("filter": {"t": "BANANA"})" + same).find("CollationKey(0x"),
              std::string::npos);
    EXPECT_EQ(found(R"("filter": {"t": "BANANA"}, "sort": {"_id": 1})" + same), "A b ");
    EXPECT_EQ(found(R"("filter": {"t": {"$gt": "b"}}, "sort": {"t": -1, "_id": 1})" + same),
              "d f e A b ");
    EXPECT_EQ(found(R"("filter": {"t": "banana"}, "hint": "t")"), "b ");
    EXPECT_EQ(
        found(R"("filter": {}, "min": {"t": "BANANA"}, "max": {"t": "c"}, "hint": "t")" + same),
        "A b ");
    EXPECT_EQ(found(R"("filter": {}, "min": {"t": "BANANA"}, "hint": "t")"), "error 51174");
    EXPECT_EQ(found(R"("filter": {}, "max": {"t": {"a": "x"}}, "hint": "t")"), "error 51174");
    EXPECT_EQ(found(R"("filter": {}, "min": {"t": 5}, "max": {"t": 6}, "hint": "t")"),
              found(R"("filter": {"t": {"$gte": 5, "$lt": 6}})"));
    // No text can be had from its keys.
    const bson::Object shown = ask(R"({"find": "c", "filter": {"t": "BANANA"}, "sort": {"_id": 1},
                                       "projection": {"_id": 0, "t": 1}, )" +
                                   std::string(kNoCase) + "}");
    EXPECT_EQ(bson::to_text(shown.doc().at_path("cursor.firstBatch")),
              R"([ { t: "Banana" }, { t: "banana" } ])");
    const bson::Object keys =
        ask(R"({"find": "c", "filter": {"t": "BANANA"}, "returnKey": true, )" +
            std::string(kNoCase) + "}");
    EXPECT_EQ(bson::to_text(keys.doc().at_path("cursor.firstBatch.0.t")).substr(0, 16),
              R"("CollationKey(0x)");
    // Documents that come and go keep it up.
    EXPECT_EQ(write_error(ask(R"({"update": "c", "updates": [
                                  {"q": {"_id": "d"}, "u": {"$set": {"t": "BANANA"}}}]})")),
              0);
    ask(R"({"delete": "c", "deletes": [{"q": {"_id": "A"}, "limit": 1}]})");
    EXPECT_EQ(found(R"("filter": {"t": "BANANA"}, "sort": {"_id": 1})" + same), "b d ");
    EXPECT_EQ(text(ask(R"({"validate": "c", "full": true})"), "valid"), "true");
}

TEST_P(CollationTest, IndexesAreUniqueUnderTheirCollation) {
    const auto create = [this](const std::string& rest) {
        return ask(fmt::format(R"({{"createIndexes": "u", "indexes": [{{{}}}]}})", rest));
    };
    ask(R"({"drop": "u"})");
    ask(R"({"insert": "u", "documents": [{"_id": 1, "t": "apple", "n": 1}]})");
    const std::string unique = R"("key": {"t": 1}, "name": "t", "unique": true, )";
    EXPECT_EQ(code(create(unique + kNoCase)), 0);
    const bson::Object twice = ask(R"({"insert": "u", "documents": [{"_id": 2, "t": "APPLE"}]})");
    EXPECT_EQ(write_error(twice), 11000);
    EXPECT_EQ(bson::to_text(twice.doc().at_path("writeErrors.0.keyValue.t")).substr(0, 16),
              R"("CollationKey(0x)");
    EXPECT_EQ(write_error(ask(R"({"insert": "u", "documents": [{"_id": 2, "t": "apples"}]})")), 0);
    // Several on the same keys.
    EXPECT_EQ(code(create(R"("key": {"t": 1}, "name": "plain")")), 0);
    EXPECT_EQ(code(create(R"("key": {"t": 1}, "name": "de", "collation": {"locale": "de"})")), 0);
    EXPECT_EQ(code(create(unique + kNoCase)), 0);
    EXPECT_EQ(code(create(R"("key": {"t": 1}, "name": "other", "unique": true, )" +
                          std::string(kNoCase))),
              85);
    EXPECT_EQ(code(create(R"("key": {"t": 1}, "name": "t", "unique": true)")), 86);
    EXPECT_EQ(code(create(R"("key": {"_id": 1}, "name": "id", )" + std::string(kNoCase))), 2);
    EXPECT_EQ(code(create(R"("key": {"t": "hashed"}, "name": "h", )" + std::string(kNoCase))), 67);
    EXPECT_EQ(code(create(R"("key": {"x": 1}, "name": "x", "collation": {"locale": "nosuch"})")),
              2);
    EXPECT_EQ(code(create(R"("key": {"x": 1}, "name": "x", "collation": {"locale": "simple"})")),
              0);
    const bson::Object listed = ask(R"({"listIndexes": "u"})");
    EXPECT_EQ(bson::to_text(listed.doc().at_path("cursor.firstBatch.1.key")), "{ t: 1 }");
    EXPECT_EQ(bson::to_text(listed.doc().at_path("cursor.firstBatch.1.collation.strength")), "2");
    EXPECT_FALSE(listed.doc().at_path("cursor.firstBatch.4.collation"));
    ask(R"({"reIndex": "u"})");
    EXPECT_EQ(write_error(ask(R"({"insert": "u", "documents": [{"_id": 3, "t": "APPLE"}]})")),
              11000);
}

// The filter of a partial index has the collation of the index.
TEST_P(CollationTest, PartialIndexes) {
    EXPECT_EQ(code(ask(fmt::format(R"({{"createIndexes": "c", "indexes": [
                       {{"key": {{"t": 1}}, "name": "p", {},
                         "partialFilterExpression": {{"t": {{"$gte": "BANANA"}}}}}}]}})",
                                   kNoCase))),
              0);
    const auto uses = [this](const std::string& rest) {
        return bson::to_text(ask(fmt::format(R"({{"explain": {{"find": "c", {}}}}})", rest)))
                   .find("IXSCAN") != std::string::npos;
    };
    const std::string same = ", " + std::string(kNoCase);
    EXPECT_TRUE(uses(R"("filter": {"t": "Banana"})" + same));
    EXPECT_TRUE(uses(R"("filter": {"t": {"$gt": "c"}})" + same));
    EXPECT_TRUE(uses(R"("filter": {"t": {"$in": ["c", "D"]}})" + same));
    EXPECT_FALSE(uses(R"("filter": {"t": "apple"})" + same));
    EXPECT_FALSE(uses(R"("filter": {"t": "zebra"})"));
    EXPECT_FALSE(uses(R"("filter": {"t": {"$gt": 5}})" + same));
    EXPECT_EQ(found(R"("filter": {"t": {"$gte": "banana"}}, "sort": {"_id": 1})" + same),
              "A b d e f ");
    EXPECT_EQ(found(R"("filter": {"t": "zebra"})"), "d ");
}

TEST_P(CollationTest, CollectionsGiveTheirsToWhatNamesNone) {
    ask(R"({"drop": "g"})");
    EXPECT_EQ(code(ask(fmt::format(R"({{"create": "g", {}}})", kNoCase))), 0);
    ask(R"({"insert": "g", "documents": [{"_id": "a", "t": "apple"}, {"_id": "B", "t": "Banana"},
                                         {"_id": "c", "t": "banana", "l": ["X"]}]})");
    EXPECT_EQ(write_error(ask(R"({"insert": "g", "documents": [{"_id": "A"}]})")), 11000);
    const auto ids = [this](const std::string& rest) {
        const bson::Object reply = ask(fmt::format(R"({{"find": "g", {}}})", rest));
        if (code(reply) != 0) return fmt::format("error {}", code(reply));
        std::string all;
        for (const bson::Element& e : reply.doc().at_path("cursor.firstBatch").as_doc())
            all += std::string(e.as_doc()["_id"].as_string()) + " ";
        return all;
    };
    const std::string simple = R"(, "collation": {"locale": "simple"})";
    EXPECT_EQ(ids(R"("filter": {"_id": "A"})"), "a ");
    EXPECT_EQ(ids(R"("filter": {"_id": "A"})" + simple), "");
    EXPECT_EQ(ids(R"("filter": {"_id": "a"})" + simple), "a ");
    EXPECT_EQ(ids(R"("filter": {"t": "BANANA"}, "sort": {"_id": 1})"), "B c ");
    EXPECT_EQ(ids(R"("filter": {}, "sort": {"_id": 1})"), "a B c ");
    EXPECT_EQ(ids(R"("filter": {}, "sort": {"_id": 1})" + simple), "B a c ");
    EXPECT_EQ(ids(R"("filter": {"$expr": {"$eq": ["$t", "BANANA"]}}, "sort": {"_id": -1})"),
              "c B ");
    EXPECT_EQ(text(ask(R"({"count": "g", "query": {"t": "BANANA"}})"), "n"), "2");
    EXPECT_EQ(text(run_old(R"({"count": "g", "query": {"t": "BANANA"}})"), "n"), "2");
    EXPECT_EQ(query("test.g", R"({"t": "BANANA"})", 0).size(), 2U);
    EXPECT_EQ(text(ask(R"({"distinct": "g", "key": "t"})"), "values"), R"([ "apple", "Banana" ])");
    EXPECT_EQ(bson::to_text(ask(R"({"aggregate": "g", "cursor": {}, "pipeline": [
                                    {"$group": {"_id": "$t"}}, {"$count": "n"}]})")
                                .doc()
                                .at_path("cursor.firstBatch")),
              "[ { n: 2 } ]");
    // Indexes inherit it, unless they name another.
    EXPECT_EQ(code(ask(R"({"createIndexes": "g", "indexes": [
                  {"key": {"t": 1}, "name": "t"},
                  {"key": {"t": 1}, "name": "s", "collation": {"locale": "simple"}}]})")),
              0);
    EXPECT_EQ(
        code(ask(R"({"createIndexes": "g", "indexes": [{"key": {"t": 1}, "name": "again"}]})")),
        85);
    const bson::Object listed = ask(R"({"listIndexes": "g"})");
    for (const char* index : {"0", "1"})
        EXPECT_EQ(bson::to_text(listed.doc().at_path(
                      fmt::format("cursor.firstBatch.{}.collation.strength", index))),
                  "2");
    // A client that makes the index again by that gets the same one.
    EXPECT_EQ(bson::to_text(listed.doc().at_path("cursor.firstBatch.2.collation")),
              R"({ locale: "simple" })");
    EXPECT_EQ(ids(R"("filter": {"t": "BANANA"}, "sort": {"_id": 1})"), "B c ");
    EXPECT_EQ(ids(R"("filter": {"t": "banana"})" + simple), "c ");
    // Writes.
    EXPECT_EQ(
        text(ask(R"({"update": "g", "updates": [{"q": {"_id": "A"}, "u": {"$set": {"x": 1}}}]})"),
             "nModified"),
        "1");
    EXPECT_EQ(text(ask(R"({"update": "g", "updates": [
                           {"q": {"_id": "c"}, "u": {"$addToSet": {"l": "x"}}}]})"),
                   "nModified"),
              "0");
    EXPECT_EQ(bson::to_text(ask(R"({"findAndModify": "g", "query": {"t": "APPLE"},
                                    "update": {"$set": {"x": 2}}})")["value"]
                                .as_doc()["_id"]),
              R"("a")");
    EXPECT_EQ(text(ask(R"({"delete": "g", "deletes": [{"q": {"_id": "C"}, "limit": 1}]})"), "n"),
              "1");
    EXPECT_EQ(text(ask(R"({"delete": "g", "deletes": [{"q": {"_id": "b"}, "limit": 1,
                           "collation": {"locale": "simple"}}]})"),
                   "n"),
              "0");
    EXPECT_EQ(text(ask(R"({"validate": "g", "full": true})"), "valid"), "true");
    EXPECT_EQ(code(run(R"({"renameCollection": "test.g", "to": "test.h"})", "admin")), 0);
    EXPECT_EQ(text(ask(R"({"count": "h", "query": {"t": "BANANA"}})"), "n"), "1");
    ask(R"({"aggregate": "c", "cursor": {}, "pipeline": [
            {"$match": {"t": {"$in": ["Banana", "banana"]}}}, {"$out": "h"}]})");
    EXPECT_EQ(text(ask(R"({"count": "h", "query": {"t": "BANANA"}})"), "n"), "2");
    const bson::Object collections = ask(R"({"listCollections": 1, "filter": {"name": "h"}})");
    EXPECT_EQ(
        bson::to_text(collections.doc().at_path("cursor.firstBatch.0.options.collation.strength")),
        "2");
    EXPECT_EQ(code(run_old(fmt::format(R"({{"create": "old", {}}})", kNoCase))), 72);
}

TEST_P(CollationTest, ValidatorsHaveThatOfTheCollection) {
    ask(R"({"drop": "g"})");
    EXPECT_EQ(
        code(ask(fmt::format(R"({{"create": "g", "validator": {{"t": "apple"}}, {}}})", kNoCase))),
        0);
    EXPECT_EQ(write_error(ask(R"({"insert": "g", "documents": [{"t": "APPLE"}]})")), 0);
    EXPECT_EQ(write_error(ask(R"({"insert": "g", "documents": [{"t": "pear"}]})")), 121);
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

TEST_P(CollationTest, UpdatesCompareUnderIt) {
    const auto updated = [this](const std::string& update) {
        ask(R"({"drop": "w"})");
        ask(R"({"insert": "w", "documents": [
                {"_id": 1, "t": "m", "l": ["x", "Q"], "o": [{"k": "b"}, {"k": "A"}]}]})");
        const bson::Object reply = ask(fmt::format(
            R"({{"update": "w", "updates": [{{"q": {{}}, {}, {}}}]}})", update, kNoCase));
        if (write_error(reply) != 0) return fmt::format("error {}", write_error(reply));
        const bson::Object shown = ask(R"({"find": "w", "projection": {"_id": 0}})");
        return bson::to_text(shown.doc().at_path("cursor.firstBatch.0"));
    };
    const auto with_list = [](const std::string& list) {
        return R"({ t: "m", l: )" + list + R"(, o: [ { k: "b" }, { k: "A" } ] })";
    };
    const std::string same = with_list(R"([ "x", "Q" ])");
    EXPECT_EQ(updated(R"("u": {"$addToSet": {"l": "X"}})"), same);
    EXPECT_EQ(updated(R"("u": {"$addToSet": {"l": {"$each": ["q", "a", "A"]}}})"),
              with_list(R"([ "x", "Q", "a" ])"));
    EXPECT_EQ(updated(R"("u": {"$addToSet": {"o": {"k": "B"}}})"), same);
    EXPECT_EQ(updated(R"("u": {"$pull": {"l": "X"}})"), with_list(R"([ "Q" ])"));
    EXPECT_EQ(updated(R"("u": {"$pull": {"l": {"$gt": "R"}}})"), with_list(R"([ "Q" ])"));
    EXPECT_EQ(updated(R"("u": {"$pull": {"o": {"k": "B"}}})"),
              R"({ t: "m", l: [ "x", "Q" ], o: [ { k: "A" } ] })");
    EXPECT_EQ(updated(R"("u": {"$pullAll": {"l": ["X", "q"]}})"), with_list("[]"));
    EXPECT_EQ(updated(R"("u": {"$max": {"t": "L"}})"), same);
    EXPECT_EQ(updated(R"("u": {"$min": {"t": "N"}})"), same);
    EXPECT_EQ(updated(R"("u": {"$push": {"l": {"$each": ["R"], "$sort": 1}}})"),
              with_list(R"([ "Q", "R", "x" ])"));
    EXPECT_EQ(updated(R"("u": {"$push": {"o": {"$each": [], "$sort": {"k": 1}}}})"),
              R"({ t: "m", l: [ "x", "Q" ], o: [ { k: "A" }, { k: "b" } ] })");
    EXPECT_EQ(updated(R"("u": {"$set": {"l.$[e]": 1}}, "arrayFilters": [{"e": "X"}])"),
              with_list(R"([ 1, "Q" ])"));
    EXPECT_EQ(updated(R"("u": [{"$set": {"t": {"$eq": ["$t", "M"]}}}])"),
              R"({ t: true, l: [ "x", "Q" ], o: [ { k: "b" }, { k: "A" } ] })");
}

TEST_P(CollationTest, RefusesWhatItDoesNotDo) {
    EXPECT_EQ(code(ask(R"({"create": "v", "viewOn": "c", "pipeline": []})")), 0);
    for (const char* command :
         {R"("find": "v")", R"("count": "v")", R"("distinct": "v", "key": "t")",
          R"("aggregate": "v", "pipeline": [], "cursor": {})"})
        EXPECT_EQ(code(ask(fmt::format("{{{}, {}}}", command, kNoCase))), 167) << command;
    EXPECT_EQ(code(ask(R"({"find": "v", "collation": {"locale": "simple"}})")), 0);
    EXPECT_EQ(found(R"("filter": {}, "collation": {"locale": "nosuch"})"), "error 2");
    EXPECT_EQ(found(R"("filter": {}, "collation": {"strength": 1})"), "error 40414");
    EXPECT_EQ(found(R"("filter": {}, "collation": "en")"), "error 14");
    EXPECT_EQ(code(run_old(fmt::format(R"({{"count": "c", {}}})", kNoCase))), 72);
    EXPECT_EQ(code(run_old(fmt::format(R"({{"aggregate": "c", "pipeline": [], {}}})", kNoCase))),
              72);
    EXPECT_EQ(code(run_old(
                  fmt::format(R"({{"create": "w", "viewOn": "c", "pipeline": [], {}}})", kNoCase))),
              72);
    EXPECT_EQ(code(run_old(R"({"count": "c", "collation": {"locale": "simple"}})")), 0);
}

TEST_P(CollationTest, Expressions) {
    const auto holds = [this](const std::string& expression) {
        const std::string filter = fmt::format(
            R"("filter": {{"t": "apple", "$expr": {}}}, "let": {{"v": "APPLE",
               "same": {{"$eq": ["x", "X"]}}}}, {})",
            expression, kNoCase);
        const std::string ids = found(filter);
        return ids == "a ";
    };
    for (const char* yes :
         {R"({"$eq": ["$t", "APPLE"]})", R"({"$eq": ["$t", "$$v"]})", R"("$$same")",
          R"({"$eq": [{"a": "$t"}, {"a": "APPLE"}]})", R"({"$in": ["q", "$l"]})",
          R"({"$lt": ["$t", "BANANA"]})", R"({"$eq": [{"$cmp": ["$t", "APPLE"]}, 0]})",
          R"({"$eq": [{"$indexOfArray": ["$l", "q"]}, 1]})",
          R"({"$setEquals": ["$l", ["X", "q", "x"]]})", R"({"$setIsSubset": [["q"], "$l"]})",
          R"({"$eq": [{"$size": {"$setUnion": ["$l", ["X", "q"]]}}, 2]})",
          R"({"$eq": [{"$setDifference": ["$l", ["X"]]}, ["q"]]})",
          R"({"$eq": [{"$setIntersection": ["$l", ["X"]]}, ["x"]]})",
          R"({"$eq": [{"$min": "$l"}, "q"]})", R"({"$eq": [{"$max": "$l"}, "X"]})",
          R"({"$eq": [{"$minN": {"n": 1, "input": "$l"}}, ["q"]]})",
          R"({"$eq": [{"$sortArray": {"input": "$l", "sortBy": 1}}, ["q", "x"]]})",
          R"({"$eq": ["x", "X"]})", R"({"$and": [{"$eq": ["x", "X"]}, {"$ne": ["$t", "B"]}]})"})
        EXPECT_TRUE(holds(yes)) << yes;
    for (const char* no : {R"({"$ne": ["$t", "APPLE"]})", R"({"$in": ["qq", "$l"]})",
                           R"({"$regexMatch": {"input": "$t", "regex": "APPLE"}})",
                           R"({"$eq": [{"$indexOfCP": ["$t", "P"]}, 1]})"})
        EXPECT_FALSE(holds(no)) << no;
    EXPECT_EQ(text(ask(fmt::format(R"({{"update": "c", "updates": [{{
                       "q": {{"$expr": {{"$eq": ["$t", "BANANA"]}}}}, "u": {{"$set": {{"x": 1}}}},
                       "multi": true, {}}}]}})",
                                   kNoCase)),
                   "nModified"),
              "2");
}

TEST_P(CollationTest, Pipelines) {
    const auto results = [this](const std::string& stages, const char* more = kNoCase) {
        const bson::Object reply = ask(fmt::format(
            R"({{"aggregate": "c", "pipeline": {}, "cursor": {{}}, {}}})", stages, more));
        if (code(reply) != 0) return fmt::format("error {}", code(reply));
        return bson::to_text(reply.doc().at_path("cursor.firstBatch"));
    };
    constexpr const char* kUpper = R"({"$project": {"_id": 1}})";
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(
            results(fmt::format(R"([{{"$match": {{"t": "BANANA"}}}}, {{"$sort": {{"_id": 1}}}},
                                          {}])",
                                kUpper)),
            R"([ { _id: "A" }, { _id: "b" } ])");
        EXPECT_EQ(results(fmt::format(R"([{{"$sort": {{"t": 1}}}}, {{"$limit": 1}}, {}])", kUpper),
                          R"("collation": {"locale": "de"})"),
                  R"([ { _id: "c" } ])");
        ask(R"({"createIndexes": "c", "indexes": [{"key": {"t": 1}, "name": "t"}]})");
    }
    EXPECT_EQ(results(R"([{"$skip": 0}, {"$match": {"t": "BANANA"}}, {"$count": "n"}])"),
              "[ { n: 2 } ]");
    EXPECT_EQ(results(R"([{"$limit": 7}, {"$sort": {"t": -1}}, {"$limit": 1},
                          {"$project": {"_id": 1}}])",
                      R"("collation": {"locale": "en", "numericOrdering": true})"),
              R"([ { _id: "d" } ])");
    EXPECT_EQ(results(R"([{"$match": {"t": {"$in": ["banana", "APPLE"]}}}, {"$sort": {"_id": -1}},
                          {"$group": {"_id": "$t", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}])"),
              R"([ { _id: "apple", n: 1 }, { _id: "banana", n: 2 } ])");
    EXPECT_EQ(results(R"([{"$match": {"t": {"$in": ["banana", "APPLE"]}}}, {"$sort": {"_id": -1}},
                          {"$sortByCount": "$t"}])"),
              R"([ { _id: "banana", count: 2 }, { _id: "apple", count: 1 } ])");
    EXPECT_EQ(results(R"([{"$sort": {"_id": -1}}, {"$group": {"_id": null, "min": {"$min": "$t"},
                          "set": {"$addToSet": "$t"},
                          "top": {"$top": {"sortBy": {"t": 1}, "output": "$t"}},
                          "max": {"$maxN": {"n": 1, "input": "$t"}}}},
                          {"$project": {"_id": 0, "min": 1, "top": 1, "max": 1,
                                        "n": {"$size": "$set"}}}])"),
              R"([ { min: "Äpfel", top: "Äpfel", max: [ "zebra" ], n: 6 } ])");
    EXPECT_EQ(results(R"([{"$match": {"_id": {"$in": ["A", "d"]}}},
                          {"$bucket": {"groupBy": "$t", "boundaries": ["a", "BB", "zz"]}}])"),
              R"([ { _id: "a", count: 2 }, { _id: "BB", count: 1 } ])");
    EXPECT_EQ(
        results(R"([{"$bucket": {"groupBy": "$t", "boundaries": ["a", "A"], "default": 1}}])"),
        "error 40194");
    EXPECT_EQ(results(R"([{"$match": {"t": "BANANA"}},
                          {"$setWindowFields": {"partitionBy": "$t", "sortBy": {"_id": 1},
                           "output": {"n": {"$documentNumber": {}}}}},
                          {"$project": {"n": 1}}, {"$sort": {"n": 1, "_id": 1}}])"),
              R"([ { _id: "A", n: 1 }, { _id: "b", n: 2 } ])");
    EXPECT_EQ(results(R"([{"$match": {"t": "apple"}}, {"$lookup": {"from": "c", "as": "x",
                          "localField": "missing", "foreignField": "n", "let": {"v": "$l"},
                          "pipeline": [{"$match": {"$expr": {"$in": ["X", "$$v"]}}},
                                       {"$count": "n"}]}}, {"$project": {"_id": 0, "x": 1}}])"),
              "[ { x: [ { n: 6 } ] } ]");
    ask(R"({"insert": "d", "documents": [{"_id": 1, "t": "BANANA", "next": "APPLE"},
                                         {"_id": 2, "t": "Apple", "next": "Zebra"},
                                         {"_id": 3, "t": "ZEBRA"}]})");
    EXPECT_EQ(results(R"([{"$match": {"_id": "b"}}, {"$lookup": {"from": "d", "as": "x",
                          "localField": "t", "foreignField": "t"}},
                          {"$project": {"_id": 0, "x._id": 1}}])"),
              "[ { x: [ { _id: 1 } ] } ]");
    EXPECT_EQ(results(R"([{"$match": {"_id": "b"}}, {"$graphLookup": {"from": "d", "as": "x",
                          "startWith": "$t", "connectFromField": "next", "connectToField": "t"}},
                          {"$project": {"n": {"$size": "$x"}}}])"),
              R"([ { _id: "b", n: 3 } ])");
    EXPECT_EQ(results(R"([{"$limit": 1}, {"$project": {"_id": 1}}, {"$unionWith": {"coll": "d",
                          "pipeline": [{"$match": {"t": "apple"}}, {"$project": {"_id": 1}}]}}])"),
              R"([ { _id: "a" }, { _id: 2 } ])");
    EXPECT_EQ(results(R"([{"$facet": {"x": [{"$match": {"t": "ZEBRA"}}, {"$count": "n"}]}}])"),
              "[ { x: [ { n: 1 } ] } ]");
    EXPECT_EQ(results(R"([{"$match": {"t": "BANANA"}}])", R"("collation": {"locale": "simple"})"),
              "[]");
    EXPECT_EQ(results("[]", R"("collation": {"locale": "nosuch"})"), "error 2");
}

// Groups that are kept on the disk are found again.
TEST_P(CollationTest, GroupsThatLeaveMemory) {
    ask(R"({"drop": "big"})");
    const std::string pad(100000, 'p');
    for (int i = 0; i < 300; ++i)
        ask(fmt::format(R"({{"insert": "big", "documents": [{{"k": "{}{}", "pad": "{}"}}]}})",
                        i % 2 == 0 ? "key" : "KEY", i % 100 / 2, pad));
    const bson::Object reply = ask(fmt::format(
        R"({{"aggregate": "big", "allowDiskUse": true, "cursor": {{}}, {}, "pipeline": [
            {{"$group": {{"_id": "$k", "pads": {{"$push": "$pad"}}, "n": {{"$sum": 1}}}}}},
            {{"$group": {{"_id": "$n", "groups": {{"$sum": 1}}}}}}]}})",
        kNoCase));
    EXPECT_EQ(bson::to_text(reply.doc().at_path("cursor.firstBatch")),
              "[ { _id: 6, groups: 50 } ]");
}

TEST_P(CollationTest, Views) {
    const auto ids = [this](const std::string& view, const std::string& rest) {
        const bson::Object reply = ask(fmt::format(R"({{"find": "{}", {}}})", view, rest));
        if (code(reply) != 0) return fmt::format("error {}", code(reply));
        std::string all;
        for (const bson::Element& e : reply.doc().at_path("cursor.firstBatch").as_doc())
            all += std::string(e.as_doc()["_id"].as_string()) + " ";
        return all;
    };
    for (const char* name : {"v", "on", "simple"})
        ask(fmt::format(R"({{"drop": "{}"}})", name));
    EXPECT_EQ(code(ask(fmt::format(R"({{"create": "v", "viewOn": "c", "pipeline": [
                       {{"$match": {{"t": {{"$gte": "BANANA"}}}}}}], {}}})",
                                   kNoCase))),
              0);
    EXPECT_EQ(ids("v", R"("sort": {"t": 1, "_id": 1})"), "A b e f d ");
    EXPECT_EQ(ids("v", R"("filter": {"t": "ZEBRA"})"), "d ");
    EXPECT_EQ(ids("v", R"("filter": {"t": "ZEBRA"}, )" + std::string(kNoCase)), "d ");
    EXPECT_EQ(ids("v", R"("filter": {}, "collation": {"locale": "en"})"), "error 167");
    EXPECT_EQ(ids("v", R"("filter": {}, "collation": {"locale": "simple"})"), "error 167");
    EXPECT_EQ(text(ask(R"({"count": "v", "query": {"t": "banana"}})"), "n"), "2");
    EXPECT_EQ(text(ask(R"({"distinct": "v", "key": "t"})"), "values"),
              R"([ "Banana", "zebra", "item10", "item2" ])");
    EXPECT_EQ(bson::to_text(ask(R"({"aggregate": "v", "cursor": {}, "pipeline": [
                                    {"$group": {"_id": "$t"}}, {"$count": "n"}]})")
                                .doc()
                                .at_path("cursor.firstBatch")),
              "[ { n: 4 } ]");
    // A view has the same collation as the one that it stands on, and as those that stand on it.
    EXPECT_EQ(code(ask(R"({"create": "on", "viewOn": "v", "pipeline": []})")), 167);
    EXPECT_EQ(
        code(ask(fmt::format(R"({{"create": "on", "viewOn": "v", "pipeline": [], {}}})", kNoCase))),
        0);
    EXPECT_EQ(ids("on", R"("filter": {"t": "ZEBRA"})"), "d ");
    EXPECT_EQ(code(ask(R"({"create": "simple", "viewOn": "c", "pipeline": []})")), 0);
    EXPECT_EQ(code(ask(R"({"collMod": "simple", "viewOn": "v", "pipeline": []})")), 167);
    EXPECT_EQ(code(ask(R"({"collMod": "v", "viewOn": "c", "pipeline": []})")), 0);
    EXPECT_EQ(ids("on", R"("filter": {"t": "APPLE"})"), "a ");
    const std::string joined = R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$lookup": {
        "from": "v", "localField": "t", "foreignField": "t", "as": "x"}}])";
    EXPECT_EQ(code(ask(joined + "}")), 167);
    EXPECT_EQ(code(ask(joined + ", " + kNoCase + "}")), 0);
    const bson::Object listed = ask(R"({"listCollections": 1, "filter": {"name": "v"}})");
    EXPECT_EQ(bson::to_text(listed.doc().at_path("cursor.firstBatch.0.options.collation.strength")),
              "2");
}

INSTANTIATE_TEST_SUITE_P(engines, CollationTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

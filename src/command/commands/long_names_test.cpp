// Names of collections and indexes, and keys of indexes, that are longer than those of mmapv1: the
// engines over an ordered map keep them, for every client.
#include <fmt/core.h>

#include <algorithm>

#include "command/commands/testing/service.h"

namespace command {
namespace {

class LongNamesTest : public EachEngineTest {
  protected:
    static bool keeps_long() { return GetParam() == TestEngine::kv; }
    static int or_refused(int refused) { return keeps_long() ? 0 : refused; }
    bson::Object ask(const std::string& command) { return run(command); }
    static int write_error(const bson::Object& reply) {
        const bson::Element errors = reply["writeErrors"];
        return errors.missing() ? code(reply) : errors.as_doc()["0"].as_doc()["code"].to_int32();
    }
    int insert(const std::string& collection, int id, const std::string& a) {
        return write_error(ask(fmt::format(
            R"({{"insert": "{}", "documents": [{{"_id": {}, "a": "{}"}}]}})", collection, id, a)));
    }
    int create_index(const std::string& collection, const std::string& more) {
        return code(ask(
            fmt::format(R"({{"createIndexes": "{}", "indexes": [{{{}}}]}})", collection, more)));
    }
    int64_t count(const std::string& collection, const std::string& filter) {
        return ask(fmt::format(R"({{"count": "{}", "query": {}}})", collection, filter))["n"]
            .to_int64();
    }
    // No index has too many entries, or too few.
    bool is_valid(const std::string& collection) {
        return ask(fmt::format(R"({{"validate": "{}", "full": true}})", collection))["valid"]
            .truthy();
    }
};

INSTANTIATE_TEST_SUITE_P(engines, LongNamesTest, kTestEngines, engine_name);

TEST_P(LongNamesTest, NamesOfCollectionsHaveTheLengthOfTodays) {
    const std::string longest_old(115, 'o'), first_long(116, 'f'), longest(250, 'l');
    const std::string too_long(251, 't');
    EXPECT_EQ(code(ask(fmt::format(R"({{"create": "{}"}})", longest_old))), 0);
    for (const std::string& name : {first_long, longest}) {
        const int refused = base::kInvalidNamespace;
        EXPECT_EQ(code(ask(fmt::format(R"({{"create": "{}"}})", name))), or_refused(refused));
        EXPECT_EQ(insert(name, 1, "x"), or_refused(refused));
        EXPECT_EQ(count(name, "{}"), keeps_long() ? 1 : 0);
        EXPECT_EQ(create_index(name, R"("key": {"a": 1}, "name": "a_1")"), or_refused(refused));
        EXPECT_EQ(code(ask(fmt::format(R"({{"drop": "{}"}})", name))), 0);
    }
    EXPECT_EQ(code(ask(fmt::format(R"({{"create": "{}"}})", too_long))), base::kInvalidNamespace);
    EXPECT_EQ(insert(too_long, 1, "x"), base::kInvalidNamespace);
    EXPECT_EQ(code(ask(fmt::format(R"({{"create": "v", "viewOn": "{}"}})", longest))),
              or_refused(base::kInvalidNamespace));
    const std::string rename =
        fmt::format(R"({{"renameCollection": "test.{}", "to": "test.{}"}})", longest_old, longest);
    EXPECT_EQ(code(run(rename, "admin")), or_refused(base::kInvalidNamespace));
    const std::string beyond = fmt::format(R"({{"renameCollection": "test.{}", "to": "test.{}"}})",
                                           keeps_long() ? longest : longest_old, too_long);
    EXPECT_EQ(code(run(beyond, "admin")), base::kInvalidNamespace);
}

TEST_P(LongNamesTest, CopiesOfALongNameAreMadeBesideIt) {
    if (!keeps_long()) GTEST_SKIP();
    const std::string name(250, 'l');
    for (int i = 0; i < 5; ++i)
        ASSERT_EQ(insert(name, i, "x"), 0);
    EXPECT_EQ(code(ask(fmt::format(R"({{"aggregate": "{0}", "pipeline": [{{"$out": "{0}"}}],)"
                                   R"( "cursor": {{}}}})",
                                   name))),
              0);
    EXPECT_EQ(code(ask(fmt::format(R"({{"convertToCapped": "{}", "size": 100000}})", name))), 0);
    EXPECT_EQ(count(name, "{}"), 5);
}

// The old messages that name a collection name none so long; commands may.
TEST_P(LongNamesTest, OldMessagesNameNone) {
    const std::string name(120, 'l');
    EXPECT_EQ(
        code(run_old(fmt::format(R"({{"insert": "{}", "documents": [{{"_id": 1}}]}})", name))),
        or_refused(base::kBadValue));
    insert_old("test." + name, {R"({"_id": 2})"});
    EXPECT_EQ(run_old(R"({"getLastError": 1})")["code"].to_int32(), base::kBadValue);
    update_old("test." + name, "{}", R"({"$set": {"a": 1}})");
    EXPECT_EQ(run_old(R"({"getLastError": 1})")["code"].to_int32(), base::kBadValue);
    EXPECT_EQ(count(name, "{}"), keeps_long() ? 1 : 0);
    EXPECT_EQ(count(name, R"({"a": 1})"), 0);
}

TEST_P(LongNamesTest, NamesOfIndexesMayBeLong) {
    ASSERT_EQ(insert("c", 1, "x"), 0);
    const std::string name(200, 'i');
    const std::string definition = fmt::format(R"("key": {{"a": 1}}, "name": "{}")", name);
    EXPECT_EQ(create_index("c", definition), or_refused(base::kCannotCreateIndex));
    EXPECT_EQ(create_index("c", definition), or_refused(base::kCannotCreateIndex)) << "again";
    if (keeps_long()) {
        const std::string found = fmt::format(R"({{"find": "c", "hint": "{}"}})", name);
        EXPECT_EQ(code(ask(found)), 0);
        EXPECT_EQ(code(ask(fmt::format(R"({{"dropIndexes": "c", "index": "{}"}})", name))), 0);
        EXPECT_EQ(code(ask(found)), base::kBadValue);
    }
    EXPECT_EQ(create_index(
                  "c", fmt::format(R"("key": {{"a": 1}}, "name": "{}")", std::string(17'000, 'i'))),
              base::kCannotCreateIndex);
    EXPECT_EQ(create_index("c", R"("key": {"a": 1}, "name": "a_1")"), 0);
    // An engine with that limit has it for the names of indexes under another name, too.
    const std::string rename =
        fmt::format(R"({{"renameCollection": "test.c", "to": "test.{}"}})", std::string(250, 'n'));
    EXPECT_EQ(code(run(rename, "admin")), or_refused(base::kInvalidNamespace));
}

TEST_P(LongNamesTest, KeysMayBeLong) {
    ASSERT_EQ(create_index("c", R"("key": {"a": 1}, "name": "a_1", "unique": true)"), 0);
    std::vector<std::string> texts;
    for (const size_t length : {2'000, 70'000, 1'000'000})
        for (const char last : {'a', 'b', 'c'})
            texts.push_back(std::string(length, 'x') + last);
    for (size_t i = 0; i < texts.size(); ++i)
        EXPECT_EQ(insert("c", static_cast<int>(i), texts[i]), or_refused(base::kKeyTooLong));
    if (!keeps_long()) return;
    EXPECT_EQ(insert("c", 100, texts[4]), base::kDuplicateKey);
    const bson::Object refusal = ask(
        fmt::format(R"({{"insert": "c", "documents": [{{"_id": 100, "a": "{}"}}]}})", texts[8]));
    EXPECT_EQ(write_error(refusal), base::kDuplicateKey);
    EXPECT_LT(refusal.doc().size(), 10'000);
    EXPECT_TRUE(refusal.doc()
                    .at_path("writeErrors.0.errmsg")
                    .as_string()
                    .starts_with("E11000 duplicate key error collection: test.c index: a_1 dup "
                                 "key: { : \"xxx"));
    for (const std::string& text : texts) {
        EXPECT_EQ(count("c", fmt::format(R"({{"a": "{}"}})", text)), 1);
        EXPECT_EQ(count("c", fmt::format(R"({{"a": {{"$gt": "{}"}}}})", text)),
                  std::ranges::count_if(texts, [&](const auto& each) { return each > text; }));
    }
    EXPECT_EQ(write_error(ask(R"({"update": "c", "updates": [
                  {"q": {"_id": 3}, "u": {"$set": {"a": "short"}}},
                  {"q": {"_id": 4}, "u": {"$set": {"b": 1}}}]})")),
              0);
    EXPECT_EQ(count("c", fmt::format(R"({{"a": "{}"}})", texts[3])), 0);
    EXPECT_EQ(write_error(ask(R"({"delete": "c", "deletes": [{"q": {"_id": 5}, "limit": 1}]})")),
              0);
    EXPECT_TRUE(is_valid("c"));
    EXPECT_EQ(code(ask(R"({"dropIndexes": "c", "index": "*"})")), 0);
    EXPECT_EQ(create_index("c", R"("key": {"a": -1, "b": 1}, "name": "a_-1")"), 0);
    EXPECT_EQ(count("c", fmt::format(R"({{"a": "{}"}})", texts[8])), 1);
    EXPECT_TRUE(is_valid("c"));
}

// Long names and keys that are there stay, and are changed and found as before.
TEST_P(LongNamesTest, AnEngineThatIsAskedToRefusesNewOnesOnly) {
    const std::string name(200, 'n'), text(5'000, 'x');
    const std::string definition = fmt::format(R"("key": {{"a": 1}}, "name": "{}")", name);
    if (keeps_long()) {
        ASSERT_EQ(create_index(name, definition), 0);
        ASSERT_EQ(insert(name, 1, text), 0);
    }
    engine_->refuse_long(true);
    EXPECT_EQ(engine_->refuses_long(), keeps_long());
    ASSERT_EQ(create_index("c", R"("key": {"a": 1}, "name": "a_1")"), 0);
    EXPECT_EQ(insert("c", 1, text), base::kKeyTooLong);
    ASSERT_EQ(insert("d", 1, text), 0);
    EXPECT_NE(create_index("d", R"("key": {"a": 1}, "name": "a_1")"), 0);
    EXPECT_EQ(create_index("d", definition), base::kCannotCreateIndex);
    EXPECT_EQ(code(ask(fmt::format(R"({{"create": "{}x"}})", name))), base::kInvalidNamespace);
    EXPECT_EQ(insert(name + "x", 1, "x"), base::kInvalidNamespace);
    if (!keeps_long()) return;
    EXPECT_EQ(insert(name, 2, "short"), 0);
    EXPECT_EQ(write_error(ask(
                  fmt::format(R"({{"update": "{}", "updates": [{{"q": {{"_id": 1}}, "u": {{"$set":)"
                              R"( {{"b": 1}}}}}}]}})",
                              name))),
              0);
    EXPECT_EQ(count(name, fmt::format(R"({{"a": "{}", "b": 1}})", text)), 1);
    EXPECT_TRUE(is_valid(name));
    engine_->refuse_long(false);
    EXPECT_EQ(insert("c", 1, text), 0);
    EXPECT_EQ(create_index("d", definition), 0);
    EXPECT_TRUE(is_valid("c"));
}

}  // namespace
}  // namespace command

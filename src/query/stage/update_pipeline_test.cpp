// Shows what tests/reports/writes.jsonl does not: one update for several documents, the place of
// `_id`, limits of the stored document.
#include "query/stage/update_pipeline.h"
#include "dialect/dialect.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"

namespace query {
namespace {

std::unique_ptr<Update> parsed(const char* stages) {
    const bson::Object given = bson::parse_test_json(stages);
    return parse_update(given["u"].as_doc(), true, {.dialect = dialect::kToday}, nullptr);
}

int code_of(Update& update, bson::Doc doc) {
    bson::Buffer out;
    try {
        update.apply(doc, MatchDetails(), out);
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

TEST(UpdatePipeline, MakesOneDocumentOfEach) {
    const auto update = parsed(R"({"u": [{"$set": {"n": {"$add": ["$n", 1]}}}]})");
    EXPECT_FALSE(update->needs_details());
    for (const char* doc : {R"({"_id": 1, "n": 1})", R"({"_id": 2, "n": 1})"}) {
        bson::Buffer out;
        const bson::Object old = bson::parse_test_json(doc);
        const UpdateResult result = update->apply(old, MatchDetails(), out);
        EXPECT_TRUE(result.changed && result.whole && !result.in_place);
        EXPECT_EQ(bson::to_text(bson::Doc(out.data())["_id"]), bson::to_text(old["_id"]));
        EXPECT_EQ(bson::Doc(out.data())["n"].to_int64(), 2);
    }
    // After one that fails the next one is not mixed up with it.
    EXPECT_NE(code_of(*update, bson::make("_id", 1, "n", "x")), 0);
    bson::Buffer out;
    update->apply(bson::make("_id", 2, "n", 5), MatchDetails(), out);
    EXPECT_EQ(bson::to_text(bson::Doc(out.data())), "{ _id: 2, n: 6 }");
}

TEST(UpdatePipeline, KeepsId) {
    const auto update = parsed(R"({"u": [{"$replaceRoot": {"newRoot": "$d"}}]})");
    const auto apply = [&update](const char* doc) {
        bson::Buffer out;
        const UpdateResult result = update->apply(bson::parse_test_json(doc), MatchDetails(), out);
        return result.changed ? bson::to_text(bson::Doc(out.data())) : std::string("the same");
    };
    EXPECT_EQ(apply(R"({"_id": 7, "d": {"x": 1}})"), "{ _id: 7, x: 1 }");
    EXPECT_EQ(apply(R"({"_id": 7, "d": {"x": 1, "_id": 7}})"), "{ _id: 7, x: 1 }");
    EXPECT_EQ(code_of(*update, bson::make("_id", 7, "d", bson::make("_id", 8))),
              base::kImmutableField);
}

TEST(UpdatePipeline, RefusesWhatCannotBeStored) {
    const auto twice = parsed(R"({"u": [{"$set": {"b": "$a", "c": "$a"}}]})");
    EXPECT_EQ(code_of(*twice, bson::make("_id", 1, "a", std::string(6 << 20, 'x'))), 17419);
    bson::Object deep = bson::make("x", 1);
    for (int i = 0; i < bson::kDepthMax - 3; ++i)
        deep = bson::make("x", deep);
    const auto deeper = parsed(R"({"u": [{"$set": {"b.c.d.e": "$a"}}]})");
    EXPECT_EQ(code_of(*deeper, bson::make("_id", 1, "a", deep)), base::kOverflow);
}

}  // namespace
}  // namespace query

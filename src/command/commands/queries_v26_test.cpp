// Queries by the old opcodes: what their flags and modifiers do beyond the recorded conversations.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <set>

#include "command/commands/testing/service.h"

namespace command {
namespace {

class QueriesV26Test : public EachEngineTest {};

// The first batch is as large as asked for, the further ones as large as may be.
TEST_P(QueriesV26Test, ExhaustStreamsBatchesOfLimitedSize) {
    const std::string megabyte(1 << 20, 'x');
    for (int i = 0; i < 11; ++i)
        insert_old("test.c", {fmt::format(R"({{"_id": {}, "x": "{}"}})", i, megabyte)});
    const std::vector<uint8_t> replies = query_bytes("test.c", "{}", 2, wire::kExhaust);
    std::vector<int32_t> counts;
    for (size_t at = 0; at < replies.size();) {
        counts.push_back(bson::load<int32_t>(replies.data() + at + 32));
        at += static_cast<size_t>(bson::load<int32_t>(replies.data() + at));
    }
    EXPECT_EQ(counts, (std::vector<int32_t>{2, 4, 4, 1}));
}

TEST_P(QueriesV26Test, RecordsTellTheirPlace) {
    insert_old("test.c", {R"({"_id": 1, "a": 1})", R"({"_id": 2, "a": 2})"});
    int32_t last = -1;
    for (const bson::Object& doc : query("test.c", R"({"$query": {}, "$showDiskLoc": true})", 0)) {
        const bson::Doc place = doc["$diskLoc"].as_doc();
        EXPECT_EQ(place["file"].as_int32(), 0);
        EXPECT_GT(place["offset"].as_int32(), last);
        last = place["offset"].as_int32();
        EXPECT_EQ(doc.doc().field_count(), 3);
    }
    EXPECT_GT(last, 0);
    const bson::Object newer =
        run(R"({"find": "c", "projection": {"a": 1}, "showRecordId": true})");
    EXPECT_EQ(newer.doc().at_path("cursor.firstBatch.1.$recordId").to_int64(), last);
}

TEST_P(QueriesV26Test, HintsThatNameNoIndexAreBad) {
    insert_old("test.c", {R"({"_id": 1})"});
    for (const char* hint : {"null", "5", "true", R"("")", R"("x_1")", R"(["_id_"])"}) {
        const std::string asked = fmt::format(R"({{"$query": {{}}, "$hint": {}}})", hint);
        EXPECT_EQ(query("test.c", asked, 0).at(0)["code"].to_int64(), 17007) << hint;
        EXPECT_TRUE(query("test.none", asked, 0).empty()) << hint;
    }
}

TEST_P(QueriesV26Test, CodesTellWhatAQueryWasAt) {
    insert_old("test.c", {R"({"_id": 1, "a": [1, 2], "b": [1, 2]})"});
    const auto code_of = [&](const char* asked) {
        return query("test.c", asked, 0).at(0)["code"].to_int64();
    };
    for (const char* unread :
         {R"({"a": {"$nosuch": 1}})", R"({"$query": {}, "$orderby": {"a": 2}})",
          R"({"$query": {}, "$min": 5})", R"({"$query": {}, "$maxTimeMS": -1})",
          R"({"$query": {}, "$min": {"_id": 1}, "$max": {"a": 1}})"})
        EXPECT_EQ(code_of(unread), 17287) << unread;
    for (const char* unplanned :
         {R"({"$query": {}, "$min": {"a": 1}})", R"({"$query": {}, "$explain": 1, "$hint": "x"})",
          R"({"$query": {}, "$min": {"_id": 2}, "$max": {"_id": 2}})"})
        EXPECT_EQ(code_of(unplanned), 17007) << unplanned;
    EXPECT_EQ(code_of(R"({"$query": {}, "$orderby": {"a": 1, "b": 1}})"), 17144);
}

TEST_P(QueriesV26Test, PseudoCollectionsMayGoOnBehindTheirNames) {
    for (const char* rest : {"", ".x", "x"}) {
        const auto first = [&](const std::string& ns, const char* json) {
            return query(ns + rest, json, -1).at(0);
        };
        EXPECT_TRUE(first("test.$cmd.sys.inprog", "{}").doc().has("inprog"));
        EXPECT_TRUE(first("test.$cmd.sys.killop", "{}").doc().has("err"));
        EXPECT_TRUE(first("test.$cmd.sys.killop", R"({"op": 99999999})").doc().has("info"));
        EXPECT_EQ(text(first("test.$cmd.sys.unlock", "{}"), "err"), "\"unauthorized\"");
        EXPECT_EQ(text(first("admin.$cmd.sys.unlock", "{}"), "errmsg"), "\"not locked\"");
    }
}

TEST_P(QueriesV26Test, SnapshotsTakeNoSortAndNoHint) {
    insert_old("test.c", {R"({"_id": 1})"});
    for (const char* more : {R"("$orderby": {"$natural": 1})", R"("$orderby": {"_id": 1})",
                             R"("$hint": {"$natural": 1})", R"("$hint": "_id_")"}) {
        const auto asked = fmt::format(R"({{"$query": {{}}, "$snapshot": true, {}}})", more);
        EXPECT_EQ(query("test.c", asked, 0).at(0)["code"].to_int64(), 17287) << more;
    }
    EXPECT_EQ(query("test.c", R"({"$query": {}, "$snapshot": true, "$orderby": {}})", 0).size(), 1);
}

class TimesTest : public EachEngineTest {
  protected:
    // The _ids of the documents that `filter` finds, by that hint.
    std::string found(const std::string& filter, const std::string& hint) {
        const bson::Object reply = run(
            fmt::format(R"({{"find": "c", "filter": {{"d": {}}}, "hint": {{{}}}}})", filter, hint));
        std::set<int64_t> ids;
        for (const bson::Element& doc : reply.doc().at_path("cursor.firstBatch").as_doc())
            ids.insert(doc.as_doc()["_id"].to_int64());
        return fmt::format("{} of {}", fmt::join(ids, " "), code(reply));
    }
};

// Dates before 1970 and timestamps from 2^31 seconds on lie beyond what the other's range ends at.
TEST_P(TimesTest, IndexesFindDatesBesideTimestampsAsScansDo) {
    const auto date = [](int64_t ms) {
        return fmt::format(R"({{"$date": {{"$numberLong": "{}"}}}})", ms);
    };
    const auto timestamp = [](uint32_t seconds) {
        return fmt::format(R"({{"$timestamp": {{"t": {}, "i": 1}}}})", seconds);
    };
    std::vector<std::string> values;
    for (const int64_t ms : std::vector<int64_t>{-300000000000, -1000, 0, 86400000, 1400000000000})
        values.push_back(date(ms));
    for (const uint32_t seconds : {0u, 100u, 0x7fffffffu, 0x80000000u, 4000000000u})
        values.push_back(timestamp(seconds));
    for (size_t i = 0; i < values.size(); ++i)
        insert_old("test.c", {fmt::format(R"({{"_id": {}, "d": {}}})", i, values[i])});
    run(R"({"createIndexes": "c", "indexes": [{"key": {"d": 1}, "name": "up"},
                                              {"key": {"d": -1}, "name": "down"}]})");
    for (const std::string& value : values) {
        for (const char* comparison : {"$lt", "$lte", "$gt", "$gte"}) {
            const std::string filter = fmt::format(R"({{"{}": {}}})", comparison, value);
            const std::string scanned = found(filter, R"("$natural": 1)");
            EXPECT_EQ(found(filter, R"("d": 1)"), scanned) << filter;
            EXPECT_EQ(found(filter, R"("d": -1)"), scanned) << filter;
        }
    }
    EXPECT_EQ(found(fmt::format(R"({{"$gt": {}}})", timestamp(0x80000000u)), R"("d": 1)"),
              "9 of 0");
}

// A walk through a document may not run out of stack at the deepest nesting that comes in.
class DeepDocumentsTest : public EachEngineTest {
  protected:
    static constexpr int kLevels = bson::kDepthMax - 10;  // the rest is for what stands around

    // {name: [{name: [... value ...]}]}, with arrays below every other level if `arrays`.
    static bson::Object nest(const char* name, bson::Object value, bool arrays) {
        for (int i = 1; i < kLevels; ++i) {
            bson::Builder outer;
            if (arrays && i % 2 == 0) {
                outer.append_array(name, value);
                value = outer.object();
            } else if (arrays) {
                value = bson::make("0", value);
            } else {
                value = bson::make(name, value);
            }
        }
        return value;
    }
    static bson::Object one(const bson::Object& doc) { return bson::make("0", doc); }
    static bson::Object list(const char* command, const char* field, const bson::Object& item) {
        bson::Builder out;
        out.append(command, "c").append_array(field, one(item));
        return out.object();
    }
};

TEST_P(DeepDocumentsTest, GoThroughEverything) {
    for (const bool arrays : {false, true}) {
        const bson::Object deep = nest("a", bson::make("a", 1), arrays);
        const bson::Object equal = bson::make("d", deep);
        const std::string path = arrays ? "d.0.a.0.a" : "d.a.a.a";
        run(R"({"drop": "c"})");
        ASSERT_EQ(code(run(R"({"createIndexes": "c", "indexes": [
                          {"key": {"d": "hashed"}, "name": "hashed"}]})")),
                  0);
        const bson::Object inserted = run(
            list("insert", "documents", bson::make("_id", 1, "d", deep, "f", bson::make("x", 1))));
        ASSERT_FALSE(inserted["writeErrors"])
            << bson::to_text(inserted["writeErrors"]).substr(0, 200);
        EXPECT_EQ(query("test.c", equal, 0).size(), 1u);
        const auto read = [&](const char* modifier, const bson::Object& value) {
            return query("test.c", bson::make("$query", equal, modifier, value), 0).size();
        };
        EXPECT_EQ(read("$explain", bson::make("x", 1)), 1u);
        EXPECT_EQ(read("$orderby", bson::make("d", 1, "_id", 1)), 1u);
        EXPECT_EQ(query("test.c", bson::make(path, bson::make("$exists", true)), 0).size(), 1u);
        EXPECT_EQ(query("test.c", bson::make("d", bson::make("$ne", deep)), 0).size(), 0u);
        for (const char* op : {"$set", "$push", "$addToSet"}) {
            const bson::Object update =
                bson::make("q", bson::make("_id", 1), "u", bson::make(op, bson::make("g", deep)));
            run(list("update", "updates", update));
        }
        EXPECT_EQ(code(run(bson::make("findAndModify", "c", "query", equal, "new", true, "update",
                                      bson::make("$set", bson::make("h", deep))))),
                  0);
        EXPECT_EQ(code(run(bson::make("distinct", "c", "key", "d", "query", equal))), 0);
        bson::Builder pipeline;
        pipeline.push(bson::make("$match", equal));
        pipeline.push(
            bson::make("$project", bson::make("d", 1, "x", bson::make("$literal", deep))));
        pipeline.push(bson::make("$group", bson::make("_id", "$d")));
        pipeline.push(bson::make("$sort", bson::make("_id", 1)));
        bson::Builder aggregate;
        aggregate.append("aggregate", "c").append_array("pipeline", pipeline.doc());
        aggregate.append("cursor", bson::Object());
        EXPECT_EQ(code(run(aggregate.object())), 0);
        EXPECT_EQ(text(run(R"({"validate": "c", "full": true})"), "valid"), "true");
    }
}

TEST_P(DeepDocumentsTest, OperatorsNestAsDeep) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
    insert_old("test.c", {R"({"_id": 1, "a": 1})", R"({"_id": 2, "a": [7]})"});
    // More than the 100 levels of a query.
    const bson::Object negations = nest("$not", bson::make("$gt", 5), false);
    for (const char* field : {"a", "_id", "b"}) {
        const auto docs = query("test.c", bson::make(field, negations), 0);
        EXPECT_EQ(reply_flags_, wire::ReplyWriter::kQueryFailure) << bson::to_text(docs.at(0));
        query("test.c", bson::make("$query", bson::make(field, negations), "$explain", true), 0);
    }
    // Expressions and stages of pipelines, and modifiers, have limits of their own or none.
    for (const char* name : {"$add", "$not", "$cond", "$let", "$redact", "x"}) {
        const bson::Object nested = nest(name, bson::make(name, 1), true);
        bson::Builder aggregate;
        aggregate.append("aggregate", "c")
            .append_array("pipeline", one(bson::make("$project", bson::make("y", nested))))
            .append("cursor", bson::Object());
        run(aggregate.object());
        run(list("update", "updates",
                 bson::make("q", bson::make("_id", 1), "u",
                            bson::make("$pull", bson::make("a", nested)))));
        query("test.c", bson::make("a", bson::make("$elemMatch", nested)), 0);
    }
    EXPECT_EQ(text(run(R"({"count": "c"})"), "n"), "2");
}

INSTANTIATE_TEST_SUITE_P(engines, QueriesV26Test, kTestEngines, engine_name);
INSTANTIATE_TEST_SUITE_P(engines, TimesTest, kTestEngines, engine_name);
INSTANTIATE_TEST_SUITE_P(engines, DeepDocumentsTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

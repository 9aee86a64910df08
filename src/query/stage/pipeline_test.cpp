// Shows what the recorded pipelines do not: the offers to the planner, memory limits, stages later
// than 2.6, documents that a source takes back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "dialect/dialect.h"
#include "query/match/match_tree.h"
#include "query/plan/sort.h"
#include "query/stage/output.h"
#include "query/stage/pipeline.h"
#include "sched/operation.h"

namespace query {
namespace {

// {"p": [...]} keeps the array.
std::unique_ptr<Pipeline> parse(const std::string& stages, const PipelineContext& context = {}) {
    return Pipeline::parse(bson::parse_test_json("{\"p\": " + stages + "}")["p"].as_doc(), context);
}

// Runs over documents that die as soon as the next one is asked for.
std::vector<bson::Object> run(Pipeline& pipeline, const std::vector<std::string>& input) {
    size_t at = 0;
    auto current = std::make_unique<bson::Object>();
    pipeline.set_source([&](bson::Doc* out) {
        current = nullptr;
        if (at == input.size()) return false;
        current = std::make_unique<bson::Object>(bson::parse_test_json(input[at++]));
        *out = *current;
        return true;
    });
    std::vector<bson::Object> results;
    bson::Doc doc;
    while (pipeline.next(&doc))
        results.emplace_back(doc);
    return results;
}

std::string texts(const std::vector<bson::Object>& docs) {
    std::string text;
    for (const bson::Object& doc : docs)
        text += (text.empty() ? "" : " ") + bson::to_text(doc);
    return text;
}

int error_of(const std::string& stages, const std::vector<std::string>& input = {}) {
    try {
        run(*parse(stages), input);
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

TEST(Pipeline, OffersItsFirstFilterAndSort) {
    const auto pipeline = parse(R"([{"$match": {"a": 1}}, {"$sort": {"b": -1}}, {"$skip": 2},
                                    {"$limit": 3}, {"$project": {"c": 1}}])");
    EXPECT_EQ(bson::to_text(pipeline->leading_match()), "{ a: 1 }");
    EXPECT_EQ(bson::to_text(pipeline->leading_sort()), "{ b: -1 }");
    EXPECT_EQ(pipeline->leading_limit(), 5);
    pipeline->drop_leading_sort();
    pipeline->drop_leading_match();
    EXPECT_TRUE(pipeline->leading_match().empty());
    EXPECT_TRUE(pipeline->leading_sort().empty());
    EXPECT_EQ(pipeline->leading_limit(), 5);
    EXPECT_EQ(pipeline->describe().size(), 3U);
}

TEST(Pipeline, OffersAFilterBehindASort) {
    const auto pipeline = parse(R"([{"$sort": {"b": 1}}, {"$match": {"a": 1}}])");
    EXPECT_FALSE(pipeline->leading_match().empty());
    EXPECT_FALSE(pipeline->leading_sort().empty());
    EXPECT_EQ(pipeline->leading_limit(), 0);
}

TEST(Pipeline, NamesItsTarget) {
    const auto pipeline = parse(R"([{"$match": {}}, {"$out": "t"}])");
    EXPECT_EQ(pipeline->output()->target.collection, "t");
    EXPECT_EQ(pipeline->describe().size(), 1U);
}

TEST(Pipeline, TakesDocumentsFromAStageOfTheCaller) {
    PipelineContext context;
    int asked = 0;
    context.find_first_stage = [&](std::string_view stage) -> FirstStage {
        if (stage != "$numbers") return {};
        return [&asked](const bson::Element&) {
            return [&asked, doc = bson::make("n", 7)](bson::Doc* out) {
                *out = doc;
                return ++asked <= 3;
            };
        };
    };
    const auto pipeline =
        parse(R"([{"$numbers": {}}, {"$group": {"_id": null, "n": {"$sum": "$n"}}}])", context);
    EXPECT_TRUE(pipeline->has_own_source());
    bson::Doc doc;
    ASSERT_TRUE(pipeline->next(&doc));
    EXPECT_EQ(doc["n"].to_int64(), 21);
    EXPECT_FALSE(pipeline->next(&doc));
    EXPECT_THROW(parse(R"([{"$other": {}}])", context), base::Error);
    EXPECT_THROW(parse(R"([{"$limit": 1}, {"$numbers": {}}])", context), base::Error);
    EXPECT_THROW(parse(R"([{"$facet": {"a": [{"$numbers": {}}]}}])", context), base::Error);
    EXPECT_EQ(asked, 4);  // a $facet only asks whether there is such a stage
}

TEST(Pipeline, KeepsNothingOfAPassedDocument) {
    const std::vector<std::string> input = {R"({"_id": "a", "l": ["x", "y"], "v": "3"})",
                                            R"({"_id": "b", "l": ["x"], "v": "1"})",
                                            R"({"_id": "c", "l": ["z"], "v": "2"})"};
    const auto unwound = parse(R"([{"$unwind": "$l"}, {"$sort": {"v": 1}},
                                   {"$project": {"l": 1}}])");
    EXPECT_EQ(
        texts(run(*unwound, input)),
        R"({ _id: "b", l: "x" } { _id: "c", l: "z" } { _id: "a", l: "x" } { _id: "a", l: "y" })");
    const auto grouped = parse(R"([{"$unwind": "$l"}, {"$group": {"_id": "$l",
        "first": {"$first": "$v"}, "max": {"$max": "$v"}, "ids": {"$addToSet": "$_id"}}}])");
    EXPECT_EQ(texts(run(*grouped, input)),
              R"({ _id: "x", first: "3", max: "3", ids: [ "a", "b" ] } )"
              R"({ _id: "y", first: "3", max: "3", ids: [ "a" ] } )"
              R"({ _id: "z", first: "2", max: "2", ids: [ "c" ] })");
}

TEST(Pipeline, LaterStages) {
    const std::vector<std::string> input = {
        R"({"_id": "a", "k": "x"})", R"({"_id": "b", "k": "y"})", R"({"_id": "c", "k": "y"})"};
    EXPECT_EQ(texts(run(*parse(R"([{"$count": "n"}])"), input)), "{ n: 3 }");
    EXPECT_EQ(texts(run(*parse(R"([{"$count": "n"}])"), {})), "");
    EXPECT_EQ(texts(run(*parse(R"([{"$sortByCount": "$k"}])"), input)),
              R"({ _id: "y", count: 2 } { _id: "x", count: 1 })");
    EXPECT_EQ(texts(run(*parse(R"([{"$limit": 1}, {"$set": {"k": "$_id", "s.t": "u"}}])"), input)),
              R"({ _id: "a", k: "a", s: { t: "u" } })");
    EXPECT_EQ(
        texts(run(*parse(R"([{"$limit": 1}, {"$replaceRoot": {"newRoot": {"r": "$k"}}}])"), input)),
        R"({ r: "x" })");
    EXPECT_EQ(run(*parse(R"([{"$sample": {"size": 2}}])"), input).size(), 2U);
    EXPECT_EQ(run(*parse(R"([{"$sample": {"size": 9}}])"), input).size(), 3U);
    EXPECT_EQ(error_of(R"([{"$replaceRoot": {"newRoot": "$k"}}])", input), 40228);
}

// Returns what $addFields makes of one document.
std::string added(const std::string& spec, const std::string& input) {
    const auto pipeline = parse(R"([{"$addFields": )" + spec + "}]");
    return texts(run(*pipeline, {input}));
}

TEST(Pipeline, AMissingValueTakesItsFieldAway) {
    EXPECT_EQ(added(R"({"v": "$nope"})", R"({"a": "x", "v": "y", "z": "z"})"),
              R"({ a: "x", z: "z" })");
    EXPECT_EQ(added(R"({"v": "$nope", "w": "$v"})", R"({"v": "y"})"), R"({ w: "y" })")
        << "every value is computed from the document that came";
    EXPECT_EQ(added(R"({"v": "$$REMOVE"})", R"({"v": "y"})"), "{}");
    EXPECT_EQ(added(R"({"v": {"$cond": [{"$eq": ["$v", "y"]}, "$nope", "$v"]}})", R"({"v": "y"})"),
              "{}");
    EXPECT_EQ(added(R"({"v": {"$cond": [{"$eq": ["$v", "x"]}, "$nope", "$v"]}})", R"({"v": "y"})"),
              R"({ v: "y" })");
    EXPECT_EQ(added(R"({"v": {"$let": {"vars": {"x": "$$REMOVE"}, "in": "$$x"}}})", R"({"v": 1})"),
              "{}");
    EXPECT_EQ(added(R"({"a.b": "$nope"})", R"({"a": {"b": "x", "c": "y"}})"),
              R"({ a: { c: "y" } })");
    EXPECT_EQ(added(R"({"a": {"b": "$nope", "d": "z"}})", R"({"a": {"b": "x", "c": "y"}})"),
              R"({ a: { c: "y", d: "z" } })");
    EXPECT_EQ(added(R"({"a.b": "$nope"})", R"({"a": [{"b": "x", "c": "y"}, "z", [{"b": "x"}]]})"),
              R"({ a: [ { c: "y" }, {}, [ {} ] ] })");
    EXPECT_EQ(added(R"({"a.b": "$nope"})", R"({"a": "x"})"), "{ a: {} }");
    EXPECT_EQ(added(R"({"a.b": "$nope"})", "{}"), "{ a: {} }");
    EXPECT_EQ(added(R"({"v": null})", R"({"v": "y"})"), "{ v: null }");
}

TEST(Pipeline, AddedFieldsAreWrittenAsLaterServersDo) {
    EXPECT_EQ(added(R"({"a.b": "$v"})", R"({"a": ["x", {"c": "y"}], "v": "z"})"),
              R"({ a: [ { b: "z" }, { c: "y", b: "z" } ], v: "z" })");
    EXPECT_EQ(added(R"({"a": {"b": "x", "c": {"d": "$v"}}})", R"({"a": "y", "v": "z"})"),
              R"({ a: { b: "x", c: { d: "z" } }, v: "z" })");
    EXPECT_EQ(added(R"({"a": ["$v", "$nope", {"b": "$v", "c": "$nope"}, "x"]})", R"({"v": "z"})"),
              R"({ v: "z", a: [ "z", null, { b: "z" }, "x" ] })");
    EXPECT_EQ(added(R"({"a": [{"$literal": "$v"}, {}]})", "{}"), R"({ a: [ "$v", {} ] })");
    EXPECT_EQ(added(R"({"a": {"$ifNull": ["$nope", {"b": true, "c": ["$v"]}]}})", R"({"v": "z"})"),
              R"({ v: "z", a: { b: true, c: [ "z" ] } })");
    EXPECT_EQ(error_of(R"([{"$addFields": {"a": "x", "a.b": "y"}}])"), 40176);
    EXPECT_EQ(error_of(R"([{"$addFields": {"a.b": "x", "a": {"b": "y"}}}])"), 40176);
    EXPECT_EQ(error_of(R"([{"$addFields": {"a": {"b.c": "x"}}}])"), 40183);
    EXPECT_EQ(error_of(R"([{"$project": {"a": "$$REMOVE"}}])"), 17276);
    EXPECT_EQ(texts(run(*parse(R"([{"$replaceRoot": {"newRoot": {"a": true, "b": ["$v"]}}}])"),
                        {R"({"v": "z"})"})),
              R"({ a: true, b: [ "z" ] })");
}

TEST(Pipeline, RefusesWhatItCannotDo) {
    EXPECT_EQ(error_of(R"([{"$lookup": {}}])"), 16436);
    PipelineContext of_today;
    of_today.dialect = dialect::kToday;
    for (const char* stage : {"$lookup", "$nosuch", "$rankFusion"}) {
        try {
            parse(std::string(R"([{")") + stage + R"(": {}}])", of_today);
            ADD_FAILURE() << stage;
        } catch (const base::Error& e) {
            EXPECT_EQ(e.code(), 40324) << stage;
            EXPECT_NE(std::string_view(e.what()).find(stage), std::string_view::npos);
        }
    }
    for (const char* stage : {"$listSearchIndexes", "$search", "$searchMeta", "$vectorSearch"}) {
        const std::string stages = std::string(R"([{")") + stage + R"(": {}}])";
        EXPECT_EQ(error_of(stages), 16436) << stage;
        try {
            parse(stages, of_today);
            ADD_FAILURE() << stage;
        } catch (const base::Error& e) {
            EXPECT_EQ(e.code(), 31082) << stage;
        }
    }
    EXPECT_EQ(error_of(R"([{"$geoNear": {}}])"), 16602);
    EXPECT_EQ(error_of(R"([{"$limit": 1}, {"$match": {"$text": {"$search": "x"}}}])"), 17313);
    EXPECT_EQ(error_of(R"([{"$match": {"$text": {"$search": "x"}}}])"), 17313)
        << "it reads no collection";
}

TEST(Pipeline, BeginsAtACollectionToAskItsIndexes) {
    const auto code = [](const std::string& stages, bool reads_collection) {
        PipelineContext context;
        context.dialect = dialect::kToday;
        context.reads_collection = reads_collection;
        try {
            parse(stages, context);
        } catch (const base::Error& e) {
            return e.code();
        }
        return 0;
    };
    const std::string near = R"({"$geoNear": {"near": [0, 0], "distanceField": "d"}})";
    const std::string text = R"({"$match": {"$text": {"$search": "x"}}})";
    EXPECT_EQ(code("[" + near + "]", true), 0);
    EXPECT_EQ(code("[" + text + "]", true), 0);
    EXPECT_EQ(code("[" + near + "]", false), 16602);
    EXPECT_EQ(code("[" + text + "]", false), 17313);
    EXPECT_EQ(code(R"([{"$facet": {"a": [)" + near + "]}}]", true), 40600);
    EXPECT_EQ(code(R"([{"$facet": {"a": [)" + text + "]}}]", true), 17313);
    EXPECT_EQ(code("[" + text + R"(, {"$facet": {"a": [)" + text + "]}}]", true), 17313);
}

TEST(Pipeline, SpecificationsOfStagesHaveTheirCodes) {
    EXPECT_EQ(error_of(R"([{"$sortByCount": {"a": 1}}])"), 40147);
    EXPECT_EQ(error_of(R"([{"$sortByCount": {}}])"), 40147);
    EXPECT_EQ(error_of(R"([{"$sortByCount": "a"}])"), 40148);
    EXPECT_EQ(error_of(R"([{"$sortByCount": 1}])"), 40149);
    EXPECT_EQ(error_of(R"([{"$addFields": {}}])"), 40177);
    EXPECT_EQ(error_of(R"([{"$set": {}}])"), 40177);
    EXPECT_EQ(error_of(R"([{"$addFields": 1}])"), 40272);
    for (const char* size : {"0", "-1", "0.5"})
        EXPECT_EQ(error_of(fmt::format(R"([{{"$sample": {{"size": {}}}}}])", size)), 28747) << size;
    EXPECT_EQ(error_of(R"([{"$sample": {"size": 1}}])"), 0);
    PipelineContext of_today;
    of_today.dialect = dialect::kToday;
    try {
        parse(R"([{"$setWindowFields": {"output": {"a": {"$sum": 1, "window": {}}}}}])", of_today);
        ADD_FAILURE();
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), base::kFailedToParse);
    }
}

TEST(Pipeline, NoNameHoldsANul) {
    EXPECT_EQ(error_of(R"([{"$count": "a\u0000b"}])"), 40159);
    EXPECT_EQ(error_of(R"([{"$project": {"a": "$b\u0000c"}}])"), 16411);
}

TEST(Pipeline, DeepExpressionsAreRefused) {
    std::string expression = "1";
    for (int i = 0; i < bson::kDepthMax + 50; ++i)
        expression = R"({"$add": [)" + expression + "]}";
    EXPECT_EQ(error_of(R"([{"$project": {"a": )" + expression + "}}]"), base::kOverflow);
}

// Facets may have a thousand each, and there may be many of them.
TEST(Pipeline, ReadingManyStagesCanBeEnded) {
    std::string stages = "[";
    for (int i = 0; i < 500; ++i)
        stages += R"({"$skip": 1}, )";
    stages += R"({"$skip": 1}])";
    sched::Operation operation;
    operation.start();
    const sched::Operation::Scope scope(&operation);
    EXPECT_EQ(error_of(stages), 0);
    operation.kill(operation.id());
    EXPECT_EQ(error_of(stages), base::kInterrupted);
}

// Each stage puts the document into another one: whatever walks the result needs stack for every
// level.
TEST(Pipeline, DocumentsAreNestedNoDeeperThanThoseOfClients) {
    std::string dotted = "b";
    for (int i = 1; i < 200; ++i)
        dotted += ".b";
    const std::string deeper = R"({"$addFields": {")" + dotted + R"(": "$b"}})";
    const auto stages = [&](int count, const std::string& last) {
        std::string text = "[";
        for (int i = 0; i < count; ++i)
            text += deeper + ", ";
        return text + last + "]";
    };
    const std::vector<std::string> input = {R"({"b": 1})"};
    for (const char* last :
         {R"({"$group": {"_id": "$b"}})", R"({"$project": {"x": {"$eq": ["$b", "$b"]}}})",
          R"({"$redact": "$$DESCEND"})", R"({"$match": {"nothing": 1}})"}) {
        EXPECT_EQ(error_of(stages(4, last), input), 0) << last;
        EXPECT_EQ(error_of(stages(100, last), input), base::kOverflow) << last;
    }
    std::string groups = "[";
    for (int i = 0; i < 900; ++i)
        groups += R"({"$group": {"_id": {"a": {"a": "$_id"}}}}, )";
    EXPECT_EQ(error_of(groups + R"({"$limit": 1}])", input), base::kOverflow);
    // Many stages that add nothing are no reason.
    std::string flat = "[";
    for (int i = 0; i < 500; ++i)
        flat += R"({"$addFields": {"c": "$b"}}, )";
    EXPECT_EQ(error_of(flat + R"({"$limit": 1}])", input), 0);
}

// The sort compares as find does: missing is null, an array counts as one of its elements, [] as
// less than null.
TEST(Pipeline, ASortOrdersByWholeValuesOrAsFind) {
    const std::vector<std::string> input = {
        R"({"_id": 0, "a": null})",
        R"({"_id": 1})",
        R"({"_id": 2, "a": [3, 1]})",
        R"({"_id": 3, "a": []})",
        R"({"_id": 4, "a": 2})",
        R"({"_id": 5, "a": {"y": 1}})",
        R"({"_id": 6, "a": {"x": "z"}})",
        R"({"_id": 7, "a": [{"b": 9}, {"b": 5}]})",
        R"({"_id": 8, "a": {"b": [7, 6]}})",
    };
    const auto order = [&](const std::string& stages, dialect::Dialect dialect,
                           const char* bounded_by = nullptr) {
        PipelineContext context;
        context.dialect = dialect;
        const auto pipeline = parse(stages, context);
        std::unique_ptr<Matcher> filter;
        bson::Object bounds;
        if (bounded_by != nullptr) {
            bounds = bson::parse_test_json(bounded_by);
            filter = Matcher::parse(bounds);
            pipeline->order_leading_sort(
                std::make_shared<const SortPattern>(pipeline->leading_sort(), filter.get()));
        }
        std::string ids;
        for (const bson::Object& doc : run(*pipeline, input))
            ids += std::to_string(doc["_id"].to_int32());
        return ids;
    };
    EXPECT_EQ(order(R"([{"$sort": {"a": 1}}])", dialect::kV26), "104865327");
    EXPECT_EQ(order(R"([{"$sort": {"a": 1}}])", dialect::kToday), "301247568");
    EXPECT_EQ(order(R"([{"$sort": {"a": -1}}])", dialect::kToday), "865724013");
    EXPECT_EQ(order(R"([{"$skip": 0}, {"$sort": {"a.b": -1}}, {"$limit": 2}])", dialect::kToday),
              "78");
    EXPECT_EQ(order(R"([{"$sort": {"a.0": -1, "_id": 1}}, {"$limit": 2}])", dialect::kToday), "72");
    // Only the 3 of [3, 1] counts.
    EXPECT_EQ(
        order(R"([{"$sort": {"a": 1}}, {"$limit": 5}])", dialect::kToday, R"({"a": {"$gte": 2}})"),
        "30142");
    EXPECT_EQ(order(R"([{"$sort": {"a": 1}}])", dialect::kV26, R"({"a": {"$gte": 2}})"),
              "104865327");
}

TEST(Pipeline, AProjectionByMsgTakesFieldsAway) {
    PipelineContext context;
    context.dialect = dialect::kToday;
    const std::vector<std::string> input = {
        R"({"_id": {"x": 1, "y": 2}, "a": {"b": 1, "c": 2}, "l": [{"b": 1, "c": 2}, [{"b": 3}], 4],
            "s": "b"})"};
    const auto without = [&](const std::string& fields) -> std::string {
        const std::string stages = "[{\"$project\": " + fields + "}]";
        try {
            return texts(run(*parse(stages, context), input));
        } catch (const base::Error& error) {
            return std::to_string(error.code());
        }
    };
    const std::string rest = R"(a: { b: 1, c: 2 }, l: [ { b: 1, c: 2 }, [ { b: 3 } ], 4 ])";
    EXPECT_EQ(without(R"({"_id": 0, "s": false})"), "{ " + rest + " }");
    EXPECT_EQ(without(R"({"_id": 1, "s": 0.0})"), "{ _id: { x: 1, y: 2 }, " + rest + " }");
    EXPECT_EQ(without(R"({"_id": 0})"), "{ " + rest + R"(, s: "b" })");
    EXPECT_EQ(without(R"({"_id.x": 0, "a.b": 0, "l.b": 0, "s.b": 0, "n.b": 0})"),
              R"({ _id: { y: 2 }, a: { c: 2 }, l: [ { c: 2 }, [ {} ], 4 ], s: "b" })");
    EXPECT_EQ(without(R"({"_id": {"x": 0}, "a": {"b": 0, "c": 0}, "l": 0})"),
              R"({ _id: { y: 2 }, a: {}, s: "b" })");
    // Positions in arrays are names like others.
    EXPECT_EQ(without(R"({"_id": 0, "a": 0, "l.0": 0, "s": 0})"),
              "{ l: [ { b: 1, c: 2 }, [ { b: 3 } ], 4 ] }");
    EXPECT_EQ(without(R"({"a": 0, "s": 1})"), "31253");
    EXPECT_EQ(without(R"({"a": {"b": 0, "c": 1}})"), "31253");
    EXPECT_EQ(without(R"({"a": 0, "n": "$s"})"), "31252");
    EXPECT_EQ(without(R"({"a": 0, "n": {"$add": [1, 2]}})"), "31252");
    EXPECT_EQ(without(R"({"_id": 0, "a": 1, "s": 0})"), "31254");
    EXPECT_EQ(without(R"({"a": 0, "a.b": 0})"), "31249");
    EXPECT_EQ(without(R"({"a.b": 0, "a": 0})"), "31250");
    EXPECT_EQ(without(R"({"a.b": 0, "a": {"b": 0}})"), "31250");
    EXPECT_EQ(without(R"({"a": {"b.c": 0}})"), "40183");
    EXPECT_EQ(without(R"({"a..b": 0})"), "15998");
    EXPECT_EQ(without("{}"), "51272");
    // The old messages refuse it as 2.6 does.
    EXPECT_EQ(error_of(R"([{"$project": {"a": 0}}])", input), 16406);
    EXPECT_EQ(error_of(R"([{"$project": {"_id": 0}}])", input), 16403);
}

TEST(Pipeline, SortAndGroupHaveALimit) {
    const std::string big(1024 * 1024, 'x');
    size_t left = 0;
    const auto feed = [&](Pipeline& pipeline) {
        left = 120;
        const bson::Object doc = bson::make("s", big);
        pipeline.set_source([&left, doc](bson::Doc* out) {
            *out = doc;
            return left-- != 0;
        });
        bson::Doc out;
        pipeline.next(&out);
    };
    const auto code = [&](Pipeline& pipeline) {
        try {
            feed(pipeline);
        } catch (const base::Error& e) {
            return e.code();
        }
        return 0;
    };
    EXPECT_EQ(code(*parse(R"([{"$sort": {"s": 1}}])")), 16819);
    EXPECT_EQ(code(*parse(R"([{"$group": {"_id": 1, "a": {"$push": "$s"}}}])")), 16945);
    // With a limit behind it, the sort keeps few.
    EXPECT_EQ(code(*parse(R"([{"$sort": {"s": 1}}, {"$limit": 1}])")), 0);
    PipelineContext context;
    context.allow_disk_use = true;
    EXPECT_EQ(code(*parse(R"([{"$sort": {"s": 1}}])", context)), 0);
}

// Only what leaves a pipeline has to fit into a document that can be stored, and that is for the
// caller to say.
TEST(Pipeline, DocumentsMayBeLargeBetweenStages) {
    const bson::Object big = bson::make("a", std::string(6 << 20, 'x'));
    const auto code = [&](const std::string& last, int count) {
        try {
            const auto pipeline =
                parse(R"([{"$group": {"_id": null, "l": {"$push": "$a"}}}, )" + last + "]");
            pipeline->set_source([&](bson::Doc* out) {
                *out = big;
                return count-- != 0;
            });
            bson::Doc doc;
            while (pipeline->next(&doc)) {
            }
        } catch (const base::Error& e) {
            return e.code();
        }
        return 0;
    };
    for (const char* last :
         {R"({"$project": {"n": {"$size": "$l"}}})", R"({"$unwind": "$l"})",
          R"({"$addFields": {"l": 1}})", R"({"$redact": "$$KEEP"})", R"({"$match": {"l": 1}})",
          R"({"$sort": {"l": 1}})", R"({"$group": {"_id": "$l"}})",
          R"({"$replaceRoot": {"newRoot": {"x": "$l"}}})"})
        EXPECT_EQ(code(last, 4), 0) << last;
    EXPECT_EQ(code(R"({"$count": "n"})", 11), 10334);
}

TEST(Pipeline, FacetsSeeTheSameDocuments) {
    const std::vector<std::string> input = {R"({"a": 1})", R"({"a": 2})", R"({"a": 2})"};
    EXPECT_EQ(texts(run(*parse(R"([{"$facet": {
                  "twos": [{"$match": {"a": 2}}, {"$limit": 1}],
                  "sums": [{"$group": {"_id": null, "sum": {"$sum": "$a"}}}],
                  "none": [{"$match": {"a": 9}}],
                  "all": []}}, {"$unwind": "$twos"}])"),
                        input)),
              "{ twos: { a: 2 }, sums: [ { _id: null, sum: 5 } ], none: [], all: [ { a: 1 }, { a: "
              "2 }, { a: 2 } ] }");
    EXPECT_EQ(texts(run(*parse(R"([{"$facet": {"n": [{"$count": "n"}]}}])"), {})), "{ n: [] }")
        << "one document also of none";
}

TEST(Pipeline, FacetsAreChecked) {
    EXPECT_EQ(error_of(R"([{"$facet": {}}])"), 40169);
    EXPECT_EQ(error_of(R"([{"$facet": {"a": 1}}])"), 40170);
    EXPECT_EQ(error_of(R"([{"$facet": {"a.b": []}}])"), 16412);
    EXPECT_EQ(error_of(R"([{"$facet": {"$a": []}}])"), 16410);
    EXPECT_EQ(error_of(R"([{"$facet": {"a": [{"$facet": {"b": []}}]}}])"), 40600);
    EXPECT_EQ(error_of(R"([{"$facet": {"a": [{"$out": "c"}]}}])"), 40600);
    EXPECT_EQ(error_of(R"([{"$facet": {"a": [{"$geoNear": {}}]}}])"), 40600);
    EXPECT_EQ(error_of(R"([{"$facet": {"a": [{"$limit": 1}, {"$geoNear": {}}]}}])"), 40600);
    EXPECT_EQ(error_of(R"([{"$facet": {"a": [{"$match": {"$text": {"$search": "x"}}}]}}])"), 17313);
    EXPECT_EQ(error_of(R"([{"$facet": {"a": [{"$limit": 0}]}}])"), 15958);
    EXPECT_EQ(error_of(R"([{"$facet": {"a": [{"$nonsense": 0}]}}])"), 16436);
    const std::string big = R"({"a": ")" + std::string(6 << 20, 'x') + R"("})";
    EXPECT_EQ(error_of(R"([{"$facet": {"a": []}}])", std::vector(10, big)), 0);
    EXPECT_EQ(error_of(R"([{"$facet": {"a": []}}])", std::vector(11, big)), 10334);
}

TEST(Pipeline, TheAverageOfNoNumbers) {
    const std::string stages = R"([{"$group": {"_id": null, "a": {"$avg": "$x"}}}])";
    const std::vector<std::string> none = {R"({"x": "1"})", R"({"x": null})", "{}"};
    PipelineContext context;
    EXPECT_EQ(texts(run(*parse(stages, context), none)), "{ _id: null, a: 0.0 }");
    context.dialect = dialect::kToday;
    EXPECT_EQ(texts(run(*parse(stages, context), none)), "{ _id: null, a: null }");
    EXPECT_EQ(texts(run(*parse(stages, context), {R"({"x": "1"})", R"({"x": 3})"})),
              "{ _id: null, a: 3.0 }");
}

TEST(Pipeline, FlagsOfARegularExpressionInAMatch) {
    const auto code = [](const std::string& stages, dialect::Dialect dialect) {
        PipelineContext context;
        context.dialect = dialect;
        try {
            parse(stages, context);
        } catch (const base::Error& e) {
            return e.code();
        }
        return 0;
    };
    const std::string match = R"({"$match": {"a": {"$regex": "x", "$options": "g"}}})";
    for (const std::string& stages : {"[" + match + "]", R"([{"$limit": 1}, )" + match + "]",
                                      R"([{"$facet": {"f": [)" + match + "]}}]"}) {
        EXPECT_EQ(code(stages, dialect::kToday), 51108) << stages;
        EXPECT_EQ(code(stages, dialect::kV26), 0) << stages;
    }
}

}  // namespace
}  // namespace query

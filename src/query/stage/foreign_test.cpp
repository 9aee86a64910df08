// $lookup and $graphLookup over collections in memory: what is joined with what, in what form the
// other collection is asked, what is refused.
#include "query/stage/foreign.h"
#include "dialect/dialect.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "query/stage/pipeline.h"
#include "sched/memory.h"
#include "sched/operation.h"

namespace query {
namespace {

class Collections : public ForeignCollections {
  public:
    void add(const std::string& name, const std::string& doc) {
        add(name, bson::parse_test_json(doc));
    }
    void add(const std::string& name, bson::Object doc) {
        documents_[name].push_back(std::move(doc));
    }
    void connect(std::string_view collection, Pipeline& stages) override {
        asked_ += std::string(collection) + " " + bson::to_text(stages.leading_match()) + "\n";
        ++connected_;
        const std::vector<bson::Object>& documents = documents_[std::string(collection)];
        stages.set_source([&documents, at = size_t{0}](bson::Doc* out) mutable {
            if (at == documents.size()) return false;
            *out = documents[at++];
            return true;
        });
    }
    // Returns what was asked since the last call, a line each time.
    std::string asked() { return std::exchange(asked_, ""); }
    int connected() const { return connected_; }

  private:
    std::map<std::string, std::vector<bson::Object>> documents_;
    std::string asked_;
    int connected_ = 0;
};

class Foreign : public testing::Test {
  protected:
    Foreign() {
        context_.dialect = dialect::kToday;
        context_.foreign = collections_;
    }
    ~Foreign() override {
        sched::memory::set_limits(sched::memory::kOperationBytes, sched::memory::kAllBytes);
    }

    std::vector<bson::Object> run(const std::string& stages,
                                  const std::vector<std::string>& input) {
        const bson::Object list = bson::parse_test_json("{\"p\": " + stages + "}");
        const auto pipeline = Pipeline::parse(list["p"].as_doc(), context_);
        size_t at = 0;
        auto current = std::make_unique<bson::Object>();
        pipeline->set_source([&](bson::Doc* out) {
            current = nullptr;
            if (at == input.size()) return false;
            current = std::make_unique<bson::Object>(bson::parse_test_json(input[at++]));
            *out = *current;
            return true;
        });
        std::vector<bson::Object> results;
        bson::Doc doc;
        while (pipeline->next(&doc))
            results.emplace_back(doc);
        return results;
    }
    // Returns what a stage makes of one document.
    std::string made(const std::string& stage, const std::string& doc = R"({"_id": 1})") {
        std::string text;
        for (const bson::Object& result : run("[" + stage + "]", {doc}))
            text += bson::to_text(result);
        return text;
    }
    int error_of(const std::string& stage, const std::string& doc = R"({"_id": 1})") {
        try {
            run("[" + stage + "]", {doc});
        } catch (const base::Error& e) {
            return e.code();
        }
        return 0;
    }

    const std::shared_ptr<Collections> collections_ = std::make_shared<Collections>();
    PipelineContext context_;
};

constexpr const char* kJoin =
    R"({"$lookup": {"from": "f", "localField": "l.v", "foreignField": "k.w", "as": "found"}})";

TEST_F(Foreign, DocumentsMayStandForACollection) {
    EXPECT_EQ(made(R"({"$unionWith": {"pipeline": [{"$documents": [{"a": "x"}]},
                                                   {"$addFields": {"b": "y"}}]}})"),
              R"({ _id: 1 }{ a: "x", b: "y" })");
    EXPECT_EQ(made(R"({"$lookup": {"as": "f", "localField": "v", "foreignField": "k", "pipeline": [
                       {"$documents": [{"k": "x"}, {"k": "y"}]}]}})",
                   R"({"v": "y"})"),
              R"({ v: "y", f: [ { k: "y" } ] })");
    EXPECT_EQ(made(R"({"$lookup": {"as": "f", "let": {"v": "$v"}, "pipeline": [
                       {"$documents": [{"k": "$$v"}]}, {"$match": {"k": "y"}}]}})",
                   R"({"v": "y"})"),
              R"({ v: "y", f: [ { k: "y" } ] })");
    EXPECT_EQ(collections_->connected(), 0);
    for (const char* stage :
         {R"({"$unionWith": {"coll": "f", "pipeline": [{"$documents": []}]}})",
          R"({"$unionWith": {"pipeline": [{"$match": {}}]}})",
          R"({"$lookup": {"from": "f", "as": "f", "pipeline": [{"$documents": []}]}})",
          R"({"$lookup": {"as": "f", "pipeline": [{"$match": {}}]}})"})
        EXPECT_EQ(error_of(stage), 9) << stage;
}

TEST_F(Foreign, IsAskedForTheValuesOfADocument) {
    const std::pair<const char*, const char*> cases[] = {
        {R"({"l": {"v": "5"}})", R"(f { k.w: "5" })"},
        {R"({"l": {"v": null}})", "f { k.w: null }"},
        {R"({"l": 5})", "f { k.w: null }"},
        {R"({})", "f { k.w: null }"},
        {R"({"l": {"v": []}})", "f { k.w: null }"},
        {R"({"l": {"v": ["x"]}})", R"(f { k.w: "x" })"},
        {R"({"l": {"v": ["x", "y", "x"]}})", R"(f { k.w: { $in: [ "x", "y", "x" ] } })"},
        {R"({"l": {"v": [["x"], "y"]}})", R"(f { k.w: { $in: [ [ "x" ], "y" ] } })"},
        {R"({"l": {"v": {"a": "x"}}})", R"(f { k.w: { $eq: { a: "x" } } })"},
        {R"({"l": [{"v": "x"}, {"w": "z"}, "v", {"v": ["y"]}]})",
         R"(f { k.w: { $in: [ "x", "y" ] } })"},
        {R"({"l": {"v": {"$regularExpression": {"pattern": "x", "options": ""}}}})",
         "f { k.w: { $eq: /x/ } }"},
        {R"({"l": {"v": ["y", {"$regularExpression": {"pattern": "x", "options": ""}}]}})",
         R"(f { $or: [ { k.w: "y" }, { k.w: { $eq: /x/ } } ] })"},
    };
    for (const auto& [doc, asked] : cases) {
        made(kJoin, doc);
        EXPECT_EQ(collections_->asked(), std::string(asked) + "\n") << doc;
    }
}

TEST_F(Foreign, ANumberInALocalFieldIsAPosition) {
    constexpr const char* kStage =
        R"({"$lookup": {"from": "f", "localField": "l.1.v", "foreignField": "k", "as": "x"}})";
    made(kStage, R"({"l": [{"v": "a"}, {"v": "b"}]})");
    EXPECT_EQ(collections_->asked(), "f { k: \"b\" }\n");
    made(kStage, R"({"l": {"1": {"v": "c"}}})");
    EXPECT_EQ(collections_->asked(), "f { k: \"c\" }\n");
    // Also where only what is read is carried along.
    run(std::string("[{\"$sort\": {\"s\": 1}}, ") + kStage + R"(, {"$project": {"x": 1}}])",
        {R"({"l": [{"v": "a"}, {"v": "b"}]})"});
    EXPECT_EQ(collections_->asked(), "f { k: \"b\" }\n");
}

TEST_F(Foreign, JoinsWhatMatches) {
    for (const char* doc :
         {R"({"_id": "a", "k": "x"})", R"({"_id": "b", "k": ["x", "y"]})",
          R"({"_id": "c", "k": null})", R"({"_id": "d"})", R"({"_id": "e", "k": ["z"]})"})
        collections_->add("f", doc);
    constexpr const char* kStage = R"({"$lookup": {"from": "f", "localField": "v",
        "foreignField": "k", "as": "f", "pipeline": [{"$project": {"_id": 1}}]}})";
    EXPECT_EQ(made(kStage, R"({"v": "x"})"), R"({ v: "x", f: [ { _id: "a" }, { _id: "b" } ] })");
    EXPECT_EQ(made(kStage, R"({"v": ["z", "y"]})"),
              R"({ v: [ "z", "y" ], f: [ { _id: "b" }, { _id: "e" } ] })");
    EXPECT_EQ(made(kStage, R"({"v": null})"), R"({ v: null, f: [ { _id: "c" }, { _id: "d" } ] })");
    EXPECT_EQ(made(kStage, R"({"w": "1"})"), R"({ w: "1", f: [ { _id: "c" }, { _id: "d" } ] })");
    EXPECT_EQ(made(kStage, R"({"v": "q"})"), R"({ v: "q", f: [] })");
}

TEST_F(Foreign, PutsTheResultWhereAsSays) {
    constexpr const char* kStage = R"({"$lookup": {"from": "none", "localField": "v",
        "foreignField": "k", "as": "%"}})";
    const auto stage = [&](const std::string& as) {
        std::string text = kStage;
        return text.replace(text.find('%'), 1, as);
    };
    EXPECT_EQ(made(stage("a"), R"({"a": "1", "b": "2"})"), R"({ a: [], b: "2" })");
    EXPECT_EQ(made(stage("a.x"), R"({"a": {"x": "1", "y": "2"}, "b": "2"})"),
              R"({ a: { x: [], y: "2" }, b: "2" })");
    EXPECT_EQ(made(stage("a.x.y"), R"({"a": ["1"], "b": "2"})"),
              R"({ a: { x: { y: [] } }, b: "2" })");
    EXPECT_EQ(made(stage("a.x"), R"({"b": "2"})"), R"({ b: "2", a: { x: [] } })");
    EXPECT_EQ(made(stage("v"), R"({"v": "2"})"), "{ v: [] }");
}

TEST_F(Foreign, APipelineSeesVariables) {
    collections_->add("f", R"({"_id": "a", "k": "x", "n": "1"})");
    collections_->add("f", R"({"_id": "b", "k": "y", "n": "2"})");
    EXPECT_EQ(made(R"({"$lookup": {"from": "f", "let": {"w": "$v.w", "all": "$$ROOT"}, "as": "f",
                       "pipeline": [{"$match": {"$expr": {"$eq": ["$k", "$$w"]}}},
                                    {"$project": {"_id": 0, "n": 1, "a": "$$all.v.w",
                                                  "none": "$$all.x.y"}},
                                    {"$addFields": {"w": "$$w"}}]}})",
                   R"({"v": {"w": "y"}})"),
              R"({ v: { w: "y" }, f: [ { n: "2", a: "y", w: "y" } ] })");
    EXPECT_EQ(made(R"({"$lookup": {"from": "f", "let": {"w": "$v"}, "as": "f",
                       "pipeline": [{"$group": {"_id": "$$w", "n": {"$push": "$n"}}},
                                    {"$addFields": {"x": {"$let": {"vars": {"w": "3"},
                                                                   "in": "$$w"}}}},
                                    {"$redact": {"$cond": [{"$eq": ["$$w", "q"]}, "$$KEEP",
                                                           "$$PRUNE"]}}]}})",
                   R"({"v": "q"})"),
              R"({ v: "q", f: [ { _id: "q", n: [ "1", "2" ], x: "3" } ] })");
}

TEST_F(Foreign, AVariableIsAValueOfItsDocumentOnly) {
    collections_->add("f", R"({"k": "x"})");
    // In a branch that is not taken nothing is computed from it.
    constexpr const char* kStages = R"([{"$lookup": {"from": "f", "let": {"w": "$v"}, "as": "f",
        "pipeline": [{"$project": {"n": {"$cond": [{"$eq": ["$$w", "s"]}, "-",
                                                   {"$size": "$$w"}]}}}]}}])";
    const std::vector<bson::Object> results = run(kStages, {R"({"v": "s"})", R"({"v": ["a"]})"});
    EXPECT_EQ(bson::to_text(results.at(0)), R"({ v: "s", f: [ { n: "-" } ] })");
    EXPECT_EQ(bson::to_text(results.at(1)), R"({ v: [ "a" ], f: [ { n: 1 } ] })");
    EXPECT_EQ(error_of(R"({"$lookup": {"from": "f", "let": {"w": "$v"}, "as": "f",
                           "pipeline": [{"$project": {"n": {"$size": "$$w"}}}]}})"),
              17124);
}

TEST_F(Foreign, PipelinesNest) {
    collections_->add("f", R"({"_id": "f1", "k": "x"})");
    collections_->add("g", R"({"_id": "g1", "k": "x", "l": "y"})");
    EXPECT_EQ(made(R"({"$lookup": {"from": "f", "let": {"v": "$v"}, "as": "f", "pipeline": [
                   {"$lookup": {"from": "g", "localField": "k", "foreignField": "k",
                                "let": {"w": "$_id"}, "as": "g",
                                "pipeline": [{"$project": {"_id": 0, "v": "$$v", "w": "$$w"}}]}},
                   {"$project": {"_id": 0, "g": 1, "v": "$$v"}}]}})",
                   R"({"v": "1"})"),
              R"({ v: "1", f: [ { g: [ { v: "1", w: "f1" } ], v: "1" } ] })");
    // In a $facet, and a $facet in one.
    EXPECT_EQ(made(R"({"$facet": {"x": [{"$lookup": {"from": "f", "as": "f", "pipeline": [
                         {"$facet": {"n": [{"$count": "n"}]}}]}}]}})",
                   "{}"),
              "{ x: [ { f: [ { n: [ { n: 1 } ] } ] } ] }");
}

TEST_F(Foreign, TheJoinAndTheFirstFilterAreOne) {
    made(R"({"$lookup": {"from": "f", "localField": "v", "foreignField": "k", "as": "f",
             "pipeline": [{"$match": {"n": "1"}}, {"$match": {"m": "2"}}]}})",
         R"({"v": "x"})");
    EXPECT_EQ(collections_->asked(), R"(f { $and: [ { k: "x" }, { n: "1" } ] })"
                                     "\n");
    made(R"({"$lookup": {"from": "f", "as": "f", "pipeline": [{"$match": {"n": "1"}}]}})");
    EXPECT_EQ(collections_->asked(), "f { n: \"1\" }\n");
}

std::string nested_lookups(int depth) {
    std::string stage = R"({"$match": {}})";
    for (int i = 0; i < depth; ++i)
        stage = R"({"$lookup": {"from": "f", "as": "f", "pipeline": [)" + stage + "]}}";
    return stage;
}

TEST_F(Foreign, PipelinesNestSoFar) {
    EXPECT_EQ(error_of(nested_lookups(kSubPipelinesMax)), 0);
    EXPECT_EQ(error_of(nested_lookups(kSubPipelinesMax + 1)), base::kMaxSubPipelineDepthExceeded);
    // Each stage needs stack for every stage around it.
    std::string stages;
    for (int i = 0; i < 600; ++i)
        stages += R"({"$skip": 0}, )";
    const std::string inner =
        R"({"$lookup": {"from": "f", "as": "f", "pipeline": [)" + stages + R"({"$skip": 0}]}})";
    EXPECT_EQ(error_of(inner), 0);
    EXPECT_EQ(error_of(stages + inner), base::kFailedToParse);
}

TEST_F(Foreign, ResultsAreNotDeeperThanDocuments) {
    // Each level of the pipelines puts the one below into itself.
    std::string deep = R"("x")";
    for (int i = 0; i < 1000; ++i)
        deep = R"({"a": )" + deep + "}";
    collections_->add("f", R"({"_id": "1", "d": )" + deep + "}");
    EXPECT_EQ(error_of(nested_lookups(1)), 0);
    EXPECT_EQ(error_of(R"({"$lookup": {"from": "f", "as": "f", "pipeline": [)" +
                       nested_lookups(19) + "]}}"),
              base::kOverflow);
}

TEST_F(Foreign, RefusesWhatHasNoMeaning) {
    const std::pair<const char*, int> cases[] = {
        {R"({"$lookup": "f"})", 9},
        {R"({"$lookup": {"localField": "a", "foreignField": "b", "as": "c"}})", 9},
        {R"({"$lookup": {"from": "f", "localField": "a", "foreignField": "b"}})", 9},
        {R"({"$lookup": {"from": "f", "localField": "a", "as": "c"}})", 9},
        {R"({"$lookup": {"from": "f", "foreignField": "a", "as": "c", "pipeline": []}})", 9},
        {R"({"$lookup": {"from": "f", "as": "c"}})", 9},
        {R"({"$lookup": {"from": "f", "localField": "a", "foreignField": "b", "as": "c",
                         "let": {}}})",
         9},
        {R"({"$lookup": {"from": "f", "localField": 1, "foreignField": "b", "as": "c"}})", 9},
        {R"({"$lookup": {"from": 5, "pipeline": [], "as": "c"}})", 9},
        {R"({"$lookup": {"from": {"db": "d", "coll": "c"}, "pipeline": [], "as": "c"}})", 9},
        {R"({"$lookup": {"from": "", "pipeline": [], "as": "c"}})", 73},
        {R"({"$lookup": {"from": "a\u0000b", "pipeline": [], "as": "c"}})", 73},
        {R"({"$lookup": {"from": "$a", "pipeline": [], "as": "c"}})", 73},
        {R"({"$lookup": {"from": "f", "pipeline": [], "as": "c", "other": 1}})", 9},
        {R"({"$lookup": {"from": "f", "pipeline": {}, "as": "c"}})", 14},
        {R"({"$lookup": {"from": "f", "pipeline": [], "let": 1, "as": "c"}})", 9},
        {R"({"$lookup": {"from": "f", "pipeline": [], "let": {"A": 1}, "as": "c"}})", 16867},
        {R"({"$lookup": {"from": "f", "pipeline": [], "let": {"CURRENT": 1}, "as": "c"}})", 16867},
        {R"({"$lookup": {"from": "f", "pipeline": [], "let": {"a": "$$b"}, "as": "c"}})", 17276},
        {R"({"$lookup": {"from": "f", "pipeline": [], "as": "$c"}})", 16410},
        {R"({"$lookup": {"from": "f", "pipeline": [{"$out": "c"}], "as": "c"}})", 51047},
        {R"({"$unionWith": {"coll": "f", "pipeline": [{"$out": "c"}]}})", 31441},
        {R"({"$unionWith": {"coll": "f", "pipeline": [{"$merge": "c"}]}})", 31441},
        {R"({"$lookup": {"from": "f", "pipeline": [{"$foo": 1}], "as": "c"}})", 40324},
        {R"({"$lookup": {"from": "f", "pipeline": [{"$project": {"a": "$$b"}}], "as": "c"}})",
         17276},
        {R"({"$lookup": {"from": "f", "pipeline": [1], "as": "c"}})", 14},
    };
    for (const auto& [stage, code] : cases)
        EXPECT_EQ(error_of(stage), code) << stage;
    context_.foreign = nullptr;
    EXPECT_EQ(error_of(nested_lookups(1)), 40324);
}

TEST_F(Foreign, CarriesOnlyWhatIsRead) {
    const auto fields_of = [&](const std::string& stages) {
        const bson::Object list = bson::parse_test_json("{\"p\": " + stages + "}");
        return bson::to_text(Pipeline::parse(list["p"].as_doc(), context_)->fields());
    };
    EXPECT_EQ(fields_of(std::string("[") + kJoin + R"(, {"$project": {"_id": 0, "found": 1}}])"),
              "{ found: 1, l.v: 1, _id: 0 }");
    EXPECT_EQ(fields_of(R"([{"$lookup": {"from": "f", "let": {"a": "$b.c"}, "pipeline": [],
                                         "as": "x.y"}},
                            {"$project": {"n": 1}}])"),
              "{ b.c: 1, n: 1, x: 1, _id: 1 }");
    EXPECT_EQ(fields_of(R"([{"$graphLookup": {"from": "f", "startWith": "$s", "as": "x",
                               "connectFromField": "p", "connectToField": "q"}},
                            {"$count": "n"}])"),
              "{ s: 1, _id: 0 }");
    EXPECT_EQ(fields_of(std::string("[") + kJoin + "]"), "{}");
}

// A tree of names: each has its boss in `up`.
class Graph : public Foreign {
  protected:
    Graph() {
        for (const char* doc : {R"({"_id": "a"})", R"({"_id": "b", "up": "a"})",
                                R"({"_id": "c", "up": "b"})", R"({"_id": "d", "up": ["b", "c"]})",
                                R"({"_id": "x", "up": "y"})", R"({"_id": "y", "up": "x"})"})
            collections_->add("f", doc);
    }
    // The ids of what is found, and their levels.
    std::string reached(const std::string& start, const std::string& more = "") {
        const std::string stage = R"({"$graphLookup": {"from": "f", "startWith": )" + start +
                                  R"(, "connectFromField": "up", "connectToField": "_id",
                                     "as": "r", "depthField": "n.d")" +
                                  more + "}}";
        std::string text;
        const std::vector<bson::Object> results = run("[" + stage + "]", {R"({"s": ["b", "x"]})"});
        for (const bson::Element& e : results.at(0)["r"].as_doc())
            text += std::string(e.as_doc()["_id"].as_string()) +
                    std::to_string(e.as_doc()["n"].as_doc()["d"].as_int64()) + " ";
        return text;
    }
};

TEST_F(Graph, ReachesLevelByLevel) {
    EXPECT_EQ(reached(R"("c")"), "c0 b1 a2 ");
    EXPECT_EQ(reached(R"("d")"), "d0 b1 c1 a2 ");
    EXPECT_EQ(reached(R"("a")"), "a0 ");
    EXPECT_EQ(reached(R"("none")"), "");
    EXPECT_EQ(reached(R"("$missing")"), "");
    EXPECT_EQ(reached(R"("$s")"), "b0 x0 a1 y1 ");
    EXPECT_EQ(reached(R"(["c", "$s"])"), "c0 b1 a2 ");
}

TEST_F(Graph, CirclesEnd) {
    EXPECT_EQ(reached(R"("x")"), "x0 y1 ");
    EXPECT_EQ(collections_->connected(), 2);  // x is not looked for again
}

TEST_F(Graph, GoesSoFar) {
    EXPECT_EQ(reached(R"("c")", R"(, "maxDepth": 0)"), "c0 ");
    EXPECT_EQ(reached(R"("c")", R"(, "maxDepth": 1)"), "c0 b1 ");
    EXPECT_EQ(reached(R"("c")", R"(, "maxDepth": 9)"), "c0 b1 a2 ");
}

TEST_F(Graph, LeavesOutWhatItMayNotReach) {
    EXPECT_EQ(reached(R"("d")", R"(, "restrictSearchWithMatch": {"_id": {"$ne": "b"}})"), "d0 c1 ");
    EXPECT_EQ(
        reached(R"("d")", R"(, "restrictSearchWithMatch": {"$expr": {"$ne": ["$_id", "c"]}})"),
        "d0 b1 a2 ");
    const std::string asked = collections_->asked();
    EXPECT_EQ(asked.substr(0, asked.find('\n')),
              R"(f { $and: [ { _id: "d" }, { _id: { $ne: "b" } } ] })");
}

TEST_F(Graph, NullIsAValueAndMissingNone) {
    collections_->add("g", R"({"_id": "1"})");
    collections_->add("g", R"({"_id": "2", "k": null})");
    constexpr const char* kRest = R"(, "connectFromField": "none",
        "connectToField": "k", "as": "r"}})";
    EXPECT_EQ(
        made(std::string(R"({"$graphLookup": {"from": "g", "startWith": null)") + kRest, "{}"),
        R"({ r: [ { _id: "1" }, { _id: "2", k: null } ] })");
    EXPECT_EQ(
        made(std::string(R"({"$graphLookup": {"from": "g", "startWith": "$no")") + kRest, "{}"),
        "{ r: [] }");
}

TEST_F(Graph, RefusesWhatHasNoMeaning) {
    const auto code = [&](const std::string& more) {
        return error_of(R"({"$graphLookup": {"from": "f", "startWith": "$s",
                            "connectFromField": "up", "connectToField": "_id", "as": "r", )" +
                        more + "}}");
    };
    EXPECT_EQ(code(R"("depthField": "d")"), 0);
    EXPECT_EQ(code(R"("maxDepth": "1")"), 40100);
    EXPECT_EQ(code(R"("maxDepth": -1)"), 40101);
    EXPECT_EQ(code(R"("maxDepth": {"$numberDouble": "1.5"})"), 40102);
    EXPECT_EQ(code(R"("maxDepth": {"$numberDouble": "NaN"})"), 40102);
    EXPECT_EQ(code(R"("depthField": 1)"), 40103);
    EXPECT_EQ(code(R"("other": 1)"), 40104);
    EXPECT_EQ(code(R"("restrictSearchWithMatch": "x")"), 40185);
    EXPECT_EQ(code(R"("restrictSearchWithMatch": {"a": {"$foo": 1}})"), 2);
    EXPECT_EQ(code(R"("depthField": "$d")"), 16410);
    EXPECT_EQ(error_of(R"({"$graphLookup": 1})"), 9);
    EXPECT_EQ(error_of(R"({"$graphLookup": {"from": "f", "as": "r"}})"), 40105);
    collections_->add("g", R"({"k": "1"})");
    EXPECT_EQ(error_of(R"({"$graphLookup": {"from": "g", "startWith": "1", "connectFromField": "u",
                           "connectToField": "k", "as": "r"}})"),
              40271);
}

// An operation of this thread: its memory counts.
class ForeignMemory : public Graph {
  protected:
    ForeignMemory() {
        for (int i = 0; i < 64; ++i)
            collections_->add(
                "h", bson::make("_id", i, "k", "x", "big", std::string(size_t{1} << 20, 'b')));
        operation_.start();
    }
    ~ForeignMemory() override { operation_.finish(); }

    int code_with(int64_t operation_bytes, const std::string& stage) {
        sched::memory::set_limits(operation_bytes, sched::memory::kAllBytes);
        const sched::Operation::Scope scope(&operation_);
        return error_of(stage);
    }

    sched::Operation operation_;
};

constexpr const char* kAllOfH = R"({"$graphLookup": {"from": "h", "startWith": "x",
    "connectFromField": "no", "connectToField": "k", "as": "r", "maxDepth": 0}})";

TEST_F(ForeignMemory, AGraphHasALimit) {
    EXPECT_EQ(code_with(sched::memory::kOperationBytes, kAllOfH), 4568);  // 64 MB, and some more
    EXPECT_EQ(code_with(int64_t{32} << 20, kAllOfH), 40099);
}

TEST_F(ForeignMemory, WhatIsFoundForADocumentHasALimit) {
    constexpr const char* kStage = R"({"$lookup": {"from": "h", "pipeline": [], "as": "r"}})";
    EXPECT_EQ(code_with(sched::memory::kOperationBytes, kStage), 4568);
    EXPECT_EQ(code_with(sched::memory::kOperationBytes,
                        R"({"$lookup": {"from": "h", "pipeline": [{"$limit": 9}], "as": "r"}})"),
              0);
}

}  // namespace
}  // namespace query

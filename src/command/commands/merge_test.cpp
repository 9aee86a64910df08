// $merge, and $out into another database.
#include <fmt/core.h>

#include "base/error.h"
#include "command/commands/testing/service.h"

namespace command {
namespace {

class MergeTest : public EachEngineTest {
  protected:
    MergeTest() { service_->profiler().set_slow_ms(100'000); }

    void insert(const std::string& collection, const std::string& documents,
                const std::string& db = "test") {
        ASSERT_EQ(
            code(run(fmt::format(R"({{"insert": "{}", "documents": {}}})", collection, documents),
                     db)),
            0);
    }
    // The code of a pipeline over `c` that ends with these stages.
    int aggregate(const std::string& stages, const std::string& more = "") {
        return code(run(fmt::format(R"({{"aggregate": "c", "pipeline": {}, "cursor": {{}}{}}})",
                                    stages, more)));
    }
    int merge(const std::string& spec, const std::string& more = "") {
        return aggregate(R"([{"$merge": )" + spec + "}]", more);
    }
    std::string found(const std::string& collection, const std::string& db = "test") {
        const bson::Object reply =
            run(fmt::format(R"({{"find": "{}", "sort": {{"_id": 1}}}})", collection), db);
        return bson::to_text(reply.doc().at_path("cursor.firstBatch"));
    }
    void start_again() {
        run(R"({"drop": "c"})");
        run(R"({"drop": "d"})");
        insert("c", R"([{"_id": 1, "a": 1, "o": {"x": 1}}, {"_id": 2, "a": 2}])");
        insert("d", R"([{"_id": 1, "b": 9, "o": {"y": 1}}, {"_id": 3}])");
    }
    void make_index(const std::string& key, const std::string& options) {
        ASSERT_EQ(code(run(fmt::format(R"({{"createIndexes": "d", "indexes": [{{"key": {},
                                            "name": "i", {}}}]}})",
                                       key, options))),
                  0);
    }
};

TEST_P(MergeTest, TheModes) {
    struct Case {
        const char* modes;
        int code;
        const char* found;
    };
    for (const Case& one : std::initializer_list<Case>{
             {R"("into": "d")", 0,
              "[ { _id: 1, b: 9, o: { x: 1 }, a: 1 }, { _id: 2, a: 2 }, { _id: 3 } ]"},
             {R"("into": "d", "whenMatched": "replace")", 0,
              "[ { _id: 1, a: 1, o: { x: 1 } }, { _id: 2, a: 2 }, { _id: 3 } ]"},
             {R"("into": "d", "whenMatched": "keepExisting")", 0,
              "[ { _id: 1, b: 9, o: { y: 1 } }, { _id: 2, a: 2 }, { _id: 3 } ]"},
             {R"("into": "d", "whenMatched": "fail")", base::kDuplicateKey,
              "[ { _id: 1, b: 9, o: { y: 1 } }, { _id: 3 } ]"},
             {R"("into": "d", "whenNotMatched": "discard")", 0,
              "[ { _id: 1, b: 9, o: { x: 1 }, a: 1 }, { _id: 3 } ]"},
             {R"("into": "d", "whenNotMatched": "fail")", 13113,
              "[ { _id: 1, b: 9, o: { x: 1 }, a: 1 }, { _id: 3 } ]"},
             {R"("into": "d", "whenMatched": "replace", "whenNotMatched": "discard")", 0,
              "[ { _id: 1, a: 1, o: { x: 1 } }, { _id: 3 } ]"},
             {R"("into": "d", "whenMatched": [{"$set": {"b": {"$add": ["$b", "$$new.a"]}}}])", 0,
              "[ { _id: 1, b: 10, o: { y: 1 } }, { _id: 2, a: 2 }, { _id: 3 } ]"},
             {R"("into": "d", "let": {"k": {"$add": ["$a", 5]}, "new": "$$ROOT"},
                 "whenMatched": [{"$set": {"k": "$$k", "n": "$$new._id"}}, {"$unset": "o"}],
                 "whenNotMatched": "discard")",
              0, "[ { _id: 1, b: 9, k: 6, n: 1 }, { _id: 3 } ]"},
             {R"("into": "d", "whenMatched": [], "whenNotMatched": "fail")", 13113,
              "[ { _id: 1, b: 9, o: { y: 1 } }, { _id: 3 } ]"},
         }) {
        start_again();
        EXPECT_EQ(merge(fmt::format("{{{}}}", one.modes)), one.code) << one.modes;
        EXPECT_EQ(found("d"), one.found) << one.modes;
    }
}

TEST_P(MergeTest, ThePipelineHasTheVariablesOfTheCommandToo) {
    start_again();
    EXPECT_EQ(merge(R"({"into": "d", "let": {"x": 1}, "whenMatched": [{"$set":
                        {"v": ["$$x", "$$y", "$$new.a"]}}], "whenNotMatched": "discard"})",
                    R"(, "let": {"x": 7, "y": 8})"),
              0);
    EXPECT_EQ(found("d"), "[ { _id: 1, b: 9, o: { y: 1 }, v: [ 1, 8, 1 ] }, { _id: 3 } ]");
}

TEST_P(MergeTest, MakesCollectionAndDatabase) {
    start_again();
    EXPECT_EQ(merge(R"("e")"), 0);
    EXPECT_EQ(found("e"), found("c"));
    EXPECT_EQ(merge(R"({"into": {"db": "other", "coll": "e"}})"), 0);
    EXPECT_EQ(found("e", "other"), found("c"));
    EXPECT_EQ(merge(R"({"into": {"coll": "f"}, "whenMatched": "fail"})"), 0);
    EXPECT_EQ(found("f"), found("c"));
    EXPECT_EQ(aggregate(R"([{"$out": {"db": "other", "coll": "f"}}])"), 0);
    EXPECT_EQ(found("f", "other"), found("c"));
    // Results have no _id of their own: each is a new document.
    EXPECT_EQ(aggregate(R"([{"$project": {"_id": 0, "a": 1}}, {"$merge": "g"}])"), 0);
    EXPECT_EQ(run(R"({"count": "g"})")["n"].to_int32(), 2);
    // Into what it reads.
    EXPECT_EQ(aggregate(R"([{"$set": {"z": 1}}, {"$merge": "c"}])"), 0);
    EXPECT_EQ(found("c"), "[ { _id: 1, a: 1, o: { x: 1 }, z: 1 }, { _id: 2, a: 2, z: 1 } ]");
}

TEST_P(MergeTest, OtherFieldsThanIdNeedAUniqueIndex) {
    start_again();
    const std::string by_a = R"({"into": "d", "on": "a"})";
    EXPECT_EQ(merge(by_a), 51183);
    EXPECT_EQ(merge(R"({"into": "none", "on": "a"})"), 51183);
    EXPECT_EQ(merge(R"({"into": "d", "on": ["_id"]})"), 0);
    for (const char* useless :
         {R"("sparse": true)", R"("unique": true, "partialFilterExpression": {"a": 1})",
          R"("unique": true, "collation": {"locale": "de"})"}) {
        start_again();
        run(R"({"delete": "d", "deletes": [{"q": {}, "limit": 0}]})");
        make_index(R"({"a": 1})", useless);
        EXPECT_EQ(merge(by_a), 51183) << useless;
    }
    start_again();
    run(R"({"delete": "d", "deletes": [{"q": {}, "limit": 0}]})");
    make_index(R"({"b": 1, "a": -1})", R"("unique": true)");
    EXPECT_EQ(merge(by_a), 51183);
    EXPECT_EQ(merge(R"({"into": "d", "on": ["a", "c"]})"), 51183);
    insert("d", R"([{"_id": 7, "a": 1, "b": 5, "k": 1}])");
    run(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"b": 5}}, "multi": true}]})");
    const std::string without_id = R"([{"$project": {"_id": 0, "a": 1, "b": 1}}, {"$merge":
        {"into": "d", "on": ["a", "b"]}}])";
    EXPECT_EQ(aggregate(without_id), 0);
    EXPECT_EQ(aggregate(without_id), 0);
    EXPECT_EQ(run(R"({"count": "d"})")["n"].to_int32(), 2);
    EXPECT_EQ(run(R"({"count": "d", "query": {"_id": 7, "k": 1, "a": 1}})")["n"].to_int32(), 1);
    // _id does not change.
    EXPECT_EQ(merge(R"({"into": "d", "on": ["b", "a"]})"), base::kImmutableField);
    EXPECT_EQ(merge(R"({"into": "d", "on": ["b", "a"], "whenMatched": "replace"})"),
              base::kImmutableField);
    EXPECT_EQ(merge(R"({"into": "d", "on": ["b", "a"], "whenMatched": "keepExisting"})"), 0);
}

TEST_P(MergeTest, AnIndexOfTheSameCollationServes) {
    start_again();
    run(R"({"drop": "d"})");
    insert("d", R"([{"_id": 9, "t": "ONE", "n": 1}])");
    make_index(R"({"t": 1})", R"("unique": true, "collation": {"locale": "en", "strength": 2})");
    run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"t": "one"}}}]})");
    const std::string stages = R"([{"$match": {"_id": 1}}, {"$project": {"_id": 0, "t": 1}},
        {"$merge": {"into": "d", "on": "t"}}])";
    EXPECT_EQ(aggregate(stages), 51183);
    EXPECT_EQ(aggregate(stages, R"(, "collation": {"locale": "en", "strength": 2})"), 0);
    EXPECT_EQ(found("d"), R"([ { _id: 9, t: "one", n: 1 } ])");
}

TEST_P(MergeTest, ResultsNeedAValueToBeMatchedBy) {
    start_again();
    run(R"({"drop": "d"})");
    make_index(R"({"a.b": 1})", R"("unique": true)");
    const auto by = [&](const std::string& a) {
        return aggregate(R"([{"$limit": 1}, {"$project": {"_id": 0, "a": {"$literal": )" + a +
                         R"(}}}, {"$merge": {"into": "d", "on": "a.b"}}])");
    };
    EXPECT_EQ(by(R"({"b": {"$eq": 3}})"), 0);
    EXPECT_EQ(by(R"({"b": {"$eq": 3}})"), 0);
    EXPECT_EQ(by(R"({"b": [3]})"), 51185);
    EXPECT_EQ(by(R"({"b": null})"), 51132);
    EXPECT_EQ(by(R"({"c": 3})"), 51132);
    EXPECT_EQ(by(R"([{"b": 3}])"), 51132);
    EXPECT_EQ(run(R"({"count": "d"})")["n"].to_int32(), 1);
    EXPECT_EQ(aggregate(R"([{"$project": {"_id": {"$literal": null}}}, {"$merge": "d"}])"), 51132);
}

TEST_P(MergeTest, RefusesWhatIsWrong) {
    start_again();
    struct Case {
        const char* spec;
        int code;
    };
    for (const Case& one : std::initializer_list<Case>{
             {"5", 51182},
             {"{}", 40414},
             {R"({"into": 5})", 51178},
             {R"({"into": {"db": "x"}})", 40414},
             {R"({"into": {"db": 5, "coll": "x"}})", 14},
             {R"({"into": {"coll": "x", "y": 1}})", 40415},
             {R"({"into": "d", "what": 1})", 40415},
             {R"({"into": "d", "into": "e"})", 40413},
             {R"({"into": "d", "on": 5})", 51186},
             {R"({"into": "d", "on": []})", 51187},
             {R"({"into": "d", "on": [5]})", 51134},
             {R"({"into": "d", "on": ["a", "a"]})", 31465},
             {R"({"into": "d", "on": ""})", 15998},
             {R"({"into": "d", "whenMatched": 5})", 51191},
             {R"({"into": "d", "whenMatched": "pipeline"})", 2},
             {R"({"into": "d", "whenNotMatched": "keep"})", 2},
             {R"({"into": "d", "whenNotMatched": 5})", 14},
             {R"({"into": "d", "whenMatched": "fail", "whenNotMatched": "discard"})", 51181},
             {R"({"into": "d", "whenMatched": "keepExisting", "whenNotMatched": "fail"})", 51181},
             {R"({"into": "d", "let": {"x": 1}})", 51199},
             {R"({"into": "d", "let": 5})", 14},
             {R"({"into": "d", "let": {"new": 1}, "whenMatched": []})", 51273},
             {R"({"into": "d", "let": {"X": 1}, "whenMatched": []})", 16867},
             {R"({"into": "d", "whenMatched": [{"$match": {}}]})", 72},
             {R"({"into": "d", "whenMatched": [{"$set": {"a": "$$x"}}]})", 17276},
             {R"({"into": "d", "whenMatched": [{"$set": {"a": {"$x": 1}}}]})", 168},
             {R"("a$b")", 73},
             {R"("")", 73},
             {R"("a\u0000b")", 73},
             {R"({"into": {"db": "a b", "coll": "x"}})", 73},
             {R"("system.users")", 31319},
             {R"({"into": {"db": "admin", "coll": "x"}})", 31320},
         })
        EXPECT_EQ(merge(one.spec), one.code) << one.spec;
    EXPECT_EQ(found("d"), "[ { _id: 1, b: 9, o: { y: 1 } }, { _id: 3 } ]");
    EXPECT_EQ(aggregate(R"([{"$merge": "d"}, {"$match": {}}])"), 40601);
    EXPECT_EQ(aggregate(R"([{"$out": "d"}, {"$merge": "e"}])"), 40601);
    EXPECT_EQ(aggregate(R"([{"$facet": {"x": [{"$merge": "d"}]}}])"), 40600);
    EXPECT_EQ(aggregate(R"([{"$unionWith": {"coll": "c", "pipeline": [{"$merge": "d"}]}}])"),
              31441);
    EXPECT_EQ(aggregate(R"([{"$out": {"coll": "d"}}])"), 40414);
    EXPECT_EQ(aggregate(R"([{"$out": {"db": "x", "coll": "d", "timeseries": {}}}])"), 72);
    EXPECT_EQ(aggregate(R"([{"$out": {"db": "admin", "coll": "d"}}])"), 31321);
    EXPECT_EQ(aggregate(R"([{"$out": 5}])"), 16990);
    ASSERT_EQ(code(run(R"({"create": "v", "viewOn": "c", "pipeline": []})")), 0);
    EXPECT_EQ(merge(R"("v")"), base::kCommandNotSupportedOnView);
    EXPECT_EQ(code(run_old(R"({"aggregate": "c", "pipeline": [{"$merge": "d"}]})")), 16436);
    EXPECT_EQ(
        code(run_old(R"({"aggregate": "c", "pipeline": [{"$out": {"db": "x", "coll": "y"}}]})")),
        16990);
}

TEST_P(MergeTest, AsksTheValidator) {
    start_again();
    ASSERT_EQ(code(run(R"({"collMod": "d", "validator": {"a": {"$exists": false}}})")), 0);
    for (const char* matched : {"merge", "replace", "fail"}) {
        const std::string spec = fmt::format(R"({{"into": "d", "whenMatched": "{}"}})", matched);
        EXPECT_EQ(aggregate(R"([{"$match": {"_id": 2}}, {"$merge": )" + spec + "}]"),
                  base::kDocumentValidationFailure)
            << matched;
    }
    EXPECT_EQ(merge(R"("d")", R"(, "bypassDocumentValidation": true)"), 0);
    EXPECT_EQ(run(R"({"count": "d", "query": {"a": {"$gt": 0}}})")["n"].to_int32(), 2);
}

TEST_P(MergeTest, IsExplainedAndThenNothingIsWritten) {
    start_again();
    const bson::Object plan =
        run(R"({"explain": {"aggregate": "c", "pipeline": [{"$merge": "d"}], "cursor": {}}})");
    EXPECT_EQ(bson::to_text(plan.doc().at_path("stages.1")),
              R"({ $merge: { into: { db: "test", coll: "d" }, on: "_id", whenMatched: "merge", )"
              R"(whenNotMatched: "insert" } })");
    EXPECT_EQ(found("d"), "[ { _id: 1, b: 9, o: { y: 1 } }, { _id: 3 } ]");
}

INSTANTIATE_TEST_SUITE_P(engines, MergeTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command

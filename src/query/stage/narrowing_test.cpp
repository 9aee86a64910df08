// A pipeline carries only fields that later stages read, and gives the same results.
#include "query/stage/narrowing.h"
#include "dialect/dialect.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "base/testing/effort.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "query/stage/pipeline.h"

namespace query {
namespace {

std::unique_ptr<Pipeline> parse(const std::string& stages, const PipelineContext& context = {}) {
    return Pipeline::parse(bson::parse_test_json("{\"p\": " + stages + "}")["p"].as_doc(), context);
}

std::string narrowed(const std::set<std::string>& paths, const std::string& doc,
                     Narrowing::Others others = Narrowing::Others::kept) {
    Needs needs;
    needs.fields.insert(paths.begin(), paths.end());
    bson::Buffer out;
    Narrowing(needs, others).write_doc(bson::parse_test_json(doc), out);
    return bson::to_text(bson::Doc(out.data()));
}

TEST(Narrowing, KeepsWhatIsOnTheWay) {
    const std::string doc =
        R"({"x": "x", "a": [{"b": "1", "c": "2"}, "3", [{"b": "4"}, "5"]], "b": {"c": "6"}})";
    EXPECT_EQ(narrowed({"a.b", "b"}, doc),
              R"({ a: [ { b: "1" }, "3", [ { b: "4" }, "5" ] ], b: { c: "6" } })");
    EXPECT_EQ(narrowed({"a.b"}, doc, Narrowing::Others::dropped),
              R"({ a: [ { b: "1" }, [ { b: "4" } ] ] })");
    EXPECT_EQ(narrowed({"b.a", "x.y"}, doc), R"({ x: "x", b: {} })");
    EXPECT_EQ(narrowed({"b.a", "x.y"}, doc, Narrowing::Others::dropped), "{ b: {} }");
    EXPECT_EQ(narrowed({"a", "a.b"}, R"({"a": {"b": "1", "c": "2"}})"),
              R"({ a: { b: "1", c: "2" } })");
    EXPECT_EQ(narrowed({}, doc), "{}");
}

std::string fields_of(const std::string& stages) {
    return bson::to_text(parse(stages)->fields());
}

TEST(Narrowing, APipelineReadsWhatItsStagesNeed) {
    EXPECT_EQ(fields_of(R"([{"$sort": {"n": -1}}, {"$group": {"_id": "$n", "k": {"$sum": 1}}}])"),
              "{ n: 1, _id: 0 }");
    EXPECT_EQ(fields_of(R"([{"$match": {"m.x": 1, "a.0": 2}}, {"$unwind": "$u.v"}, {"$limit": 1},
                            {"$skip": 1}, {"$sample": {"size": 5}}, {"$project": {"p.q": 1}},
                            {"$sort": {"later": 1}}])"),
              "{ a: 1, m.x: 1, p.q: 1, u.v: 1, _id: 1 }");
    EXPECT_EQ(fields_of(R"([{"$addFields": {"x": "$y", "z.y": "$q", "unread": "$r"}},
                            {"$group": {"_id": "$x", "z": {"$push": "$z.a"}}}])"),
              "{ q: 1, r: 1, x: 1, y: 1, z: 1, z.a: 1, _id: 0 }");
    EXPECT_EQ(fields_of(R"([{"$count": "n"}])"), "{ _id: 0 }");
    EXPECT_EQ(fields_of(R"([{"$replaceRoot": {"newRoot": "$r"}}, {"$match": {"a": 1}}])"),
              "{ r: 1, _id: 0 }");
    EXPECT_EQ(fields_of(R"([{"$facet": {"a": [{"$match": {"m": 1}}, {"$count": "n"}],
                                        "b": [{"$sortByCount": "$s"}]}}])"),
              "{ m: 1, s: 1, _id: 0 }");
    for (const char* whole :
         {R"([])", R"([{"$match": {"a": 1}}])", R"([{"$sort": {"a": 1}}, {"$limit": 2}])",
          R"([{"$group": {"_id": 1, "a": {"$push": "$$ROOT"}}}])",
          R"([{"$project": {"a": "$$CURRENT"}}])", R"([{"$addFields": {"a": 1}}])",
          R"([{"$redact": "$$KEEP"}, {"$count": "n"}])",
          R"([{"$facet": {"a": [{"$count": "n"}], "b": []}}])", R"([{"$out": "c"}])"})
        EXPECT_EQ(fields_of(whole), "{}") << whole;
}

// 120 documents of a megabyte; a sort holds 100 MB.
int error_over_large_documents(const std::string& stages) {
    const std::string big(1024 * 1024, 'x');
    const bson::Object doc = bson::make("n", 1, "o", bson::make("big", big, "m", 2));
    try {
        const auto pipeline = parse(stages);
        size_t left = 120;
        pipeline->set_source([&](bson::Doc* out) {
            *out = doc;
            return left-- != 0;
        });
        bson::Doc out;
        while (pipeline->next(&out)) {
        }
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

TEST(Narrowing, OnlyWhatIsReadLaterIsHeld) {
    for (
        const char* stages :
        {R"([{"$sort": {"n": -1}}, {"$group": {"_id": "$n", "k": {"$sum": 1}}}])",
         R"([{"$sort": {"o.m": -1}}, {"$skip": 1}, {"$group": {"_id": "$o.m"}}])",
         // Read before the sort, not after it.
         R"([{"$skip": 1}, {"$match": {"o.big": {"$ne": 1}}}, {"$limit": 119},
              {"$sort": {"n": 1}}, {"$project": {"n": 1}}])",
         R"([{"$project": {"o": 1, "n": 1}}, {"$sort": {"n": 1}}, {"$group": {"_id": "$n"}}])",
         R"([{"$addFields": {"p": "$o.big"}}, {"$sort": {"n": 1}}, {"$count": "n"}])",
         R"([{"$replaceRoot": {"newRoot": "$o"}}, {"$sort": {"m": 1}}, {"$group": {"_id": "$m"}}])",
         R"([{"$facet": {"a": [{"$sort": {"n": 1}}, {"$group": {"_id": "$n"}}],
                          "b": [{"$count": "n"}]}}])",
         R"([{"$sample": {"size": 120}}, {"$sortByCount": "$n"}])"}) {
        EXPECT_EQ(error_over_large_documents(stages), 0) << stages;
    }
    EXPECT_EQ(error_over_large_documents(R"([{"$sort": {"n": -1}}])"), 16819);
    EXPECT_EQ(error_over_large_documents(
                  R"([{"$sort": {"n": -1}}, {"$group": {"_id": "$n", "l": {"$last": "$o"}}}])"),
              16819);
}

// Makes documents and pipelines over a few names, of which paths meet everything.
class Maker {
  public:
    explicit Maker(uint32_t seed) : random_(seed) {}

    std::string doc() {
        std::string fields = R"("_id": )" + (below(4) == 0 ? object(1) : std::to_string(below(9)));
        for (size_t n = below(6); n > 0; --n)
            fields += ", \"" + any_name() + "\": " + value(2);  // a name may come twice
        if (below(2) == 0) fields += R"(, "l": )" + array(1);
        return "{" + fields + "}";
    }
    std::string pipeline(size_t stages, bool in_facet = false) {
        std::string text;
        for (size_t i = 0; i < stages; ++i)
            text += (i == 0 ? "" : ", ") + stage(in_facet);
        return "[" + text + "]";
    }
    std::string project() { return R"({"$project": )" + computed(1 + below(3), true) + "}"; }
    size_t below(size_t n) { return random_() % n; }

  private:
    template <size_t N>
    std::string one_of(const char* const (&texts)[N]) {
        return texts[below(N)];
    }
    std::string name() { return one_of({"a", "b", "c", "l"}); }
    std::string any_name() { return below(20) == 0 ? "" : name(); }
    std::string path() {
        return below(4) == 0 ? one_of({"a.0", "a.0.b", "_id", "_id.a", "l.a", "l", "x", "a.b.c"})
                             : name() + (below(2) == 0 ? "" : "." + name());
    }
    std::string scalar() { return one_of({"1", "2", "\"x\"", "\"y\"", "null", "true", "1.5"}); }
    std::string object(size_t depth) {
        std::string fields;
        for (size_t n = below(4); n > 0; --n)
            fields += (fields.empty() ? "\"" : ", \"") + any_name() + "\": " + value(depth - 1);
        return "{" + fields + "}";
    }
    std::string array(size_t depth) {
        std::string elements;
        for (size_t n = below(4); n > 0; --n)
            elements += (elements.empty() ? "" : ", ") + value(depth);
        return "[" + elements + "]";
    }
    std::string value(size_t depth) {
        if (depth == 0 || below(3) == 0) return scalar();
        return below(2) == 0 ? object(depth) : array(depth - 1);
    }

    std::string field() { return "\"$" + path() + "\""; }
    std::string expression() {
        switch (below(12)) {
            case 0:
                return R"({"$ifNull": [)" + field() + ", " + field() + "]}";
            case 1:
                return R"({"$cond": [{"$eq": [)" + field() + ", " + field() + "]}, " + field() +
                       ", " + field() + "]}";
            case 2:
                return R"({"$let": {"vars": {"v": )" + field() + R"(}, "in": "$$v.)" + name() +
                       "\"}}";
            case 3:
                return R"({"y": )" + field() + R"(, "z": )" + field() + "}";
            case 4:
                return R"({"$add": [1, )" + field() + "]}";
            case 5:
                return below(4) == 0 ? R"("$$ROOT")" : field();
            case 6:
                return R"({"$map": {"input": "$l", "as": "v", "in": {"p": "$$v.a", "q": )" +
                       field() + "}}}";
            default:
                return field();
        }
    }
    std::string condition() {
        const std::string test =
            below(3) == 0 ? value(1)
                          : one_of({R"({"$gt": 1})", R"({"$exists": true})", R"({"$ne": null})",
                                    R"({"$size": 1})", R"({"$in": [1, null]})", R"({"$type": 3})",
                                    R"({"$elemMatch": {"a": 1}})", R"({"$elemMatch": {"$gt": 0}})",
                                    R"({"$not": {"$lt": 2}})", R"({"$all": [1]})"});
        const std::string at = below(9) == 0 ? one_of({"", "a.", ".a", "a..b", "b.1.c"}) : path();
        const std::string one = "\"" + at + "\": " + test;
        return below(4) == 0 ? R"("$or": [{)" + one + "}, {\"" + path() + "\": 1}]" : one;
    }
    std::string computed(size_t count, bool inclusions) {
        std::string fields;
        for (size_t i = 0; i < count; ++i) {
            const std::string what = inclusions && below(2) == 0 ? "1" : expression();
            fields += (fields.empty() ? "\"" : ", \"") + path() + "\": " + what;
        }
        return "{" + fields + "}";
    }
    std::string group() {
        std::string id =
            below(3) == 0 ? R"({"i": )" + field() + R"(, "j": )" + field() + "}" : expression();
        std::string fields = R"({"_id": )" + id;
        for (const char* into : {"a", "b", "l"}) {
            if (below(3) == 0) continue;
            const std::string how =
                one_of({"$first", "$last", "$push", "$addToSet", "$max", "$sum"});
            fields += ", \"" + std::string(into) + "\": {\"" + how + "\": " + expression() + "}";
        }
        return fields + "}";
    }
    std::string stage(bool in_facet) {
        switch (below(in_facet ? 12 : 13)) {
            case 0:
                return R"({"$match": {)" + condition() + "}}";
            case 1:
                return project();
            case 2:
                return R"({"$project": {")" + path() + R"(": 0, "_id": )" +
                       (below(2) == 0 ? "0}}" : "1}}");
            case 3:
                return R"({"$group": )" + group() + "}";
            case 4:
            case 5:
                return R"({"$sort": {")" + path() + R"(": )" + (below(2) == 0 ? "1" : "-1") + "}}";
            case 6:
                return R"({"$unwind": "$l"})";
            case 7:
                return below(2) == 0 ? R"({"$limit": 4})" : R"({"$skip": 1})";
            case 8:
            case 9:
                return R"({"$addFields": )" + computed(1 + below(2), false) + "}";
            case 10:
                return below(2) == 0 ? R"({"$replaceRoot": {"newRoot": )" + expression() + "}}"
                                     : R"({"$sortByCount": )" + field() + "}";
            case 11:
                return below(3) == 0 ? R"({"$count": "a"})"
                                     : R"({"$redact": {"$cond": [{"$eq": [)" + field() +
                                           R"(, 1]}, "$$PRUNE", "$$DESCEND"]}})";
            default:
                return R"({"$facet": {"a": )" + pipeline(below(3), true) + R"(, "l": )" +
                       pipeline(1 + below(2), true) + "}}";
        }
    }

    std::mt19937 random_;
};

std::string outcome(const std::string& stages, const std::vector<bson::Object>& docs, bool narrows,
                    dialect::Dialect dialect = dialect::kV26) {
    std::string text;
    try {
        PipelineContext context;
        context.narrows = narrows;
        context.dialect = dialect;
        const auto pipeline = parse(stages, context);
        size_t at = 0;
        pipeline->set_source([&](bson::Doc* out) {
            if (at == docs.size()) return false;
            *out = docs[at++];
            return true;
        });
        bson::Doc doc;
        while (pipeline->next(&doc))
            text += bson::to_json(doc) + "\n";
    } catch (const base::Error& e) {
        text += "error " + std::to_string(e.code()) + " " + e.what();
    }
    return text;
}

TEST(Narrowing, AFieldThatShowsInAProjectionIsCarriedThroughASort) {
    const auto docs = {bson::Object(bson::parse_test_json(R"({"_id": 1, "l": [{"a": 1}]})"))};
    const std::string stages = R"([{"$unwind": "$l"}, {"$sort": {"_id": 1}},
                                   {"$project": {"l.b": "$b"}}])";
    EXPECT_EQ(outcome(stages, docs, true), outcome(stages, docs, false));
}

TEST(Narrowing, AProjectionGivesTheSameWhereverItStands) {
    const auto rounds = static_cast<uint32_t>(base::test_effort(5'000));
    for (uint32_t seed = 1; seed <= rounds && !HasFailure(); ++seed) {
        Maker maker(seed);
        const std::string doc = maker.doc();
        const std::string project = maker.project();
        const auto docs = {bson::Object(bson::parse_test_json(doc))};
        const std::string first = outcome("[" + project + "]", docs, true);
        for (const char* before :
             {R"({"$sort": {"a": 1, "b.c": 1}})", R"({"$redact": "$$KEEP"})", R"({"$skip": 0})",
              R"({"$addFields": {"_id": "$_id"}})",
              R"({"$match": {"l.a": {"$ne": 7}, "b": {"$ne": 7}}})",
              R"({"$replaceRoot": {"newRoot": "$$ROOT"}}, {"$sort": {"l": 1}})"})
            for (const bool narrows : {false, true})
                EXPECT_EQ(outcome("[" + std::string(before) + ", " + project + "]", docs, narrows),
                          first)
                    << "seed " << seed << ": " << before << project << doc;
    }
}

TEST(Narrowing, ResultsAreThoseOfWholeDocuments) {
    const auto rounds = static_cast<uint32_t>(base::test_effort(5'000));
    size_t with_results = 0;
    for (uint32_t seed = 1; seed <= rounds && !HasFailure(); ++seed) {
        Maker maker(seed);
        std::vector<bson::Object> docs;
        for (size_t n = 1 + maker.below(6); n > 0; --n)
            docs.push_back(bson::parse_test_json(maker.doc()));
        const std::string stages = maker.pipeline(1 + maker.below(5));
        const dialect::Dialect dialect = seed % 2 == 0 ? dialect::kToday : dialect::kV26;
        const std::string whole = outcome(stages, docs, false, dialect);
        with_results += static_cast<size_t>(whole.starts_with("{"));
        EXPECT_EQ(outcome(stages, docs, true, dialect), whole) << "seed " << seed << ": " << stages;
        if (HasFailure())
            for (const bson::Object& doc : docs)
                ADD_FAILURE() << bson::to_json(doc);
    }
    EXPECT_GT(with_results, rounds / 4);
}

}  // namespace
}  // namespace query

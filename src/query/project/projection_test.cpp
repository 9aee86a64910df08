#include "query/project/projection.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/testing/json.h"

namespace query {
namespace {

bson::Object apply(const char* spec, const char* doc, const char* filter = "{}") {
    const auto matcher = Matcher::parse(bson::parse_test_json(filter));
    const auto projection = Projection::parse(bson::parse_test_json(spec), matcher.get());
    MatchDetails details;
    details.want_index = projection->needs_details();
    const bson::Object document = bson::parse_test_json(doc);
    EXPECT_TRUE(matcher->matches(document, &details));
    bson::Buffer out;
    projection->apply(document, &details, out);
    return bson::Object(bson::Doc(out.data()));
}

void expect(const bson::Object& got, const char* wanted) {
    EXPECT_EQ(got.bytes(), bson::parse_test_json(wanted).bytes()) << wanted;
}

bool refused(const char* spec, const char* filter = "{}") {
    const auto matcher = Matcher::parse(bson::parse_test_json(filter));
    try {
        Projection::parse(bson::parse_test_json(spec), matcher.get());
    } catch (const base::Error& e) {
        return e.code() == base::kBadValue;
    }
    return false;
}

constexpr const char* kDoc = R"({"_id": 1, "b": {"c": 1, "d": 2}, "a": [{"x": 1, "y": 2}, 3]})";

TEST(Projection, EmptyMeansWholeDocuments) {
    EXPECT_EQ(Projection::parse(bson::Doc(), nullptr), nullptr);
}

TEST(Projection, ByNameKnowsNoPositionsAndHasItsOwnCodes) {
    const auto by_name = [](const char* spec) {
        bson::Buffer out;
        Projection::parse_by_name(bson::parse_test_json(spec))
            ->apply(bson::parse_test_json(R"({"_id": 1, "a": [{"x": 1}, 3]})"), nullptr, out);
        return bson::Object(bson::Doc(out.data()));
    };
    const auto code = [&](const char* spec) {
        try {
            by_name(spec);
        } catch (const base::Error& e) {
            return e.code();
        }
        return 0;
    };
    EXPECT_EQ(Projection::parse_by_name(bson::Doc()), nullptr);
    expect(by_name(R"({"a.$": 1})"), R"({"_id": 1, "a": [{}]})");
    EXPECT_EQ(code(R"({"a": 1, "b": 0})"), 10053);
    EXPECT_EQ(code(R"({"a": {"$meta": "x"}})"), 13097);
    EXPECT_EQ(code(R"({"a": {"$slice": "x"}})"), 13098);
    EXPECT_EQ(code(R"({"a": {"$slice": [1, 0]}})"), 13100);
}

TEST(Projection, InclusionAndExclusion) {
    expect(apply(R"({"b": 1})", kDoc), R"({"_id": 1, "b": {"c": 1, "d": 2}})");
    expect(apply(R"({"b.c": 1, "_id": 0})", kDoc), R"({"b": {"c": 1}})");
    expect(apply(R"({"a.x": 1, "_id": 0})", kDoc), R"({"a": [{"x": 1}]})");
    expect(apply(R"({"a.x": 0, "b": 0})", kDoc), R"({"_id": 1, "a": [{"y": 2}, 3]})");
    EXPECT_TRUE(refused(R"({"a": 1, "b": 0})"));
    EXPECT_TRUE(refused(R"({"a": 0, "_id": 1})"));
    EXPECT_TRUE(refused(R"({"a": {"$foo": 1}})"));
}

TEST(Projection, Slice) {
    expect(apply(R"({"a": {"$slice": -1}, "b": 0})", kDoc), R"({"_id": 1, "a": [3]})");
    expect(apply(R"({"a": {"$slice": [1, 5]}, "b": 1})", kDoc),
           R"({"_id": 1, "b": {"c": 1, "d": 2}, "a": [3]})");
    EXPECT_TRUE(refused(R"({"a": {"$slice": [1, 0]}})"));
}

TEST(Projection, ElemMatch) {
    expect(apply(R"({"a": {"$elemMatch": {"x": 1}}})", kDoc),
           R"({"_id": 1, "a": [{"x": 1, "y": 2}]})");
    expect(apply(R"({"a": {"$elemMatch": {"x": 9}}})", kDoc), R"({"_id": 1})");
    EXPECT_TRUE(refused(R"({"a.x": {"$elemMatch": {"y": 1}}})"));
    // Names that are none of a field at the top of a filter.
    for (const std::string name : {"", "$ref", "$id", "$db", "$comment", "$atomic", "$isolated"}) {
        SCOPED_TRACE(name);
        const auto field = [&name](const char* value) {
            return "{\"" + name + "\": " + value + "}";
        };
        const std::string doc = field(R"([{"x": 2}, {"x": 1}, 1])");
        expect(apply(field(R"({"$elemMatch": {"x": 1}})").c_str(), doc.c_str()),
               field(R"([{"x": 1}])").c_str());
        expect(apply(field(R"({"$elemMatch": {"$lt": 2}})").c_str(), doc.c_str()),
               field("[1]").c_str());
    }
}

TEST(Projection, Positional) {
    expect(apply(R"({"a.$": 1})", kDoc, R"({"a": 3})"), R"({"_id": 1, "a": [3]})");
    EXPECT_TRUE(refused(R"({"a.$": 1})", R"({"b": 3})"));
    EXPECT_TRUE(refused(R"({"a.$": 0})", R"({"a": 3})"));
    EXPECT_TRUE(refused(R"({"a.$": 1, "b.$": 1})", R"({"a": 3, "b": 1})"));
    EXPECT_THROW(apply(R"({"a.$": 1})", kDoc, R"({"a": {"$size": 2}})"), base::Error);
}

// The old server looked for `$` in the names of all fields, also of those with an operator.
TEST(Projection, PositionalWithOperators) {
    EXPECT_TRUE(refused(R"({"a.$": {"$slice": 1}})", R"({"b": 3})"));
    EXPECT_TRUE(refused(R"({"a.$": {"$slice": 1}, "b.$": 1})", R"({"a": 3, "b": 1})"));
    EXPECT_TRUE(refused(R"({"a.$": {"$elemMatch": {"x": 1}}})", R"({"a": 3})"));
    expect(apply(R"({"a.$": {"$slice": -1}})", R"({"_id": 1, "a": [1, 3, 5], "b": [1, 2]})",
                 R"({"a": 3})"),
           R"({"_id": 1, "a": [3], "b": [1, 2]})");
    // Every array that has a rule is cut to the element of that place.
    expect(
        apply(R"({"a.$": {"$slice": 1}, "b.x": {"$slice": -1}})",
              R"({"_id": 1, "a": [1, 3, 5], "b": [{"x": 1}, {"x": 2}, {"x": 3}]})", R"({"a": 3})"),
        R"({"_id": 1, "a": [3], "b": [{"x": 2}]})");
}

TEST(Projection, FromIndexKeys) {
    const auto projection =
        Projection::parse(bson::parse_test_json(R"({"b": 1, "_id": 0})"), nullptr);
    EXPECT_TRUE(projection->covered_by({"a", "b"}));
    EXPECT_FALSE(projection->covered_by({"a"}));
    EXPECT_TRUE(projection->takes("b"));
    EXPECT_FALSE(projection->takes("a"));
    EXPECT_FALSE(projection->takes("_id"));
    for (const char* spec : {R"({"b": 1})", R"({"b": 0, "_id": 0})", R"({"b.c": 1, "_id": 0})",
                             R"({"b": {"$slice": 1}, "_id": 0})"}) {
        EXPECT_FALSE(
            Projection::parse(bson::parse_test_json(spec), nullptr)->covered_by({"b", "b.c"}))
            << spec;
    }
}

TEST(Projection, OfTodayHasPartsOfIdAndOnlyWhatIsSlicedOfADocument) {
    const auto shown = [](const char* spec, const char* doc) {
        bson::Buffer out;
        Projection::parse(bson::parse_test_json(spec), nullptr, &kNoExpressionsHere)
            ->apply(bson::parse_test_json(doc), nullptr, out);
        return bson::Object(bson::Doc(out.data()));
    };
    const char* doc = R"({"_id": {"a": 1, "c": 2}, "q": 1, "d": {"n": 1, "l": [1, 2]}})";
    expect(shown(R"({"_id.a": 1})", doc), R"({"_id": {"a": 1}})");
    expect(shown(R"({"_id.c": 0, "d": 0})", doc), R"({"_id": {"a": 1}, "q": 1})");
    expect(shown(R"({"q": 1, "d.l": {"$slice": 1}})", doc),
           R"({"_id": {"a": 1, "c": 2}, "q": 1, "d": {"l": [1]}})");
    expect(shown(R"({"q": 0, "d.l": {"$slice": 1}})", doc),
           R"({"_id": {"a": 1, "c": 2}, "d": {"n": 1, "l": [1]}})");
    expect(apply(R"({"_id.a": 1})", doc), R"({"_id": {"a": 1, "c": 2}})");
    expect(apply(R"({"q": 1, "d.l": {"$slice": 1}})", doc),
           R"({"_id": {"a": 1, "c": 2}, "q": 1, "d": {"n": 1, "l": [1]}})");
}

TEST(Projection, ElemMatchComparesUnderTheCollation) {
    const auto english = collation::Collator::make(bson::make("locale", "en", "strength", 2));
    const bson::Object spec = bson::parse_test_json(R"({"a": {"$elemMatch": {"$eq": "X"}}})");
    const bson::Object doc = bson::parse_test_json(R"({"_id": 1, "a": ["y", "x"]})");
    bson::Buffer out;
    Projection::parse(spec, nullptr, &kNoExpressionsHere, english)->apply(doc, nullptr, out);
    expect(bson::Object(bson::Doc(out.data())), R"({"_id": 1, "a": ["x"]})");
}

}  // namespace
}  // namespace query

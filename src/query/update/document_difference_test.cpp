// Differences of random documents: applied, they make the one of the other.
#include "query/update/document_difference.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/effort.h"
#include "query/update/testing/histories.h"

namespace query {
namespace {

std::string difference(const char* before, const char* after, size_t bytes = 1000,
                       size_t paths = 10) {
    bson::Buffer out;
    const bson::Object was = bson::parse_test_json(before);
    const bson::Object is = bson::parse_test_json(after);
    if (!write_difference(was, is, bytes, paths, out)) return "none";
    return bson::to_text(bson::Doc(out.data()));
}

TEST(DocumentDifference, NamesTheFieldsThatChanged) {
    EXPECT_EQ(difference(R"({"_id": 1, "a": 1, "b": {"c": 2, "d": 3}, "e": 4})",
                         R"({"_id": 1, "a": 5, "b": {"c": 2, "d": 6}, "f": 7})"),
              "{ $set: { a: 5, b.d: 6, f: 7 }, $unset: { e: true } }");
    EXPECT_EQ(difference(R"({"a": {"b": {"c": 1}}})", R"({"a": {"b": {"d": 1}}})"),
              "{ $set: { a.b.d: 1 }, $unset: { a.b.c: true } }");
    EXPECT_EQ(difference(R"({"a": {"b": 1}})", R"({"a": {}})"), "{ $set: { a: {} } }");
    // An object whose fields have changed places is a value.
    EXPECT_EQ(difference(R"({"a": {"b": 1, "c": 2}})", R"({"a": {"c": 2, "b": 1}})"),
              "{ $set: { a: { c: 2, b: 1 } } }");
}

TEST(DocumentDifference, NamesTheElementsThatChanged) {
    constexpr const char* kLong = R"({"a": ["a long text", {"b": 1}, 3, [4, 5, 6, 7], 8]})";
    EXPECT_EQ(difference(kLong, R"({"a": ["a long text", {"b": 2}, 3, [4, 5, 6, 7], 8, 9]})"),
              "{ $set: { a.1.b: 2, a.5: 9 } }");
    EXPECT_EQ(difference(kLong, R"({"a": ["a long text", {"c": 1}, 3, [4, 5, 6, 7], 8]})"),
              "{ $set: { a.1.c: 1 }, $unset: { a.1.b: true } }");
    EXPECT_EQ(difference(kLong, R"({"a": ["a long text", {"b": 1}]})"),
              "{ $push: { a: { $each: [], $slice: 2 } } }");
    EXPECT_EQ(difference(kLong, R"({"a": ["a long text", {"b": 1}, 0, [4, 5, 6], 8]})"),
              "{ $set: { a.2: 0 }, $push: { a.3: { $each: [], $slice: 3 } } }");
    // The array is the value where that would be longer, and where an array is shorter and its
    // elements have changed.
    EXPECT_EQ(difference(R"({"a": [1]})", R"({"a": [2]})"), "{ $set: { a: [ 2 ] } }");
    EXPECT_EQ(difference(R"({"a": [1, 2]})", R"({"a": [1]})"), "{ $set: { a: [ 1 ] } }");
    EXPECT_EQ(difference(kLong, R"({"a": []})"), "{ $set: { a: [] } }");
    EXPECT_EQ(difference(kLong, R"({"a": ["a long text", {"b": 2}, 3]})"),
              "{ $set: { a: [ \"a long text\", { b: 2 }, 3 ] } }");
    EXPECT_EQ(difference(R"({"a": []})", R"({"a": [1]})"), "{ $set: { a: [ 1 ] } }");
    // A number of another type is no difference that $set makes.
    EXPECT_EQ(difference(R"({"a": ["a long text", 1]})", R"({"a": ["a long text", 1.0]})"), "none");
}

TEST(DocumentDifference, IsNotWhatOperatorsCannotDo) {
    EXPECT_EQ(difference(R"({"a": 1, "b": 2})", R"({"b": 2, "a": 1})"), "none");
    EXPECT_EQ(difference(R"({"a": 1})", R"({"b": 2, "a": 1})"), "none");
    EXPECT_EQ(difference(R"({"a": 1})", R"({"a": 1.0})"), "none");
    EXPECT_EQ(difference(R"({"a": 1})", R"({"a": 1, "b.c": 1})"), "none");
    EXPECT_EQ(difference(R"({"a": 1})", R"({"a": 1, "$b": 1})"), "none");
    EXPECT_EQ(difference(R"({"a": 1})", R"({"a": 1})"), "none");
    EXPECT_EQ(difference(R"({"a": 1})", R"({"a": 2, "b": 3})", 1000, 1), "none");
    EXPECT_EQ(difference(R"({"a": 1})", R"({"a": "a longer text"})", 20), "none");
}

TEST(DocumentDifference, MakesTheDocument) {
    int differences = 0;
    for (int seed = 1; seed <= base::test_effort(3000); ++seed) {
        Histories random(static_cast<uint32_t>(seed));
        const bson::Object before = bson::parse_test_json(random.document());
        bson::Builder other;
        other.append(before["_id"]);
        for (const bson::Element& e : bson::parse_test_json(random.document()))
            if (e.name() != "_id") other.append(e);
        bson::Object after = other.object();
        for (int i = 0; i < 4; ++i) {
            Step step;
            const auto [update, filters] = random.update();
            if (take_step(before, update, filters, &step)) after = step.after;
            bson::Buffer form;
            if (!write_difference(before, after, 10'000, 100, form)) continue;
            ++differences;
            const auto made = Update::parse(bson::Doc(form.data()), {});
            bson::Buffer out;
            const UpdateResult result = made->apply(before.doc(), MatchDetails(), out);
            const bson::Doc now = updated_document(before.doc(), result, out);
            ASSERT_TRUE(std::ranges::equal(now.bytes(), after.bytes()))
                << seed << ": " << bson::to_text(before.doc()) << " -> "
                << bson::to_text(bson::Doc(form.data())) << " -> " << bson::to_text(now) << "\n"
                << bson::to_text(after.doc());
        }
    }
    EXPECT_GT(differences, base::test_effort(3000) / 2);
}

}  // namespace
}  // namespace query

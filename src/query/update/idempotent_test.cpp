// Random histories of updates, and what their entries in a log make of documents.
#include "query/update/idempotent.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/testing/effort.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "query/update/testing/histories.h"

namespace query {
namespace {

// The error that the old messages have.
constexpr int kNoPlaceForField = 16837;

// Returns what an entry makes of a document.
bson::Object replay(const bson::Object& form, const bson::Object& doc) {
    const auto update = Update::parse(form.doc(), {});
    bson::Buffer out;
    const UpdateResult result = update->apply(doc.doc(), MatchDetails(), out);
    return bson::Object(updated_document(doc.doc(), result, out));
}

TEST(IdempotentForm, GivesTheSameDocumentOnceTwiceAndFromAnyPoint) {
    int steps_taken = 0;
    int without_place = 0;
    int suffixes = 0;
    std::set<std::string> operators;
    for (int seed = 1; seed <= base::test_effort(3000); ++seed) {
        Histories random(static_cast<uint32_t>(seed));
        const bson::Object first = bson::parse_test_json(random.document());
        bson::Object state = first;
        std::vector<Step> steps;
        std::string history = bson::to_text(first.doc());
        for (int tries = 0; tries < 20 && steps.size() < 5; ++tries) {
            const auto [update, filters] = random.update();
            Step step;
            if (!take_step(state, update, filters, &step)) continue;
            history += fmt::format("\n{} -> {} -> {}", update, bson::to_text(step.form.doc()),
                                   bson::to_text(step.after.doc()));
            operators.insert(update.substr(1, update.find(':') - 1));
            const bson::Object once = replay(step.form, state);
            ASSERT_TRUE(std::ranges::equal(once.bytes(), step.after.bytes()))
                << seed << " gives " << bson::to_text(once.doc()) << "\n"
                << history;
            const bson::Object twice = replay(step.form, once);
            ASSERT_TRUE(std::ranges::equal(twice.bytes(), step.after.bytes()))
                << seed << " gives " << bson::to_text(twice.doc()) << "\n"
                << history;
            state = step.after;
            steps.push_back(std::move(step));
        }
        steps_taken += static_cast<int>(steps.size());
        for (size_t seen = 1; seen <= steps.size(); ++seen) {
            for (size_t from = 0; from < seen; ++from) {
                bson::Object doc = steps[seen - 1].after;
                try {
                    for (size_t i = from; i < steps.size(); ++i)
                        doc = replay(steps[i].form, doc);
                    ++suffixes;
                    ASSERT_EQ(values(doc.doc()), values(state.doc()))
                        << seed << ": seen " << seen << ", again from " << from << "\n"
                        << history;
                } catch (const base::Error& e) {
                    ++without_place;
                    ASSERT_EQ(e.code(), kNoPlaceForField) << e.what() << "\n" << history;
                }
            }
        }
    }
    EXPECT_GT(steps_taken, base::test_effort(3000) * 3);
    EXPECT_GT(suffixes, 4 * without_place);
    EXPECT_GE(operators.size(), 15U);
}

bson::Object form_of(const char* before, const char* update, const char* filters = "") {
    Step step;
    EXPECT_TRUE(take_step(bson::parse_test_json(before), update, filters, &step)) << update;
    return step.form;
}

TEST(IdempotentForm, SaysWhatBecameOfEachField) {
    EXPECT_EQ(bson::to_text(form_of(R"({"_id": 1, "n": 4, "m": 1, "old": 1})",
                                    R"({"$inc": {"n": 1}, "$unset": {"old": 1}})")
                                .doc()),
              "{ $set: { n: 5 }, $unset: { old: true } }");
    // Done in place, in an order of its own.
    EXPECT_EQ(bson::to_text(form_of(R"({"_id": 1, "n": 4, "s": "ab", "a": [1, {"b": 2}]})",
                                    R"({"$set": {"s": "cd", "n": 4, "a.1.b": 3}})")
                                .doc()),
              R"({ $set: { a.1.b: 3, s: "cd" } })");
    EXPECT_EQ(bson::to_text(form_of(R"({"_id": 1, "a": [1, 2]})", R"({"$push": {"a": 3}})").doc()),
              "{ $set: { a: [ 1, 2, 3 ] } }");
    EXPECT_EQ(
        bson::to_text(form_of(R"({"_id": 1, "a": [1, 2]})", R"({"$unset": {"a.0": 1}})").doc()),
        "{ $set: { a.0: null } }");
}

TEST(IdempotentForm, NamesEachElementThatAFilterChose) {
    EXPECT_EQ(bson::to_text(form_of(R"({"_id": 1, "a": [1, 2, 3]})", R"({"$set": {"a.$[x]": 0}})",
                                    R"({"x": {"$ne": 2}})")
                                .doc()),
              "{ $set: { a.0: 0, a.2: 0 } }");
}

TEST(IdempotentForm, IsTheWholeDocumentWhereThatIsLess) {
    const std::string whole = R"({ _id: 1, x: 2 })";
    EXPECT_EQ(bson::to_text(form_of(R"({"_id": 1, "a": 1})", R"({"x": 2})").doc()), whole);
    // A number that equals the one before.
    EXPECT_EQ(bson::to_text(form_of(R"({"_id": 1, "x": {"$numberInt": "2"}})",
                                    R"({"$mul": {"x": {"$numberLong": "1"}}})")
                                .doc()),
              whole);
    // And one that does so in place.
    EXPECT_EQ(bson::to_text(form_of(R"({"_id": 1, "x": {"$numberDecimal": "2"}})",
                                    R"({"$set": {"x": {"$numberDecimal": "2.0"}}})")
                                .doc()),
              "{ _id: 1, x: NumberDecimal('2.0') }");
    // $rename onto a field that stays where it is.
    EXPECT_EQ(
        bson::to_text(form_of(R"({"_id": 1, "a": 2, "x": 1})", R"({"$rename": {"a": "x"}})").doc()),
        "{ $set: { x: 2 }, $unset: { a: true } }");
    std::string many;
    std::string before;
    for (int i = 0; i < 200; ++i) {
        many += fmt::format(R"({}"f{}": 2)", i == 0 ? "" : ", ", i);
        before += fmt::format(R"(, "f{}": 1)", i);
    }
    const bson::Object form = form_of(fmt::format(R"({{"_id": 1{}}})", before).c_str(),
                                      fmt::format(R"({{"$set": {{{}}}}})", many).c_str());
    EXPECT_EQ(form.doc().field_count(), 201);
}

}  // namespace
}  // namespace query

// Random histories of updates, and what their entries in a log make of documents.
#include "query/update/idempotent.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/error.h"
#include "base/testing/effort.h"
#include "bson/json.h"
#include "bson/testing/json.h"

namespace query {
namespace {

// As the old messages have it.
constexpr int kNoPlaceForField = 16837;

// A document with the fields of each object in the order of their names.
void append_sorted(bson::Builder& out, bson::Doc doc, bool is_array) {
    std::vector<bson::Element> fields;
    for (const bson::Element& e : doc)
        fields.push_back(e);
    if (!is_array) std::ranges::sort(fields, {}, [](const bson::Element& e) { return e.name(); });
    for (const bson::Element& e : fields) {
        if (!e.is_object() && !e.is_array()) {
            out.append(e);
            continue;
        }
        bson::Builder inner = e.is_array() ? out.sub_array(e.name()) : out.sub_object(e.name());
        append_sorted(inner, e.as_doc(), e.is_array());
    }
}
std::string values(bson::Doc doc) {
    bson::Builder sorted;
    append_sorted(sorted, doc, false);
    return bson::to_text(sorted.doc());
}

// What an entry makes of a document.
bson::Object replay(const bson::Object& form, const bson::Object& doc) {
    const auto update = Update::parse(form.doc(), {});
    bson::Buffer out;
    const UpdateResult result = update->apply(doc.doc(), MatchDetails(), out);
    if (!result.changed) return doc;
    if (!result.in_place) return bson::Object(bson::Doc(out.data()));
    out.append(doc.doc().data(), static_cast<size_t>(doc.size()));
    for (const bson::Patch& patch : result.patches)
        std::copy_n(patch.bytes, patch.size, out.data() + patch.offset);
    return bson::Object(bson::Doc(out.data()));
}

struct Step {
    std::string update;
    bson::Object form;
    bson::Object after;
};

// Nothing: the update changes nothing, or is refused.
bool take_step(const bson::Object& before, const std::string& text, const std::string& filters,
               Step* step) {
    const bson::Object spec = bson::parse_test_json(text);
    const bson::Object array_filters =
        bson::parse_test_json(fmt::format(R"({{"f": [{}]}})", filters));
    step->update = text;
    try {
        Update::Options options{.over_msg = true};
        if (!filters.empty()) options.array_filters = array_filters.doc()["f"];
        const auto update = Update::parse(spec.doc(), options);
        MatchDetails details;
        details.has_index = true;
        details.array_index = 0;
        bson::Buffer out;
        const UpdateResult result = update->apply(before.doc(), details, out);
        if (!result.changed) return false;
        if (result.in_place) {
            out.clear();
            out.append(before.doc().data(), static_cast<size_t>(before.size()));
            for (const bson::Patch& patch : result.patches)
                std::copy_n(patch.bytes, patch.size, out.data() + patch.offset);
        }
        step->after = bson::Object(bson::Doc(out.data()));
        bson::Buffer form;
        step->form =
            bson::Object(idempotent_form(*update, result, before.doc(), step->after.doc(), form));
        return true;
    } catch (const base::Error&) {
        return false;
    }
}

class Histories {
  public:
    explicit Histories(uint32_t seed) : random_(seed) {}

    std::string document() {
        std::string fields = fmt::format(R"("_id": {})", below(100));
        for (const char* name : {"a", "b", "c", "d"})
            if (below(3) != 0) fields += fmt::format(R"(, "{}": {})", name, value(2));
        return "{" + fields + "}";
    }
    // An update, and the filters that its paths name.
    std::pair<std::string, std::string> update() {
        if (below(15) == 0) return {document_without_id(), ""};
        if (below(12) == 0)
            return {fmt::format(R"({{"$set": {{"{}.$[x]{}": {}}}}})", top(),
                                below(2) == 0 ? "" : ".n", value(1)),
                    below(2) == 0 ? R"({"x": {"$ne": 3}})" : R"({"x.n": {"$exists": true}})"};
        std::string operators;
        const int count = 1 + below(3);
        for (int i = 0; i < count; ++i)
            operators += (i == 0 ? "" : ", ") + one_operator();
        return {"{" + operators + "}", ""};
    }

  private:
    int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
    std::string top() { return std::string(1, static_cast<char>('a' + below(5))); }
    std::string path() {
        switch (below(6)) {
            case 0:
                return top() + ".n";
            case 1:
                return fmt::format("{}.{}", top(), below(4));
            case 2:
                return fmt::format("{}.{}.n", top(), below(3));
            case 3:
                return top() + ".n.m";
            case 4:
                return top() + (below(2) == 0 ? ".$" : "");
            default:
                return top();
        }
    }
    std::string number() {
        constexpr const char* kNumbers[] = {R"({"$numberInt": "1"})", R"({"$numberInt": "7"})",
                                            R"({"$numberLong": "9"})",
                                            R"({"$numberInt": "-2147483648"})", "2.5"};
        return kNumbers[below(5)];
    }
    std::string value(int depth) {
        switch (below(depth > 0 ? 7 : 4)) {
            case 0:
                return "\"text\"";
            case 1:
                return "null";
            case 2:
                return "true";
            case 3:
                return number();
            case 4:
                return fmt::format(R"({{"n": {}, "m": {}}})", value(depth - 1), value(depth - 1));
            default:
                return array(depth - 1);
        }
    }
    std::string array(int depth) {
        std::string out;
        for (int i = below(4); i > 0; --i)
            out += value(depth) + (i > 1 ? ", " : "");
        return "[" + out + "]";
    }
    std::string document_without_id() {
        return fmt::format(R"({{"{}": {}, "z": {}}})", top(), value(2), value(1));
    }
    std::string one_operator() {
        switch (below(16)) {
            case 0:
            case 1:
                return named("$set", value(2));
            case 2:
                return named("$unset", "true");
            case 3:
                return named("$inc", number());
            case 4:
                return named("$mul", number());
            case 5:
                return named(below(2) == 0 ? "$min" : "$max", value(0));
            case 6:
                return named("$bit", R"({"or": {"$numberInt": "12"}})");
            case 7:
                return named("$push", value(1));
            case 8:
                return named("$push", fmt::format(R"({{"$each": {}, "$slice": {}, "$sort": 1}})",
                                                  array(0), below(7) - 3));
            case 9:
                return named("$pushAll", array(1));
            case 10:
                return named("$addToSet", fmt::format(R"({{"$each": {}}})", array(1)));
            case 11:
                return named("$pop", below(2) == 0 ? "1" : "-1");
            case 12:
                return named("$pull", value(0));
            case 13:
                return named("$pullAll", array(0));
            case 14:
                return named("$currentDate", "true");
            default:
                return fmt::format(R"("$rename": {{"{}": "{}"}})", top() + (below(3) ? "" : ".n"),
                                   top() + (below(3) ? "" : ".m"));
        }
    }
    std::string named(const char* name, const std::string& operand) {
        return fmt::format(R"("{}": {{"{}": {}}})", name, path(), operand);
    }

    std::mt19937 random_;
};

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
    // $rename onto a field that stays where it is.
    EXPECT_EQ(
        bson::to_text(form_of(R"({"_id": 1, "a": 2, "x": 1})", R"({"$rename": {"a": "x"}})").doc()),
        whole);
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

// Collations: which texts they take for equal and how they order them, their fields, and the errors
// of bad ones.
#include "collation/collator.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/testing/json.h"

namespace collation {
namespace {

std::shared_ptr<const Collator> make(const std::string& spec) {
    return Collator::make(bson::parse_test_json(spec));
}

int error_of(const std::string& spec) {
    try {
        make(spec);
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

// "<", "=" or ">".
char order(const Collator& collator, const std::string& a, const std::string& b) {
    const bson::Object values = bson::parse_test_json(R"({"a": )" + a + R"(, "b": )" + b + "}");
    const bson::Object ka = collator.key_of(values["a"]);
    const bson::Object kb = collator.key_of(values["b"]);
    const int c = bson::compare_values(ka.doc().first(), kb.doc().first());
    return c < 0 ? '<' : (c > 0 ? '>' : '=');
}
char order(const std::string& spec, const std::string& a, const std::string& b) {
    return order(*make(spec), a, b);
}

TEST(Collator, OrdersTexts) {
    constexpr const char* kEnglish = R"({"locale": "en"})";
    EXPECT_EQ(order(kEnglish, R"("a")", R"("B")"), '<');
    EXPECT_EQ(order(kEnglish, R"("a")", R"("A")"), '<');
    EXPECT_EQ(order(kEnglish, R"("")", R"("a")"), '<');
    EXPECT_EQ(order(kEnglish, R"("e")", R"("é")"), '<');
    EXPECT_EQ(order(kEnglish, R"("é")", R"("f")"), '<');
    EXPECT_EQ(order(R"({"locale": "en", "strength": 2})", R"("a")", R"("A")"), '=');
    EXPECT_EQ(order(R"({"locale": "en", "strength": 2})", R"("a")", R"("á")"), '<');
    EXPECT_EQ(order(R"({"locale": "en", "strength": 1})", R"("a")", R"("Á")"), '=');
    EXPECT_EQ(order(R"({"locale": "en", "strength": 1, "caseLevel": true})", R"("a")", R"("Á")"),
              '<');
    EXPECT_EQ(order(R"({"locale": "en", "caseFirst": "upper"})", R"("a")", R"("A")"), '>');
    EXPECT_EQ(order(kEnglish, R"("a10")", R"("a2")"), '<');
    EXPECT_EQ(order(R"({"locale": "en", "numericOrdering": true})", R"("a10")", R"("a2")"), '>');
    EXPECT_EQ(order(R"({"locale": "en", "alternate": "shifted"})", R"("a b")", R"("ab")"), '=');
    EXPECT_EQ(order(R"({"locale": "en", "alternate": "shifted"})", R"("a,b")", R"("ab")"), '=');
    EXPECT_NE(order(R"({"locale": "en", "alternate": "shifted", "maxVariable": "space"})",
                    R"("a,b")", R"("ab")"),
              '=');
    EXPECT_EQ(order(R"({"locale": "sv"})", R"("z")", R"("ö")"), '<');
    EXPECT_EQ(order(R"({"locale": "de"})", R"("z")", R"("ö")"), '>');
    EXPECT_EQ(order(R"({"locale": "de@collation=phonebook"})", R"("oz")", R"("ö")"), '>');
    EXPECT_EQ(order(R"({"locale": "fr"})", R"("cote")", R"("coté")"), '<');
    EXPECT_EQ(order(R"({"locale": "fr"})", R"("coté")", R"("côte")"), '<');
    EXPECT_EQ(order(R"({"locale": "fr", "backwards": true})", R"("coté")", R"("côte")"), '>');
}

TEST(Collator, KeysAreMadeOfTextsAlone) {
    const auto collator = make(R"({"locale": "en", "strength": 2})");
    EXPECT_EQ(order(*collator, R"({"x": "A"})", R"({"x": "a"})"), '=');
    EXPECT_EQ(order(*collator, R"({"X": "a"})", R"({"x": "a"})"), '<');  // a name is no text
    EXPECT_EQ(order(*collator, R"([1, {"x": ["A"]}])", R"([1, {"x": ["a"]}])"), '=');
    EXPECT_EQ(order(*collator, R"({"$symbol": "A"})", R"("a")"), '=');
    EXPECT_EQ(order(*collator, R"("9")", "10"), '>');
    const std::string other =
        R"({"v": {"n": 1, "o": null, "c": {"$code": "A"}, "r": {"$regularExpression":
            {"pattern": "A", "options": ""}}, "l": [true, {"$minKey": 1}]}})";
    const bson::Object value = bson::parse_test_json(other);
    EXPECT_FALSE(has_text(value["v"]));
    EXPECT_EQ(bson::to_text(collator->key_of(value["v"]).doc().first()), bson::to_text(value["v"]));
    EXPECT_TRUE(has_text(bson::parse_test_json(R"({"v": [1, {"x": ["A"]}]})")["v"]));
    // Longer than what is kept between calls, and with a NUL inside.
    const std::string large(100'000, 'q');
    EXPECT_EQ(order(*collator, '"' + large + "a\"", '"' + large + "B\""), '<');
    EXPECT_EQ(order(*collator, R"("a\u0000b")", R"("A\u0000B")"), '=');
    EXPECT_EQ(order(*collator, R"("a\u0000b")", R"("a\u0000c")"), '<');
}

TEST(Collator, SaysAllOfItsFields) {
    const auto shown = [](const std::string& spec) {
        const bson::Doc whole = make(spec)->spec();
        bson::Builder out;
        for (const bson::Element& e : whole)
            if (e.name() != "version") out.append(e);
        EXPECT_TRUE(whole["version"].is_string());
        return bson::to_text(out.doc());
    };
    EXPECT_EQ(shown(R"({"locale": "en"})"),
              R"({ locale: "en", caseLevel: false, caseFirst: "off", strength: 3, )"
              R"(numericOrdering: false, alternate: "non-ignorable", maxVariable: "punct", )"
              R"(normalization: false, backwards: false })");
    EXPECT_EQ(shown(R"({"locale": "fr_CA", "strength": 4, "caseFirst": "lower",
                        "numericOrdering": true, "alternate": "shifted", "maxVariable": "space",
                        "normalization": true, "caseLevel": true})"),
              R"({ locale: "fr_CA", caseLevel: true, caseFirst: "lower", strength: 4, )"
              R"(numericOrdering: true, alternate: "shifted", maxVariable: "space", )"
              R"(normalization: true, backwards: true })");
    // The specification of a collation makes the same collation again.
    EXPECT_EQ(bson::to_text(Collator::make(make(R"({"locale": "da"})")->spec())->spec()),
              bson::to_text(make(R"({"locale": "da"})")->spec()));
}

TEST(Collator, OneForAllWhoAskForTheSame) {
    EXPECT_EQ(make(R"({"locale": "en", "strength": 1})"),
              make(R"({"locale": "en", "strength": 1})"));
    EXPECT_NE(make(R"({"locale": "en", "strength": 1})"),
              make(R"({"locale": "en", "strength": 2})"));
    for (int i = 0; i < 200; ++i)
        EXPECT_NE(make(R"({"locale": "en", "strength": )" + std::to_string(1 + i % 5) + "}"),
                  nullptr);
}

TEST(Collator, WhatIsWrong) {
    EXPECT_EQ(make(R"({"locale": "simple"})"), nullptr);
    const std::pair<const char*, int> kCases[] = {
        {R"({})", 40414},
        {R"({"strength": 1})", 40414},
        {R"({"locale": 1})", 14},
        {R"({"locale": "simple", "strength": 1})", 9},
        {R"({"locale": ""})", 2},
        {R"({"locale": "xx"})", 2},
        {R"({"locale": "EN"})", 2},
        {R"({"locale": "en-US"})", 2},
        {R"({"locale": "de_XX"})", 2},
        {R"({"locale": "english"})", 2},
        {R"({"locale": "en\u0000x"})", 2},
        {R"({"locale": "de@collation=nosuch"})", 2},
        {R"({"locale": "de@currency=EUR"})", 2},
        {R"({"locale": "en", "nosuch": 1})", 40415},
        {R"({"locale": "en", "strength": "1"})", 14},
        {R"({"locale": "en", "strength": 0})", 51024},
        {R"({"locale": "en", "strength": 6})", 51024},
        {R"({"locale": "en", "strength": {"$numberDouble": "1.5"}})", 51024},
        {R"({"locale": "en", "caseLevel": 1})", 14},
        {R"({"locale": "en", "caseFirst": "Upper"})", 2},
        {R"({"locale": "en", "caseFirst": true})", 14},
        {R"({"locale": "en", "caseFirst": "upper", "strength": 2})", 2},
        {R"({"locale": "en", "numericOrdering": "true"})", 14},
        {R"({"locale": "en", "alternate": "x"})", 2},
        {R"({"locale": "en", "maxVariable": "x"})", 2},
        {R"({"locale": "en", "normalization": 1})", 14},
        {R"({"locale": "en", "backwards": 1})", 14},
        {R"({"locale": "en", "backwards": true, "strength": 1})", 2},
        {R"({"locale": "en", "version": "1.0"})", 161},
        {R"({"locale": "en", "version": 1})", 14},
        {R"({"locale": "en_US"})", 0},
        {R"({"locale": "zh_Hant"})", 0},
    };
    for (const auto& [spec, code] : kCases)
        EXPECT_EQ(error_of(spec), code) << spec;
}

}  // namespace
}  // namespace collation

// Matching and parsing by hand-made examples; tests/oracle/ has the recorded answers.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/error.h"
#include "bson/testing/json.h"
#include "query/match/match_tree.h"
#include "query/match/regex_flags.h"
#include "sched/memory.h"
#include "sched/operation.h"

namespace query {
namespace {

bool matches(const std::string& filter, const std::string& doc) {
    return Matcher::parse(bson::parse_test_json(filter))->matches(bson::parse_test_json(doc));
}

// Matches as for clients of today.
bool matches_today(const std::string& filter, const std::string& doc) {
    return Matcher::parse(bson::parse_test_json(filter), &kNoExpressionsHere)
        ->matches(bson::parse_test_json(doc));
}

std::string error_of(const char* filter) {
    try {
        Matcher::parse(bson::parse_test_json(filter));
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), base::kBadValue);
        return e.what();
    }
    return "";
}

// The index left for `$`, -1 if none, -2 if the document does not match.
int positional(const char* filter, const char* doc) {
    MatchDetails details;
    details.want_index = true;
    if (!Matcher::parse(bson::parse_test_json(filter))
             ->matches(bson::parse_test_json(doc), &details))
        return -2;
    return details.has_index ? static_cast<int>(details.array_index) : -1;
}

TEST(Match, EmptyFilterMatchesEverything) {
    EXPECT_TRUE(matches("{}", "{}"));
    EXPECT_TRUE(matches("{}", R"({"a": 1})"));
}

TEST(Match, NullAndMissing) {
    EXPECT_TRUE(matches(R"({"a": null})", "{}"));
    EXPECT_TRUE(matches(R"({"a": null})", R"({"a": {"$undefined": true}})"));
    EXPECT_TRUE(matches(R"({"a.b": null})", R"({"a": 5})"));
    EXPECT_TRUE(matches(R"({"a.b": null})", R"({"a": [{}]})"));
    EXPECT_FALSE(matches(R"({"a.b": null})", R"({"a": []})"));
    EXPECT_FALSE(matches(R"({"a.b": null})", R"({"a": [5]})"));
    EXPECT_FALSE(matches(R"({"a": {"$in": [null]}})", R"({"a": {"$undefined": true}})"));
}

TEST(Match, PathsThroughArrays) {
    EXPECT_TRUE(matches(R"({"a.b": 1})", R"({"a": [5, {"b": [2, 1]}]})"));
    EXPECT_FALSE(matches(R"({"a.b": 1})", R"({"a": [[{"b": 1}]]})"));
    EXPECT_TRUE(matches(R"({"a.0.b": 1})", R"({"a": [{"b": 1}]})"));
    EXPECT_TRUE(matches(R"({"a.0": 1})", R"({"a": [{"0": 1}]})"));
    // An element named by index is not looked into.
    EXPECT_FALSE(matches(R"({"a.0": 1})", R"({"a": [[1]]})"));
    EXPECT_TRUE(matches(R"({"a.0": [1]})", R"({"a": [[1]]})"));
    EXPECT_TRUE(matches(R"({"a.": 1})", R"({"a": [1]})"));
}

TEST(Match, EndsOfTheOrderCompareWithEverything) {
    EXPECT_TRUE(matches(R"({"a": {"$gt": {"$minKey": 1}}})", R"({"a": "x"})"));
    EXPECT_TRUE(matches(R"({"a": {"$lt": {"$maxKey": 1}}})", "{}"));
    EXPECT_FALSE(matches(R"({"a": {"$gt": 1}})", R"({"a": "x"})"));
}

TEST(Match, NaNIsBelowNoOtherNumberToClientsOfToday) {
    for (const char* type : {"$numberDouble", "$numberDecimal"}) {
        const std::string nan = fmt::format(R"({{"{}": "NaN"}})", type);
        const auto is = [&nan](const char* op, const char* operand, const char* value, bool today) {
            const auto part = [&nan](const char* text) {
                return std::string(text) == "NaN" ? nan : std::string(text);
            };
            const std::string filter = fmt::format(R"({{"a": {{"{}": {}}}}})", op, part(operand));
            const std::string doc = fmt::format(R"({{"a": {}}})", part(value));
            return today ? matches_today(filter, doc) : matches(filter, doc);
        };
        for (const char* op : {"$lt", "$lte", "$gt", "$gte"}) {
            const bool or_equal = std::string(op).size() == 4;
            const bool below = op[1] == 'l';
            EXPECT_EQ(is(op, "NaN", "NaN", true), or_equal) << op;
            EXPECT_EQ(is(op, "NaN", "NaN", false), or_equal) << op;
            EXPECT_FALSE(is(op, "NaN", "1", true)) << op;
            EXPECT_FALSE(is(op, "1", "NaN", true)) << op;
            EXPECT_EQ(is(op, "NaN", "1", false), !below) << op;
            EXPECT_EQ(is(op, "1", "NaN", false), below) << op;
            EXPECT_TRUE(is(op, "1", below ? "[9, 0]" : "[0, 9]", true)) << op;
            EXPECT_FALSE(is(op, R"("x")", "NaN", true) || is(op, "NaN", R"("x")", true)) << op;
        }
    }
    EXPECT_TRUE(
        matches_today(R"({"a": {"$not": {"$lt": 5}}})", R"({"a": {"$numberDouble": "NaN"}})"));
    EXPECT_TRUE(
        matches_today(R"({"a": {"$lt": {"$maxKey": 1}}})", R"({"a": {"$numberDouble": "NaN"}})"));
    EXPECT_FALSE(matches_today(R"({"a": {"$elemMatch": {"$lt": 5}}})",
                               R"({"a": [{"$numberDouble": "NaN"}]})"));
}

TEST(Match, ConstantsAreOfToday) {
    EXPECT_TRUE(matches_today(R"({"$alwaysTrue": 1})", "{}"));
    EXPECT_FALSE(matches_today(R"({"$alwaysFalse": 1})", "{}"));
    EXPECT_TRUE(matches_today(
        R"({"$or": [{"$alwaysFalse": 1}, {"$nor": [{"$alwaysFalse": 1.0}]}]})", "{}"));
    EXPECT_FALSE(matches_today(R"({"a": {"$elemMatch": {"$alwaysFalse": 1}}})", R"({"a": [{}]})"));
    for (const char* value : {"0", "true", "\"x\"", "2"}) {
        for (const char* name : {"$alwaysTrue", "$alwaysFalse"}) {
            const std::string filter = fmt::format(R"({{"{}": {}}})", name, value);
            try {
                matches_today(filter, "{}");
                ADD_FAILURE() << filter;
            } catch (const base::Error& e) {
                EXPECT_EQ(e.code(), base::kFailedToParse) << filter;
            }
        }
    }
    EXPECT_EQ(error_of(R"({"$alwaysTrue": 1})"), "unknown top level operator: $alwaysTrue");
    // Today's servers have no writes that wait for nothing.
    EXPECT_TRUE(matches(R"({"$isolated": 1, "$atomic": 1})", "{}"));
    EXPECT_THROW(matches_today(R"({"$isolated": 1})", "{}"), base::Error);
    EXPECT_THROW(matches_today(R"({"$atomic": 1})", "{}"), base::Error);
}

TEST(Match, SizesThatNoArrayHas) {
    for (const char* size :
         {R"({"$numberLong": "-9223372036854775808"})", R"({"$numberLong": "-4294967296"})",
          R"({"$numberLong": "-1"})", R"({"$numberInt": "-1"})", R"({"$numberDouble": "NaN"})",
          R"({"$numberDouble": "-Infinity"})", R"({"$numberDouble": "Infinity"})",
          R"({"$numberDouble": "-4294967296.0"})", R"({"$numberDouble": "0.5"})",
          R"({"$numberLong": "9223372036854775807"})", R"({"$numberDouble": "4294967296.0"})"}) {
        const std::string filter = std::string(R"({"a": {"$size": )") + size + "}}";
        for (const char* doc : {R"({"a": []})", R"({"a": [1]})", R"({"a": 1})", "{}"})
            EXPECT_FALSE(matches(filter.c_str(), doc)) << filter << doc;
    }
}

// The matcher looks for many values in another way than for few.
TEST(Match, AllOfManyValues) {
    std::string wanted = "1.0, \"x\", {\"b\": 1}, [7], null";
    std::string elements = "\"x\", {\"b\": 1}, [7], null, 1";
    for (int i = 2; i < 100; ++i) {
        wanted += fmt::format(", {}", i);
        elements = fmt::format("{}, {}", i, elements);
    }
    for (const char* path : {"a", "a.c"}) {
        const auto filter = [&](const std::string& more) {
            return fmt::format(R"({{"{}": {{"$all": [{}{}]}}}})", path, wanted, more);
        };
        const std::string array = std::string(path) == "a"
                                      ? fmt::format(R"({{"a": [{}]}})", elements)
                                      : fmt::format(R"({{"a": {{"c": [{}]}}}})", elements);
        EXPECT_TRUE(matches(filter(""), array));
        EXPECT_TRUE(matches(filter(R"(, {"$regularExpression": {"pattern": "^x", "options": ""}})"),
                            array));
        EXPECT_FALSE(matches(filter(", 1000"), array));
        EXPECT_FALSE(matches(filter(R"(, "1")"), array));
        EXPECT_FALSE(matches(filter(""), R"({"a": 1})"));
        EXPECT_FALSE(matches(filter(""), "{}"));
    }
}

TEST(Match, ModOfTheSmallestIntegerByMinusOne) {
    EXPECT_TRUE(matches(R"({"a": {"$mod": [-1, 0]}})",
                        R"({"a": {"$numberLong": "-9223372036854775808"}})"));
}

TEST(Match, AllWithElemMatchWantsOneArray) {
    const char* filter =
        R"({"a.b": {"$all": [{"$elemMatch": {"$gt": 4}}, {"$elemMatch": {"$lt": 2}}]}})";
    EXPECT_TRUE(matches(filter, R"({"a": [{"b": [5, 1]}]})"));
    EXPECT_FALSE(matches(filter, R"({"a": [{"b": [5]}, {"b": [1]}]})"));
}

TEST(Match, PositionalIndex) {
    EXPECT_EQ(positional(R"({"a": 3})", R"({"a": [1, 3]})"), 1);
    EXPECT_EQ(positional(R"({"a.b": 3})", R"({"a": [{"b": 1}, {"b": [0, 0, 3]}]})"), 1);
    EXPECT_EQ(positional(R"({"a": {"$elemMatch": {"$gt": 1}}})", R"({"a": [1, 3]})"), 1);
    EXPECT_EQ(positional(R"({"a": [1, 3]})", R"({"a": [1, 3]})"), -1);
    EXPECT_EQ(positional(R"({"a.1": 3})", R"({"a": [1, 3]})"), 1);
    EXPECT_EQ(positional(R"({"a": {"$exists": true}})", R"({"a": [1, 3]})"), 0);
    EXPECT_EQ(positional(R"({"$or": [{"a": 3}, {"b": 1}]})", R"({"a": [1, 3]})"), -1);
    EXPECT_EQ(positional(R"({"$or": [{"a": 3}]})", R"({"a": [1, 3]})"), 1);
    EXPECT_EQ(positional(R"({"$nor": [{"a": 4}]})", R"({"a": [1, 3]})"), -1);
}

// A path that names an element by its index walks no array there; the arrays behind it count.
TEST(Match, PositionalIndexBehindAnIndexInThePath) {
    const char* doc = R"({"e": [{"k": [5, 1]}, {"k": 2}], "n": [[4, 1]], "o": {"e": [{"k": [1]}]},
                          "d": [{"e": [{"k": [5, 1]}]}, {"e": [{"k": [1]}, {"k": 7}]}]})";
    EXPECT_EQ(positional(R"({"e.0.k": 1})", doc), 1);
    EXPECT_EQ(positional(R"({"e.0.k": {"$gt": 4}})", doc), 0);
    EXPECT_EQ(positional(R"({"e.0.k": {"$in": [1, 9]}})", doc), 1);
    EXPECT_EQ(positional(R"({"e.0.k.1": 1})", doc), 1);
    EXPECT_EQ(positional(R"({"e.1.k": 2})", doc), -1);
    EXPECT_EQ(positional(R"({"o.e.0.k": 1})", doc), 0);
    EXPECT_EQ(positional(R"({"n.0.1": 1})", doc), 1);
    EXPECT_EQ(positional(R"({"n.0": [4, 1]})", doc), 0);
    EXPECT_EQ(positional(R"({"e.k": 2})", doc), 1);
    // The one in front of it stays.
    EXPECT_EQ(positional(R"({"d.e.0.k": 1})", doc), 0);
    EXPECT_EQ(positional(R"({"d.e.1.k": 7})", doc), 1);
    EXPECT_EQ(positional(R"({"e.k": 2, "n.0.1": 1})", doc), 1);
}

TEST(Match, DetailsAreForgottenBetweenDocuments) {
    const auto matcher = Matcher::parse(bson::parse_test_json(R"({"a": 1})"));
    MatchDetails details;
    details.want_index = true;
    EXPECT_TRUE(matcher->matches(bson::parse_test_json(R"({"a": [0, 1]})"), &details));
    EXPECT_TRUE(details.has_index);
    EXPECT_TRUE(matcher->matches(bson::parse_test_json(R"({"a": 1})"), &details));
    EXPECT_FALSE(details.has_index);
}

TEST(Match, TypesByNameAndByList) {
    EXPECT_TRUE(matches(R"({"a": {"$type": "string"}})", R"({"a": "x"})"));
    EXPECT_TRUE(matches(R"({"a": {"$type": "string"}})", R"({"a": [1, "x"]})"));
    EXPECT_FALSE(matches(R"({"a": {"$type": "string"}})", R"({"a": 1})"));
    EXPECT_FALSE(matches(R"({"a": {"$type": "string"}})", "{}"));
    EXPECT_TRUE(matches(R"({"a": {"$type": ["string", 16]}})", R"({"a": 1})"));
    EXPECT_TRUE(matches(R"({"a": {"$not": {"$type": ["string", 1]}}})", R"({"a": 1})"));
    EXPECT_TRUE(matches(R"({"a": {"$type": "minKey"}})", R"({"a": {"$minKey": 1}})"));
    EXPECT_TRUE(matches(R"({"a": {"$type": [-1]}})", R"({"a": {"$minKey": 1}})"));
    for (const char* value : {"1", R"({"$numberLong": "1"})", R"({"$numberDouble": "1.5"})",
                              R"({"$numberDecimal": "1.5"})"})
        EXPECT_TRUE(matches(R"({"a": {"$type": "number"}})",
                            (std::string(R"({"a": )") + value + "}").c_str()))
            << value;
    // A $type by name tests the whole array, one by number each of its elements.
    EXPECT_TRUE(matches(R"({"a": {"$type": "array"}})", R"({"a": []})"));
    EXPECT_TRUE(matches(R"({"a": {"$type": ["array"]}})", R"({"a": [1]})"));
    EXPECT_FALSE(matches(R"({"a": {"$type": 4}})", R"({"a": [1]})"));
    EXPECT_TRUE(matches(R"({"a": {"$type": 4}})", R"({"a": [[1]]})"));
    EXPECT_TRUE(matches(R"({"a": {"$elemMatch": {"$type": "string"}}})", R"({"a": [1, "x"]})"));
    EXPECT_EQ(error_of(R"({"a": {"$type": "String"}})"), "Unknown type name alias: String");
    EXPECT_EQ(error_of(R"({"a": {"$type": [20]}})"), "Invalid numerical type code: 20");
    EXPECT_EQ(error_of(R"({"a": {"$type": [{"$numberDouble": "1.5"}]}})"),
              "Invalid numerical type code: 1.5");
    EXPECT_NE(error_of(R"({"a": {"$type": true}})"), "");
}

TEST(Match, UnknownOperatorsAreNamed) {
    EXPECT_EQ(error_of(R"({"a": {"$foo": 1}})"), "unknown operator: $foo");
    EXPECT_EQ(error_of(R"({"$foo": 1})"), "unknown top level operator: $foo");
    EXPECT_EQ(error_of(R"({"$expr": {"$eq": [1, 1]}})"), "unknown top level operator: $expr");
    EXPECT_EQ(error_of(R"({"a": {"$gt": 1, "x": 1}})"), "unknown operator: x");
    EXPECT_EQ(error_of(R"({"a": {"x": 1, "$gt": 1}})"), "");
    EXPECT_NE(error_of(R"({"$where": "1"})").find("$where"), std::string::npos);
    EXPECT_NE(error_of(R"({"$text": {"$search": "x"}})").find("$text"), std::string::npos);
    EXPECT_EQ(error_of(R"({"a": {"$near": [0, 0]}})"), "");
    EXPECT_NE(error_of(R"({"a": {"$not": {"$near": [0, 0]}}})").find("$near"), std::string::npos);
}

std::string nested(int depth, const char* before, const char* innermost, const char* behind) {
    std::string filter;
    for (int i = 0; i < depth; ++i)
        filter += before;
    filter += innermost;
    for (int i = 0; i < depth; ++i)
        filter += behind;
    return filter;
}

TEST(Match, DepthIsLimited) {
    const auto any = [](int depth) { return nested(depth, R"({"$or": [)", R"({"a": 1})", "]}"); };
    EXPECT_EQ(error_of(any(100).c_str()), "");
    EXPECT_NE(error_of(any(101).c_str()), "");
    const auto negation = [](int depth) {
        return R"({"a": )" + nested(depth, R"({"$not": )", R"({"$gt": 5})", "}") + "}";
    };
    EXPECT_TRUE(matches(negation(100).c_str(), R"({"a": 9})"));
    EXPECT_FALSE(matches(negation(99).c_str(), R"({"a": 9})"));
    EXPECT_NE(error_of(negation(101).c_str()), "");
}

TEST(Match, ListsOfClausesNeedOne) {
    for (const char* filter : {R"({"$and": []})", R"({"$or": []})", R"({"$nor": []})"})
        EXPECT_EQ(error_of(filter), "$and/$or/$nor must be a nonempty array");
    EXPECT_EQ(error_of(R"({"$or": 1})"), "$or needs an array");
    EXPECT_EQ(error_of(R"({"$or": [1]})"), "$or/$and/$nor entries need to be full objects");
}

TEST(Regex, Prefixes) {
    struct Case {
        const char* pattern;
        const char* flags;
        const char* prefix;
        bool exact;
    };
    for (const Case& c : {
             Case{"^abc", "", "abc", true},
             Case{"^abc", "s", "", false},
             Case{"^abc", "i", "", false},
             Case{"^abc", "m", "", false},
             Case{"\\Aabc", "m", "abc", true},
             Case{"^ab*", "", "a", false},
             Case{"^a.c", "", "a", false},
             Case{"^a\\.c", "", "a.c", true},
             Case{"^a\\d", "", "a", false},
             Case{"^\\Qa|b\\E", "", "a|b", true},
             Case{"^ab|c", "", "", false},
             Case{"abc", "", "", false},
             Case{"^é?", "", "", false},
         }) {
        bool exact = false;
        EXPECT_EQ(Regex(c.pattern, c.flags).prefix(&exact), c.prefix) << c.pattern;
        EXPECT_EQ(exact, c.exact) << c.pattern;
    }
}

// A search examines index entries that start with the prefix, and at no others.
TEST(Regex, WhatMatchesStartsWithThePrefix) {
    using namespace std::string_literals;
    struct Case {
        std::string pattern;
        const char* flags;
        std::string text;
    };
    for (const Case& c : {
             Case{"^ab\0c"s, "", "ab"},
             Case{"^ab(?#c)*"s, "", "a"},
             Case{"^ab\\E*"s, "", "a"},
             Case{"^ab\\Q\\E*"s, "", "a"},
             Case{"^\\Qab\\E*"s, "", "a"},
             Case{"^ab #c\n*"s, "x", "a"},
             Case{"^ab *"s, "x", "a"},
             Case{"^ab\u2028*"s, "x", "a"},
             Case{"^a\u2028b"s, "x", "ab"},
         }) {
        const Regex regex(c.pattern, c.flags);
        bool exact = false;
        EXPECT_TRUE(regex.search(c.text)) << c.pattern;
        EXPECT_TRUE(c.text.starts_with(regex.prefix(&exact))) << c.pattern;
        EXPECT_FALSE(exact && regex.prefix(&exact) != c.text) << c.pattern;
    }
}

TEST(Regex, LongTextsWithMuchBacktracking) {
    const Regex regex("^(a|b)*c$", "");
    EXPECT_TRUE(regex.search(std::string(20000, 'a') + 'c'));
    EXPECT_FALSE(regex.search(std::string(20000, 'a')));
}

TEST(Regex, WhatTheOldLibraryTookIsTaken) {
    struct Case {
        const char* pattern;
        const char* matching;
        const char* other;
    };
    for (const Case& c : {
             Case{R"(^[\w-.]+@[\w-.]+$)", "a-b.c@d-e.f", "a+b@c"},
             Case{R"(^[\w-.]$)", "-", "+"},
             Case{R"(^[a-\d]$)", "-", "b"},
             Case{R"(^[a-\d]$)", "7", "b"},
             Case{R"(^[[:alpha:]-z]$)", "-", "1"},
             Case{R"(^[\d-z]$)", "z", "a"},
             Case{R"(^[\w-\s]$)", "-", "+"},
             Case{R"(^[^\W-_]$)", "a", "-"},
             Case{R"(^[\p{L}-.]$)", "-", "1"},
             Case{R"(^[]\w-.]$)", "]", "["},
             Case{R"(^\[[\w-.]\]$)", "[-]", "-"},
             Case{R"(^\Q[a\E[\w-.]$)", "[a-", "-"},
             Case{R"((?#[)^[\w-.]$)", "-", "+"},
             Case{"(?x) ^ [\\w-.] $ # a [ in a comment", "-", "+"},
             Case{R"(^\y\i\_$)", "yi_", "y"},
             Case{R"(^[\B\R\X\z\y]$)", "R", "a"},
             Case{R"(^a\x{}?$)", "a", "ax{}"},
             Case{R"(^\9$)", "9", "8"},
             Case{R"((?s-m-i)A.$)", "A\n", "a\n"},
             Case{R"(a(?=b\K))", "ab", "ac"},
             Case{R"(^[a-z-9]$)", "-", "8"},
             Case{R"(^[+--]$)", "-", "a"},
         }) {
        const Regex regex(c.pattern, "");
        EXPECT_TRUE(regex.search(c.matching)) << c.pattern;
        EXPECT_FALSE(regex.search(c.other)) << c.pattern;
    }
    EXPECT_TRUE(Regex(std::string(500, '(') + "a" + std::string(500, ')'), "").search("a"));
    EXPECT_TRUE(Regex(std::string("^a$\0(", 5), "").search("a"));
}

TEST(Regex, TextsThatAreNotUtf8MatchNothing) {
    EXPECT_FALSE(Regex(".", "").search("\xff"));
    EXPECT_TRUE(Regex("b", "I").search("abc"));
}

// An index gives texts by their bytes: what it decides alone, a search decides by bytes too.
TEST(Regex, APrefixIsFoundInAnyText) {
    const std::string odd = "ab\xff\xfe";
    EXPECT_TRUE(Regex("^ab", "").search(odd));
    EXPECT_TRUE(Regex("\\Aab", "m").search(odd));
    EXPECT_FALSE(Regex("^abc", "").search(odd));
    EXPECT_FALSE(Regex("^ab", "").search("\xff" + odd));
    // More than a prefix needs text.
    EXPECT_FALSE(Regex("^ab.", "").search(odd));
    EXPECT_FALSE(Regex("^ab", "i").search(odd));
    EXPECT_TRUE(Regex("^a b", "x").search("abc"));
    EXPECT_FALSE(Regex("^ab", "").search(std::string_view("a\0b", 3)));
}

// Each place of the text, and each step from there, may go over all of it.
TEST(Regex, ASearchWithoutEndCanBeEnded) {
    std::string many = "(?:";
    while (many.size() < 16'000)
        many += "needle|";
    const std::string text(4 << 20, 'a');
    for (const std::string& pattern :
         {std::string("a*[bc]"), std::string("^(?:a*+[bc]|.)*$"), std::string("(?:x|a)*[bc]"),
          std::string("(?:.*x)?.*[bc]"), many + "a*[bc])", std::string(20000, 'a') + "[bc]",
          std::string("(a|aa)+$"), std::string("a*?[bc]")}) {
        const Regex regex(pattern, "");
        sched::Operation operation;
        operation.start();
        operation.set_deadline_ms(20);
        const sched::Operation::Scope scope(&operation);
        // The library's own limits may end the search before; that is an error, too.
        EXPECT_THROW(regex.search(text), base::Error) << pattern.substr(0, 40);
        operation.finish();
    }
}

TEST(Regex, LargePatternsAndTextsStillMatch) {
    std::string many = "(?:";
    while (many.size() < 16'000)
        many += "needle|";
    const Regex large(many + "pin)x", "");
    std::string text;
    while (text.size() < 20000)
        text += "h\u00e4y ";
    EXPECT_FALSE(large.search(text));
    EXPECT_TRUE(large.search(text + "pinx"));
    EXPECT_TRUE(large.search(text + "needlex" + text));
    EXPECT_FALSE(large.search(text + "\xff"));
    EXPECT_TRUE(Regex("y (?:x|h)+[^h]y", "").search(text));
    EXPECT_FALSE(Regex("y (?:x|h)+[^h]z", "").search(text));
    EXPECT_TRUE(Regex("(?<=h.y )h", "").search(text)) << "what is looked back at is there";
    EXPECT_TRUE(Regex("(?:x|h)$", "").search(text + "h"));
}

// Machine code is mapped past all that counts memory.
TEST(Regex, MachineCodeIsCounted) {
    sched::Operation operation;
    operation.start();
    sched::memory::set_limits(4 << 20, sched::memory::kAllBytes);
    std::vector<std::unique_ptr<Regex>> kept;
    {
        const sched::Operation::Scope scope(&operation);
        EXPECT_THROW(for (int i = 0; i < 100'000; ++i) kept.push_back(
                         std::make_unique<Regex>("(a|b)*c{2,20}" + std::to_string(i), "")),
                     std::bad_alloc);
        kept.clear();
    }
    EXPECT_LT(operation.memory_held(), 1 << 20);
    sched::memory::set_limits(sched::memory::kOperationBytes, sched::memory::kAllBytes);
    operation.finish();
}

TEST(Regex, InvalidPatternsAreErrorsEverywhere) {
    EXPECT_THROW(Regex(std::string(Regex::kPatternBytesMax + 1, 'a'), ""), base::Error);
    for (const char* pattern : {"(", "[a", "a**", "[z-a]", "(?<=a+)b", "\\", "\xff", "(?P>n)"})
        EXPECT_THROW(Regex(pattern, ""), base::Error) << pattern;
    const std::string re = R"({"$regularExpression": {"pattern": "(", "options": ""}})";
    for (const std::string& filter :
         {R"({"a": )" + re + "}", R"({"a": {"$not": )" + re + "}}",
          R"({"a": {"$in": [)" + re + "]}}", R"({"a": {"$nin": [1, )" + re + "]}}",
          R"({"a": {"$all": [)" + re + "]}}", R"({"a": {"$elemMatch": {"$in": [)" + re + "]}}}",
          R"({"a": {"$elemMatch": {"b": )" + re + "}}}", R"({"$nor": [{"a": )" + re + "}]}",
          std::string(R"({"a": {"$regex": "("}})"),
          std::string(R"({"a": {"$options": "i", "$regex": "("}})")})
        EXPECT_NE(error_of(filter.c_str()).find("missing closing parenthesis"), std::string::npos)
            << filter;
}

// The library goes over each of these characters, in a call that nothing ends.
TEST(Regex, LargeRangesWithoutCaseAreLimited) {
    const auto repeated = [](std::string_view part, int times) {
        std::string text;
        for (int i = 0; i < times; ++i)
            text += part;
        return text;
    };
    const auto error_of_regex = [](const std::string& pattern, std::string_view flags) {
        try {
            const Regex regex(pattern, flags);
        } catch (const base::Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    for (const char* range :
         {"[a-\U0010ffff]", "[^a-\U0010ffff]", "[a-\\x{10ffff}]", "[a-\\x{ 10ffff}]",
          "[a-\\N{U+10ffff}]", "[a-\\o{4177777}]", "[a-\\Q\U0010ffff\\E]", "[a-\\E \U0010ffff]",
          "[\\\\x{10fffe}-\U0010ffff]", "[\\Q\\x{10fffe}-\U0010ffff\\E]",
          "[\\Q\U0010fffe\\E-\U0010ffff]", "[\\x{10fffe} -\U0010ffff]"}) {
        const std::string many = repeated(range, 40);
        constexpr std::string_view kRefused = "too many large ranges";
        EXPECT_NE(error_of_regex(many, "i").find(kRefused), std::string::npos) << range;
        EXPECT_NE(error_of_regex("(?si:" + many + ")", "").find(kRefused), std::string::npos)
            << range;
    }
    for (const char* range : {"[\U0001f600-\U0001f64f]", "[\\x{1f600}-\\x{1f64f}]"})
        EXPECT_TRUE(Regex(repeated(range, 500), "i").search(repeated("\U0001f601", 500)));
    EXPECT_TRUE(Regex(repeated("[a-\U0010ffff]", 500), "s").search(repeated("\u00e4", 500)));
    EXPECT_TRUE(Regex(repeated("[\u0410-\u044f-]", 500), "i").search(repeated("\u0416", 500)));
    EXPECT_TRUE(Regex(repeated("[\\x{410}-\\x{44f}]", 500), "i").search(repeated("\u0416", 500)));
    EXPECT_TRUE(Regex(repeated("x-y|", 500) + "[\U0001f600-\U0001f64f]", "i").search("\U0001f601"));

    sched::Operation operation;
    operation.start();
    operation.kill(operation.id());
    const sched::Operation::Scope scope(&operation);
    EXPECT_THROW(Regex(repeated("[a-\U0010ffff]", 20), "i"), base::Error);
}

// A search that was given up says nothing about the text.
TEST(Regex, SearchesWithoutEndAreErrors) {
    const Regex regex("^(a+|a+b?)*c$", "");
    EXPECT_TRUE(regex.search("aac"));
    EXPECT_THROW(regex.search(std::string(60, 'a') + "dc"), base::Error);
}

// Elements that are no documents, many times over: none of them is looked into.
TEST(Match, ArraysInArraysAreInterrupted) {
    bson::Builder many;
    for (int i = 0; i < 100'000; ++i)
        many.push(i);
    bson::Builder array;
    array.append_array("0", many.doc());
    bson::Builder doc;
    doc.append_array("a", array.doc());
    const auto matcher =
        Matcher::parse(bson::parse_test_json(R"({"a": {"$elemMatch": {"$elemMatch": {"x": 1}}}})"));
    sched::Operation operation;
    operation.start();
    const sched::Operation::Scope scope(&operation);
    EXPECT_FALSE(matcher->matches(doc.doc()));
    operation.kill(operation.id());
    EXPECT_THROW(matcher->matches(doc.doc()), base::Error);
}

// A missing field is looked for among the values by its place in their order.
TEST(Match, MissingFieldsAreNullInLists) {
    EXPECT_TRUE(matches(R"({"x": {"$in": [5, null, "a"]}})", R"({"y": 1})"));
    EXPECT_FALSE(matches(R"({"x": {"$in": [5, "a"]}})", R"({"y": 1})"));
    EXPECT_FALSE(matches(R"({"x": {"$nin": [5, null]}})", R"({"y": 1})"));
}

TEST(Match, FlagsThatARegularExpressionDoesNotHave) {
    const auto odd = [](const std::string& filter) {
        const auto matcher = Matcher::parse(bson::parse_test_json(filter));
        try {
            refuse_odd_flags(*matcher);
        } catch (const base::Error& e) {
            return e.code();
        }
        return 0;
    };
    for (const char* condition :
         {R"({"$regex": "x", "$options": "g"})", R"({"$regex": "x", "$options": "ig"})",
          R"({"$regularExpression": {"pattern": "x", "options": "g"}})",
          R"({"$in": [1, {"$regularExpression": {"pattern": "x", "options": "g"}}]})",
          R"({"$not": {"$regularExpression": {"pattern": "x", "options": "g"}}})",
          R"({"$elemMatch": {"b": {"$regex": "x", "$options": "g"}}})",
          R"({"$elemMatch": {"$regex": "x", "$options": "g"}})"}) {
        const std::string filter = std::string(R"({"a": )") + condition + "}";
        EXPECT_EQ(odd(filter), 51108) << filter;
        EXPECT_EQ(odd(R"({"$or": [{"b": 1}, {"$and": [)" + filter + "]}]}"), 51108) << filter;
    }
    EXPECT_EQ(odd(R"({"a": {"$regex": "x", "$options": "imsxu"}, "b": {"$regex": "y"}})"), 0);
    // In a value that is compared as a whole it is no regular expression to be looked for.
    EXPECT_EQ(odd(R"({"a": {"b": {"$regularExpression": {"pattern": "x", "options": "g"}}}})"), 0);
}

TEST(Match, DatesAndTimestampsAreTwoClassesToday) {
    const char* stamp = R"({"a": {"$timestamp": {"t": 0, "i": 5}}})";
    const char* date = R"({"a": {"$date": {"$numberLong": "5"}}})";
    const char* earlier = R"({"a": {"$gt": {"$date": {"$numberLong": "3"}}}})";
    EXPECT_TRUE(matches(earlier, stamp));
    EXPECT_FALSE(matches_today(earlier, stamp));
    EXPECT_TRUE(matches_today(earlier, date));
    for (const char* equal : {R"({"a": {"$date": {"$numberLong": "5"}}})",
                              R"({"a": {"$in": [{"$date": {"$numberLong": "5"}}, 7]}})",
                              R"({"a": {"$all": [{"$date": {"$numberLong": "5"}}]}})"}) {
        EXPECT_TRUE(matches(equal, stamp)) << equal;
        EXPECT_FALSE(matches_today(equal, stamp)) << equal;
        EXPECT_TRUE(matches_today(equal, date)) << equal;
    }
    EXPECT_TRUE(matches_today(R"({"a": {"$ne": {"$date": {"$numberLong": "5"}}}})", stamp));
    const char* inside = R"({"a": {"t": {"$timestamp": {"t": 0, "i": 2}}}})";
    EXPECT_FALSE(matches(R"({"a": {"$gt": {"t": {"$date": {"$numberLong": "5"}}}}})", inside));
    EXPECT_TRUE(matches_today(R"({"a": {"$gt": {"t": {"$date": {"$numberLong": "5"}}}}})", inside));
}

TEST(Match, ModTakesWhatIsAnIntegerToday) {
    for (const char* value : {R"({"$numberDouble": "NaN"})", R"({"$numberDouble": "Infinity"})",
                              R"({"$numberDouble": "1e20"})"}) {
        const std::string doc = fmt::format(R"({{"a": {}}})", value);
        EXPECT_TRUE(matches(R"({"a": {"$mod": [4, 0]}})", doc)) << value;
        EXPECT_FALSE(matches_today(R"({"a": {"$mod": [4, 0]}})", doc)) << value;
        EXPECT_FALSE(matches_today(R"({"a": {"$mod": [-1, 0]}})", doc)) << value;
    }
    EXPECT_TRUE(matches_today(R"({"a": {"$mod": [{"$numberLong": "9223372036854775807"}, 8]}})",
                              R"({"a": 8})"));
    EXPECT_TRUE(matches_today(R"({"a": {"$mod": [4, 0]}})", R"({"a": 8.5})"));
}

}  // namespace
}  // namespace query

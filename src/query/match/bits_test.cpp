#include "query/match/bits.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "bson/testing/json.h"
#include "query/match/implication.h"
#include "query/match/match_tree.h"

namespace query {
namespace {

std::unique_ptr<Matcher> parse(const std::string& filter) {
    return Matcher::parse(bson::parse_test_json(filter), &kNoExpressionsHere);
}

// One letter for each of the four: AllSet, AllClear, anySet, anyClear.
std::string answers(const std::string& mask, const std::string& value) {
    std::string out;
    for (const auto& [name, letter] : {std::pair("AllSet", 'S'), std::pair("AllClear", 'C'),
                                       std::pair("AnySet", 's'), std::pair("AnyClear", 'c')}) {
        const auto matcher = parse(fmt::format(R"({{"a": {{"$bits{}": {}}}}})", name, mask));
        if (matcher->matches(bson::parse_test_json(fmt::format(R"({{"a": {}}})", value))))
            out += letter;
    }
    return out;
}

int error_of(const std::string& operand) {
    try {
        parse(fmt::format(R"({{"a": {{"$bitsAllSet": {}}}}})", operand));
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

constexpr const char* kBinary = R"({"$binary": {"base64": "BgE=", "subType": "00"}})";  // 6, 1

TEST(Bits, OfNumbers) {
    EXPECT_EQ(answers("6", "6"), "Ss");
    EXPECT_EQ(answers("6", "2"), "sc");
    EXPECT_EQ(answers("6", "9"), "Cc");
    EXPECT_EQ(answers("[1, 2]", "6"), "Ss");
    EXPECT_EQ(answers("[2, 0]", "6"), "sc");
    EXPECT_EQ(answers(R"({"$numberLong": "4294967296"})", R"({"$numberLong": "4294967297"})"),
              "Ss");
    EXPECT_EQ(answers(R"({"$numberDouble": "6"})", R"({"$numberDouble": "6"})"), "Ss");
    EXPECT_EQ(answers(R"({"$numberDecimal": "6"})", R"({"$numberDecimal": "6.00"})"), "Ss");
    EXPECT_EQ(answers("[60]", R"({"$numberDecimal": "1.152921504606846977E+18"})"), "Ss");
    EXPECT_EQ(answers("[0]", R"({"$numberDecimal": "1152921504606846977"})"), "Ss");
}

TEST(Bits, NothingAskedFor) {
    for (const char* mask : {"0", "[]", R"({"$binary": {"base64": "", "subType": "00"}})"}) {
        EXPECT_EQ(answers(mask, "5"), "SC") << mask;
        EXPECT_EQ(answers(mask, "\"x\""), "") << mask;
    }
}

TEST(Bits, BeyondTheSign) {
    EXPECT_EQ(answers("[63]", "-5"), "Ss");
    EXPECT_EQ(answers("[200]", "-5"), "Ss");
    EXPECT_EQ(answers("[200]", "5"), "Cc");
    EXPECT_EQ(answers("[2147483647]", R"({"$numberDouble": "-1"})"), "Ss");
    EXPECT_EQ(answers("[0, 200]", "-2"), "sc");
    EXPECT_EQ(answers(R"({"$binary": {"base64": "AAAAAAAAAAAAAQ==", "subType": "00"}})", "-1"),
              "Ss");
    EXPECT_EQ(answers(R"({"$binary": {"base64": "AAAAAAAAAAAAAQ==", "subType": "00"}})", "1"),
              "Cc");
}

TEST(Bits, OfBinaries) {
    EXPECT_EQ(answers("6", kBinary), "Ss");
    EXPECT_EQ(answers("262", kBinary), "Ss");
    EXPECT_EQ(answers(kBinary, "262"), "Ss");
    EXPECT_EQ(answers(kBinary, kBinary), "Ss");
    EXPECT_EQ(answers("[1, 2, 8]", kBinary), "Ss");
    EXPECT_EQ(answers("[100]", kBinary), "Cc");
    EXPECT_EQ(answers("1", kBinary), "Cc");
}

TEST(Bits, ValuesWithoutThem) {
    for (const char* value :
         {"\"6\"", "null", "true", "{\"b\": 6}", R"({"$numberDouble": "6.5"})",
          R"({"$numberDouble": "NaN"})", R"({"$numberDouble": "9223372036854775808"})",
          R"({"$numberDouble": "-Infinity"})", R"({"$numberDecimal": "6.5"})",
          R"({"$numberDecimal": "9223372036854775808"})", R"({"$numberDecimal": "1E+400"})",
          R"({"$numberDecimal": "NaN"})"})
        EXPECT_EQ(answers("0", value), "") << value;
    EXPECT_FALSE(parse(R"({"a": {"$bitsAllClear": 1}})")->matches(bson::parse_test_json("{}")));
    EXPECT_TRUE(
        parse(R"({"a": {"$not": {"$bitsAllClear": 1}}})")->matches(bson::parse_test_json("{}")));
    EXPECT_EQ(answers("[62]", R"({"$numberDecimal": "-9223372036854775808"})"), "Cc");
}

TEST(Bits, OfElements) {
    EXPECT_EQ(answers("6", "[9, 6]"), "SCsc");
    EXPECT_EQ(answers("6", "[[6]]"), "");
    EXPECT_TRUE(parse(R"({"a": {"$elemMatch": {"$bitsAllSet": 6, "$gt": 6}}})")
                    ->matches(bson::parse_test_json(R"({"a": [6, 7]})")));
    EXPECT_FALSE(parse(R"({"a": {"$elemMatch": {"$bitsAllSet": 6, "$gt": 7}}})")
                     ->matches(bson::parse_test_json(R"({"a": [6, 7, 8]})")));
}

TEST(Bits, Refused) {
    for (const char* mask :
         {"-1", R"({"$numberDouble": "1.5"})", R"({"$numberDouble": "NaN"})",
          R"({"$numberDouble": "9223372036854775808"})", R"({"$numberDecimal": "0.1"})"})
        EXPECT_EQ(error_of(mask), base::kFailedToParse) << mask;
    for (const char* mask :
         {"\"1\"", "null", "true", "{\"b\": 1}", "[-1]", R"([{"$numberDouble": "1.5"}])", "[\"1\"]",
          R"([{"$numberLong": "2147483648"}])", "[null]"})
        EXPECT_EQ(error_of(mask), base::kBadValue) << mask;
    EXPECT_THROW(Matcher::parse(bson::parse_test_json(R"({"a": {"$bitsAllSet": 1}})")),
                 base::Error);
}

TEST(Bits, Imply) {
    const auto implied = [](const char* narrow, const char* wide) {
        return implies(parse(narrow)->root(), parse(wide)->root());
    };
    EXPECT_TRUE(implied(R"({"a": {"$bitsAnySet": 6}})", R"({"a": {"$exists": true}})"));
    EXPECT_TRUE(implied(R"({"a": {"$bitsAnySet": 6}})", R"({"a": {"$bitsAnySet": 6}})"));
    EXPECT_FALSE(implied(R"({"a": {"$bitsAnySet": 6}})", R"({"a": {"$bitsAnySet": 2}})"));
    EXPECT_FALSE(implied(R"({"a": {"$bitsAnySet": 6}})", R"({"a": {"$bitsAllSet": 6}})"));
}

}  // namespace
}  // namespace query

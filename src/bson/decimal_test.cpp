#include "bson/decimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bson/compare.h"
#include "bson/json.h"
#include "bson/testing/json.h"

namespace bson {

namespace {

Object number(const std::string& kind, const std::string& text) {
    return parse_test_json(R"({"v": {"$number)" + kind + R"(": ")" + text + R"("}})");
}
Object decimal(const std::string& text) {
    return number("Decimal", text);
}

TEST(Decimal, ReadsAsOtherNumbersDo) {
    struct Case {
        const char* text;
        double real;
        int64_t whole;
    };
    const double infinity = std::numeric_limits<double>::infinity();
    for (const Case& c :
         {Case{"1.50", 1.5, 1}, Case{"-1.99", -1.99, -1}, Case{"0E+3", 0, 0},
          Case{"1E+3", 1000, 1000}, Case{"9223372036854775807", 0x1p63, INT64_MAX},
          Case{"-9223372036854775808", -0x1p63, INT64_MIN},
          Case{"9223372036854775808", 0x1p63, INT64_MAX}, Case{"1E+6000", infinity, INT64_MAX},
          Case{"1E-6000", 0, 0}, Case{"-Infinity", -infinity, INT64_MIN},
          Case{"9007199254740993", 0x1p53, 9007199254740993}}) {
        const Object doc = decimal(c.text);
        const Element e = doc.doc()["v"];
        EXPECT_EQ(e.to_double(), c.real) << c.text;
        EXPECT_EQ(e.to_int64(), c.whole) << c.text;
        EXPECT_TRUE(e.is_number());
    }
    const Object nan = decimal("NaN");
    EXPECT_TRUE(std::isnan(nan.doc()["v"].to_double()));
    EXPECT_EQ(nan.doc()["v"].to_int64(), 0);
    EXPECT_FALSE(decimal("-0.00").doc()["v"].truthy());
    EXPECT_TRUE(decimal("1E-6000").doc()["v"].truthy());
    EXPECT_EQ(to_text(decimal("1.50")), "{ v: NumberDecimal('1.50') }");
}

// Each row equals itself only, and comes before those that follow.
TEST(Decimal, HasItsExactPlaceAmongNumbers) {
    const std::vector<std::vector<Object>> rows = {
        {decimal("NaN"), number("Double", "NaN")},
        {decimal("-Infinity"), number("Double", "-Infinity")},
        {decimal("-1E+400")},
        {number("Double", "-1e300")},
        {decimal("-9223372036854775809")},
        {number("Long", "-9223372036854775808"), decimal("-9223372036854775808")},
        {decimal("-1.5"), number("Double", "-1.5"), decimal("-1.500")},
        {decimal("-1E-400")},
        {decimal("0"), decimal("-0"), decimal("0E+10"), number("Int", "0"), number("Double", "0"),
         number("Double", "-0.0")},
        {decimal("1E-400")},
        {decimal("0.1"), decimal("0.10")},
        {number("Double", "0.1")},  // a little more
        {decimal("0.1000000000000000055511151231257828")},
        {decimal("1"), number("Int", "1"), number("Long", "1"), number("Double", "1"),
         decimal("1.000")},
        {decimal("9007199254740992")},
        {decimal("9007199254740992.5")},
        {decimal("9007199254740993"), number("Long", "9007199254740993")},
        {decimal("9223372036854775807"), number("Long", "9223372036854775807")},
        {decimal("9223372036854775808")},
        {decimal("1E+300")},
        {number("Double", "1e300")},  // a little more
        {decimal("1E+400")},
        {decimal("Infinity"), number("Double", "Infinity")},
    };
    for (size_t i = 0; i < rows.size(); ++i) {
        for (size_t j = 0; j < rows.size(); ++j) {
            for (const Object& a : rows[i]) {
                for (const Object& b : rows[j]) {
                    const Element ea = a.doc()["v"];
                    const Element eb = b.doc()["v"];
                    if (ea.type() != Type::decimal128 && eb.type() != Type::decimal128) continue;
                    const int expected = i < j ? -1 : (i > j ? 1 : 0);
                    EXPECT_EQ(compare_values(ea, eb), expected) << to_text(a) << to_text(b);
                }
            }
        }
    }
}

// Int64s from 2^53 on meet doubles as doubles: a decimal that equals such an int64 equals the same
// doubles.
TEST(Decimal, MeetsDoublesFrom53BitsOnAsInt64sDo) {
    for (const char* text : {"9007199254740991", "9007199254740992", "9007199254740993",
                             "9007199254740995", "9223372036854775295", "9223372036854775807",
                             "-9007199254740993", "-9223372036854775808"}) {
        for (const char* real : {"9007199254740991", "9007199254740992", "9007199254740994",
                                 "9007199254740996", "9223372036854774784", "9223372036854775808",
                                 "-9007199254740992", "-9223372036854775808", "1e300"}) {
            const Object exact = decimal(text), integer = number("Long", text),
                         rounded = number("Double", real);
            EXPECT_EQ(compare_values(exact.doc()["v"], rounded.doc()["v"]),
                      compare_values(integer.doc()["v"], rounded.doc()["v"]))
                << text << " " << real;
        }
    }
    const Object between = decimal("9007199254740992.5"), beyond = decimal("9223372036854777857"),
                 power53 = number("Double", "9007199254740992"),
                 power63 = number("Double", "9223372036854775808");
    EXPECT_EQ(compare_values(between.doc()["v"], power53.doc()["v"]), 0);
    EXPECT_EQ(compare_values(beyond.doc()["v"], power63.doc()["v"]), 1);
}

TEST(Decimal, IsFoundInsideOfValues) {
    EXPECT_TRUE(
        has_decimal(parse_test_json(R"({"v": [1, {"x": {"$numberDecimal": "1"}}]})").doc()["v"]));
    EXPECT_FALSE(has_decimal(parse_test_json(R"({"v": [1, {"x": 1.5}]})").doc()["v"]));
}

}  // namespace

}  // namespace bson

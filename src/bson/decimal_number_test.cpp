#include "bson/decimal_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bson/testing/json.h"

namespace bson {

namespace {

DecimalNumber number(const std::string& text) {
    const auto found = DecimalNumber::of_text(text);
    EXPECT_TRUE(found.has_value()) << text;
    return found.value_or(DecimalNumber());
}

TEST(DecimalNumber, KeepsExponents) {
    EXPECT_EQ((number("1.20") + number("1.30")).text(), "2.50");
    EXPECT_EQ((number("1.20") - number("1.2")).text(), "0.00");
    EXPECT_EQ((number("1.20") * number("3")).text(), "3.60");
    EXPECT_EQ((number("2.40") / number("2")).text(), "1.20");
    EXPECT_EQ((number("1") / number("3")).text(), "0.3333333333333333333333333333333333");
    EXPECT_EQ((DecimalNumber() + number("1E+3")).text(), "1000");
    EXPECT_EQ((number("9999999999999999999999999999999999") + number("0.5")).text(),
              "1.000000000000000000000000000000000E+34");
    EXPECT_EQ((number("9999999999999999999999999999999998") + number("0.5")).text(),
              "9999999999999999999999999999999998");
    EXPECT_EQ(number("-7.5").remainder(number("2")).text(), "-1.5");
    EXPECT_EQ(number("1E+6000").remainder(number("7")).text(), "1");
    EXPECT_EQ(number("1.10").power(number("2")).text(), "1.2100");
    EXPECT_EQ(number("8").logarithm(number("2")).text(), "3");
    EXPECT_EQ(number("1000").logarithm(number("10")).text(), "3");
}

TEST(DecimalNumber, GoesToInfinityAndNaN) {
    const DecimalNumber largest = number("9.999999999999999999999999999999999E+6144");
    EXPECT_EQ((largest + largest).text(), "Infinity");
    EXPECT_EQ((number("Infinity") - number("Infinity")).text(), "NaN");
    EXPECT_TRUE(number("nan").is_nan());
    EXPECT_FALSE(number("NaN") < number("1"));
    EXPECT_FALSE(number("1") < number("NaN"));
    EXPECT_TRUE(number("-inf").is_infinite());
    EXPECT_EQ(number("-1").sqrt().text(), "NaN");
    EXPECT_TRUE(number("0E+77").is_zero());
}

TEST(DecimalNumber, RoundsAtPlaces) {
    using enum DecimalNumber::Places;
    EXPECT_EQ(number("2.5").at_places(0, round).text(), "2");
    EXPECT_EQ(number("3.5").at_places(0, round).text(), "4");
    EXPECT_EQ(number("-3.99").at_places(1, cut).text(), "-3.9");
    EXPECT_EQ(number("1.5").at_places(3, round).text(), "1.500");
    EXPECT_EQ(number("1250").at_places(-2, round).text(), "1.2E+3");
    EXPECT_EQ(number("1E+40").at_places(0, round).text(), "1E+40");
    EXPECT_EQ(number("-Infinity").at_places(2, round).text(), "-Infinity");
    EXPECT_EQ(number("-1.5").ceil().text(), "-1");
    EXPECT_EQ(number("-1.5").floor().text(), "-2");
    EXPECT_EQ(number("-1.50").abs().text(), "1.50");
}

TEST(DecimalNumber, TakesOtherNumbers) {
    EXPECT_EQ(DecimalNumber::of_double(0.1).text(), "0.100000000000000");
    EXPECT_EQ(DecimalNumber::of_double(-0.0).text(), "-0");
    EXPECT_EQ(DecimalNumber::of_double(1e300).text(), "1.00000000000000E+300");
    EXPECT_EQ(DecimalNumber::of_double(-std::numeric_limits<double>::infinity()).text(),
              "-Infinity");
    EXPECT_TRUE(DecimalNumber::of_double(std::nan("")).is_nan());
    EXPECT_EQ(DecimalNumber::of_integer(INT64_MIN).text(), "-9223372036854775808");
    const Object doc = parse_test_json(R"({"v": {"$numberDecimal": "-1.50"}})");
    EXPECT_EQ(DecimalNumber::of(doc.doc()["v"]).text(), "-1.50");
}

TEST(DecimalNumber, ReadsTexts) {
    EXPECT_EQ(number("+.5").text(), "0.5");
    EXPECT_EQ(number("12345678901234567890123456789012345").text(),
              "1.234567890123456789012345678901234E+34");
    for (const char* text : {"", ".", "+", "1E", "1E+", "1x", "1E5x", "0x1", " 1", "1 ", "1_0",
                             "snan", "nan(5)", "infin", "1E+7000", "1E-7000", "1.2.3"})
        EXPECT_FALSE(DecimalNumber::of_text(text).has_value()) << text;
}

TEST(DecimalNumber, FitsAnInt64) {
    for (const char* text : {"9223372036854775807.9", "-9223372036854775808.9", "0E+6000", "1E-99"})
        EXPECT_TRUE(number(text).fits_int64()) << text;
    for (const char* text :
         {"9223372036854775808", "-9223372036854775809", "1E+6000", "NaN", "-Infinity"})
        EXPECT_FALSE(number(text).fits_int64()) << text;
}

}  // namespace

}  // namespace bson

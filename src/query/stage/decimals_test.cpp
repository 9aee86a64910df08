// Expressions with decimals: their digits, and the exponents that these are written with.
#include <gtest/gtest.h>

#include "query/stage/testing/expressions.h"

namespace query {
namespace {

TEST(Decimals, AreCalculatedWith) {
    expect({
        {R"({"$add": [{"$numberDecimal": "1.20"}, {"$numberDecimal": "1.30"}]})",
         "NumberDecimal('2.50')"},
        {R"({"$add": [1, {"$numberDecimal": "1.50"}, 2]})", "NumberDecimal('4.50')"},
        {R"({"$add": [{"$numberDecimal": "1"}, 0.1]})", "NumberDecimal('1.100000000000000')"},
        {R"({"$add": [0.1, 0.2, {"$numberDecimal": "1"}]})", "NumberDecimal('1.300000000000000')"},
        {R"({"$add": [{"$numberLong": "9223372036854775807"}, {"$numberDecimal": "1"}]})",
         "NumberDecimal('9223372036854775808')"},
        {R"({"$add": [{"$numberDecimal": "1"}, null]})", "null"},
        {R"({"$add": [{"$date": 1000}, {"$numberDecimal": "2.5"}]})", "new Date(1002)"},
        {R"({"$add": [{"$date": 0}, {"$numberDecimal": "1E+30"}]})", "error 15"},
        {R"({"$subtract": [{"$numberDecimal": "1.50"}, 1]})", "NumberDecimal('0.50')"},
        {R"({"$subtract": [{"$date": 1000}, {"$numberDecimal": "2"}]})", "new Date(998)"},
        {R"({"$subtract": ["x", {"$numberDecimal": "2"}]})", "error 14"},
        {R"({"$multiply": [3, {"$numberDecimal": "1.20"}]})", "NumberDecimal('3.60')"},
        {R"({"$multiply": [{"$numberLong": "9223372036854775807"}, 10, {"$numberDecimal": "1"}]})",
         "NumberDecimal('9.22337203685478E+19')"},
        {R"({"$multiply": [{"$numberDecimal": "9E+6144"}, {"$numberDecimal": "10"}]})",
         "NumberDecimal('Infinity')"},
        {R"({"$divide": [1, {"$numberDecimal": "3"}]})",
         "NumberDecimal('0.3333333333333333333333333333333333')"},
        {R"({"$divide": [{"$numberDecimal": "2.40"}, 2]})", "NumberDecimal('1.20')"},
        {R"({"$divide": [{"$numberDecimal": "2.40"}, 0]})", "error 2"},
        {R"({"$divide": [1, {"$numberDecimal": "1E-6000"}]})", "NumberDecimal('1E+6000')"},
        {R"({"$divide": [1, {"$numberDecimal": "0E+5"}]})", "error 2"},
        {R"({"$mod": [{"$numberDecimal": "10.5"}, 3]})", "NumberDecimal('1.5')"},
        {R"({"$mod": [-7, {"$numberDecimal": "2"}]})", "NumberDecimal('-1')"},
        {R"({"$mod": [1, {"$numberDecimal": "0.0"}]})", "error 16610"},
        {R"({"$abs": {"$numberDecimal": "-1.50"}})", "NumberDecimal('1.50')"},
        {R"({"$ceil": {"$numberDecimal": "-1.5"}})", "NumberDecimal('-1')"},
        {R"({"$floor": {"$numberDecimal": "-1.5"}})", "NumberDecimal('-2')"},
        {R"({"$round": [{"$numberDecimal": "1.25"}, 1]})", "NumberDecimal('1.2')"},
        {R"({"$round": [{"$numberDecimal": "1.5"}, 3]})", "NumberDecimal('1.500')"},
        {R"({"$round": {"$numberDecimal": "2.5"}})", "NumberDecimal('2')"},
        {R"({"$round": [1.25, {"$numberDecimal": "1.0"}]})", "1.2"},
        {R"({"$trunc": [{"$numberDecimal": "1299"}, -2]})", "NumberDecimal('1.2E+3')"},
        {R"({"$exp": {"$numberDecimal": "1"}})",
         "NumberDecimal('2.718281828459045235360287471352662')"},
        {R"({"$ln": {"$numberDecimal": "10"}})",
         "NumberDecimal('2.302585092994045684017991454684364')"},
        {R"({"$ln": {"$numberDecimal": "-0.1"}})", "error 28766"},
        {R"({"$log10": {"$numberDecimal": "1E+6000"}})", "NumberDecimal('6000')"},
        {R"({"$log10": {"$numberDecimal": "0"}})", "error 28761"},
        {R"({"$log": [{"$numberDecimal": "1024"}, 2]})", "NumberDecimal('10')"},
        {R"({"$log": [100, {"$numberDecimal": "10"}]})", "NumberDecimal('2')"},
        {R"({"$log": [100, {"$numberDecimal": "1.00"}]})", "error 28759"},
        {R"({"$pow": [{"$numberDecimal": "1.10"}, 2]})", "NumberDecimal('1.2100')"},
        {R"({"$pow": [2, {"$numberDecimal": "-1"}]})", "NumberDecimal('0.5')"},
        {R"({"$pow": [0, {"$numberDecimal": "-1"}]})", "error 28764"},
        {R"({"$pow": [{"$numberDecimal": "0.00"}, -1]})", "error 28764"},
        {R"({"$sqrt": {"$numberDecimal": "4.00"}})", "NumberDecimal('2.0')"},
        {R"({"$sqrt": {"$numberDecimal": "-1E-6000"}})", "error 28714"},
        {R"({"$sqrt": {"$numberDecimal": "-0"}})", "NumberDecimal('-0')"},
        {R"({"$cos": {"$numberDecimal": "0"}})",
         "NumberDecimal('1.000000000000000000000000000000000')"},
        {R"({"$sin": {"$numberDecimal": "Infinity"}})", "error 50989"},
        {R"({"$acos": {"$numberDecimal": "1.0000000000000000000000000001"}})", "error 50989"},
        {R"({"$acosh": {"$numberDecimal": "0.9"}})", "error 50989"},
        {R"({"$atan2": [1, {"$numberDecimal": "1"}]})",
         "NumberDecimal('0.7853981633974483096156608458198757')"},
        {R"({"$degreesToRadians": {"$numberDecimal": "180"}})",
         "NumberDecimal('3.141592653589793238462643383279503')"},
        {R"({"$radiansToDegrees": {"$numberDecimal": "1"}})",
         "NumberDecimal('57.29577951308232087679815481410517')"},
        {R"({"$sum": [{"$numberDecimal": "1.20"}, 1, 0.5, "x"]})",
         "NumberDecimal('2.700000000000000')"},
        {R"({"$sum": [{"$numberDecimal": "1"}, {"$numberLong": "-9223372036854775808"}]})",
         "NumberDecimal('-9223372036854775807')"},
        {R"({"$avg": [{"$numberDecimal": "1.20"}, 2]})", "NumberDecimal('1.60')"},
        {R"({"$max": [{"$numberDecimal": "2.5"}, 2]})", "NumberDecimal('2.5')"},
        {R"({"$min": [{"$numberDecimal": "2.5"}, 2]})", "2"},
        {R"({"$stdDevPop": [{"$numberDecimal": "1.0"}, 3]})", "1.0"},
        {R"({"$median": {"input": [1, {"$numberDecimal": "2.5"}, 9], "method": "approximate"}})",
         "2.5"},
        {R"({"$bitAnd": [1, {"$numberDecimal": "1"}]})", "error 14"},
        {R"({"$cmp": [{"$numberDecimal": "1.20"}, 1.2]})", "1"},
        {R"({"$eq": [{"$numberDecimal": "1.20"}, {"$numberDecimal": "1.2"}]})", "true"},
        {R"({"$add": [{"$numberDecimal": "NaN"}, 1]})", "NumberDecimal('NaN')"},
        {R"({"$pow": [{"$numberDecimal": "NaN"}, {"$numberDecimal": "1"}]})",
         "NumberDecimal('NaN')"},
    });
}

TEST(Decimals, AreConverted) {
    expect({
        {R"({"$toDecimal": "1E+7000"})", "error 241"},
        {R"({"$toString": {"$toDecimal": "0.12345678901234567890123456789012345"}})",
         R"("0.1234567890123456789012345678901234")"},
        {R"({"$toLong": {"$numberDecimal": "9223372036854775807.5"}})", "9223372036854775807"},
        {R"({"$toLong": {"$numberDecimal": "9223372036854775808"}})", "error 241"},
        {R"({"$toDouble": {"$numberDecimal": "1E+400"}})", "error 241"},
        {R"({"$toBool": {"$numberDecimal": "1E-6000"}})", "true"},
        {R"({"$toDecimal": true})", "NumberDecimal('1')"},
        {R"({"$toDecimal": {"$date": 1500}})", "NumberDecimal('1500')"},
        {R"({"$toDecimal": {"$numberDouble": "-Infinity"}})", "NumberDecimal('-Infinity')"},
        {R"({"$toDate": {"$numberDecimal": "1500.9"}})", "new Date(1500)"},
    });
}

TEST(Decimals, AreRefusedInTheDialectOf26) {
    for (const char* name : {"$add", "$multiply", "$subtract", "$divide", "$mod"}) {
        const std::string operands = R"(": [{"$numberDecimal": "6"}, 3]})";
        EXPECT_EQ(old_value_of(R"({")" + std::string(name) + operands), "error 14") << name;
    }
}

}  // namespace
}  // namespace query

// Expressions as later servers compute them: values by the documentation of each operator, what is
// refused, and what the dialect of 2.6 answers instead.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "dialect/dialect.h"
#include "query/stage/testing/expressions.h"
#include "query/value/value.h"

namespace query {
namespace {

TEST(Operators, Arithmetic) {
    expect({
        {R"({"$add": [2147483647, 1]})", "2147483648"},
        {R"({"$add": [{"$numberLong": "9223372036854775807"}, 1]})", "9.223372036854776e+18"},
        {R"({"$add": [0.1, 0.2, 0.3]})", "0.6000000000000001"},
        {R"({"$add": []})", "0"},
        {R"({"$add": ["$none", 1]})", "null"},
        {R"({"$add": ["x", 1]})", "error 14"},
        {R"({"$add": [{"$date": 1000}, 1.6]})", "new Date(1001)"},
        {R"({"$multiply": [65536, 65536]})", "4294967296"},
        {R"({"$multiply": [{"$numberLong": "9223372036854775807"}, 2]})", "1.844674407370955e+19"},
        {R"({"$subtract": [-2147483647, 2]})", "-2147483649"},
        {R"({"$subtract": [{"$date": 1000}, {"$date": 400}]})", "600"},
        {R"({"$subtract": [1, {"$date": 400}]})", "error 14"},
        {R"({"$divide": [1, 0]})", "error 2"},
        {R"({"$divide": [7, 2]})", "3.5"},
        {R"({"$divide": ["x", 2]})", "error 14"},
        {R"({"$mod": [7, 2.0]})", "1"},
        {R"({"$mod": [-7, 3]})", "-1"},
        {R"({"$mod": [7, 0]})", "error 16610"},
        {R"({"$abs": -2147483648})", "2147483648"},
        {R"({"$abs": "$none"})", "null"},
        {R"({"$abs": "x"})", "error 28765"},
        {R"({"$abs": {"$numberLong": "-9223372036854775808"}})", "error 28680"},
        {R"({"$ceil": 7.2})", "8.0"},
        {R"({"$floor": -7.2})", "-8.0"},
        {R"({"$floor": "$n"})", "7"},
        {R"({"$exp": 0})", "1.0"},
        {R"({"$ln": 1})", "0.0"},
        {R"({"$ln": 0})", "error 28766"},
        {R"({"$log10": 1000})", "3.0"},
        {R"({"$log": [8, 2]})", "3.0"},
        {R"({"$log": [8, 1]})", "error 28759"},
        {R"({"$pow": [2, 10]})", "1024"},
        {R"({"$pow": [2, 40]})", "1099511627776"},
        {R"({"$pow": [2, 64]})", "1.844674407370955e+19"},
        {R"({"$pow": [2, -1]})", "0.5"},
        {R"({"$pow": [-1, -3]})", "-1"},
        {R"({"$pow": [0, -1]})", "error 28764"},
        {R"({"$sqrt": 25})", "5.0"},
        {R"({"$sqrt": -1})", "error 28714"},
        {R"({"$atan2": [0, 1]})", "0.0"},
        {R"({"$sin": {"$numberDouble": "Infinity"}})", "error 50989"},
        {R"({"$acos": 1.5})", "error 50989"},
        {R"({"$acosh": 1})", "0.0"},
        {R"({"$acosh": 0.5})", "error 50989"},
        {R"({"$degreesToRadians": 180})", "3.141592653589793"},
        {R"({"$bitAnd": [12, 10]})", "8"},
        {R"({"$bitOr": [12, {"$numberLong": "1"}]})", "13"},
        {R"({"$bitXor": []})", "0"},
        {R"({"$bitNot": 0})", "-1"},
        {R"({"$bitAnd": [1, 1.5]})", "error 14"},
        {R"({"$sqrt": [1, 2]})", "error 16020"},
    });
}

TEST(Operators, RoundsExactly) {
    expect({
        {R"({"$round": 2.5})", "2.0"},
        {R"({"$round": [3.5]})", "4.0"},
        {R"({"$round": [2.675, 2]})", "2.67"},
        {R"({"$round": [1.005, 2]})", "1.0"},
        {R"({"$round": [0.125, 2]})", "0.12"},
        {R"({"$round": [0.375, 2]})", "0.38"},
        {R"({"$round": [9.999, 1]})", "10.0"},
        {R"({"$round": [1234.5678, -2]})", "1200.0"},
        {R"({"$round": [1250.0, -2]})", "1200.0"},
        {R"({"$round": [1350.0, -2]})", "1400.0"},
        {R"({"$round": [15, -1]})", "20"},
        {R"({"$round": [25, -1]})", "20"},
        {R"({"$round": [-25, -1]})", "-20"},
        {R"({"$round": [-26, -1]})", "-30"},
        {R"({"$round": [99, -3]})", "0"},
        {R"({"$round": [2147483647, -1]})", "2147483650"},
        {R"({"$round": [{"$numberLong": "9223372036854775807"}, -1]})", "error 51080"},
        {R"({"$round": [7, 2]})", "7"},
        {R"({"$trunc": [1.999, 1]})", "1.9"},
        {R"({"$trunc": -7.9})", "-7.0"},
        {R"({"$trunc": [-1234.5678, -2]})", "-1200.0"},
        {R"({"$trunc": [19, -1]})", "10"},
        {R"({"$round": [1.5, 101]})", "error 51083"},
        {R"({"$round": [1.5, 1.5]})", "error 51082"},
        {R"({"$round": ["x", 1]})", "error 51081"},
        {R"({"$round": [1.5, "$none"]})", "null"},
        {R"({"$round": [1, 2, 3]})", "error 28667"},
    });
}

TEST(Operators, Strings) {
    expect({
        {R"({"$concat": ["a", "$s"]})", R"("atext")"},
        {R"({"$concat": ["a", 1]})", "error 16702"},
        {R"({"$concat": ["a", null]})", "null"},
        {R"({"$toUpper": 1.5})", R"("1.5")"},
        {R"({"$toLower": {"$date": 0}})", R"("1970-01-01t00:00:00.000z")"},
        {R"({"$toLower": "$none"})", R"("")"},
        {R"({"$strcasecmp": ["a", "B"]})", "-1"},
        {R"({"$substr": ["hello", 1, 3]})", R"("ell")"},
        {R"({"$substrBytes": ["hello", 1, -1]})", R"("ello")"},
        {R"({"$substrBytes": ["hello", -1, 1]})", "error 50752"},
        {R"({"$substrBytes": ["\u00e9t", 1, 1]})", "error 28656"},
        {R"({"$substrBytes": ["\u00e9t", 0, 1]})", "error 28657"},
        {R"({"$substrCP": ["\u00e9t\u00e9s", 1, 2]})", "\"t\u00e9\""},
        {R"({"$substrCP": ["abc", 5, 2]})", R"("")"},
        {R"({"$substrCP": ["abc", -1, 2]})", "error 34455"},
        {R"({"$strLenBytes": "\u00e9t"})", "3"},
        {R"({"$strLenCP": "\u00e9t"})", "2"},
        {R"({"$strLenCP": "$none"})", "error 34471"},
        {R"({"$indexOfBytes": ["caf\u00e9tier", "t"]})", "5"},
        {R"({"$indexOfCP": ["caf\u00e9tier", "t"]})", "4"},
        {R"({"$indexOfCP": ["abcabc", "c", 3]})", "5"},
        {R"({"$indexOfCP": ["abcabc", "c", 3, 5]})", "-1"},
        {R"({"$indexOfCP": ["abc", "", 1]})", "1"},
        {R"({"$indexOfBytes": ["abc", "c", 9]})", "-1"},
        {R"({"$indexOfBytes": ["abc", "c", -1]})", "error 40097"},
        {R"({"$indexOfBytes": [null, "c"]})", "null"},
        {R"({"$indexOfBytes": ["abc", null]})", "error 40092"},
        {R"({"$split": ["a-b-c", "-"]})", R"([ "a", "b", "c" ])"},
        {R"({"$split": ["-a-", "-"]})", R"([ "", "a", "" ])"},
        {R"({"$split": ["abc", "x"]})", R"([ "abc" ])"},
        {R"({"$split": ["abc", ""]})", "error 40087"},
        {R"({"$split": [null, "x"]})", "null"},
        {R"({"$trim": {"input": " \n good  bye \t "}})", R"("good  bye")"},
        {R"({"$ltrim": {"input": " ggoodbyes", "chars": " gd"}})", R"("oodbyes")"},
        {R"({"$rtrim": {"input": "goodbyes  ", "chars": " s"}})", R"("goodbye")"},
        {R"({"$trim": {"input": "\u00e9a\u00e9", "chars": "\u00e9"}})", R"("a")"},
        {R"({"$trim": {"input": "$none"}})", "null"},
        {R"({"$trim": {"input": "x", "chars": "$none"}})", "null"},
        {R"({"$trim": {"input": 3}})", "error 50699"},
        {R"({"$trim": {"chars": "x"}})", "error 50695"},
        {R"({"$trim": {"input": "x", "other": 1}})", "error 50694"},
        {R"({"$trim": "x"})", "error 50696"},
        {R"({"$replaceOne": {"input": "aXbX", "find": "X", "replacement": "--"}})", R"("a--bX")"},
        {R"({"$replaceAll": {"input": "aXbX", "find": "X", "replacement": "--"}})", R"("a--b--")"},
        {R"({"$replaceAll": {"input": "ab", "find": "", "replacement": "-"}})", R"("-a-b-")"},
        {R"({"$replaceAll": {"input": "ab", "find": null, "replacement": "-"}})", "null"},
        {R"({"$replaceAll": {"input": "ab", "find": 1, "replacement": "-"}})", "error 51745"},
        {R"({"$binarySize": "\u00e9t"})", "3"},
        {R"({"$binarySize": 1})", "error 51276"},
    });
}

TEST(Operators, RegularExpressions) {
    expect({
        {R"_({"$regexFind": {"input": "caf\u00e9 n\u00b07", "regex": "n(.)(x)?(\\d)"}})_",
         "{ match: \"n\u00b07\", idx: 5, captures: [ \"\u00b0\", null, \"7\" ] }"},
        {R"({"$regexFind": {"input": "abc", "regex": "z"}})", "null"},
        {R"({"$regexFindAll": {"input": "aXbx", "regex": "x", "options": "i"}})",
         R"([ { match: "X", idx: 1, captures: [] }, { match: "x", idx: 3, captures: [] } ])"},
        {R"({"$regexFindAll": {"input": "\u00e9", "regex": ""}})",
         R"([ { match: "", idx: 0, captures: [] } ])"},
        // Nothing is looked for behind the last character.
        {R"({"$regexFindAll": {"input": "aab", "regex": "a*"}})",
         R"([ { match: "aa", idx: 0, captures: [] }, { match: "", idx: 2, captures: [] } ])"},
        {R"({"$regexFindAll": {"input": "aa", "regex": "a*"}})",
         R"([ { match: "aa", idx: 0, captures: [] } ])"},
        {R"({"$regexFindAll": {"input": "", "regex": "a*"}})",
         R"([ { match: "", idx: 0, captures: [] } ])"},
        {R"({"$regexFindAll": {"input": null, "regex": "x"}})", "[]"},
        {R"({"$regexMatch": {"input": "$s", "regex": {"$regularExpression": {"pattern": "^T",
            "options": "i"}}}})",
         "true"},
        {R"({"$regexMatch": {"input": "$s", "regex": "$none"}})", "false"},
        {R"({"$regexMatch": {"input": "$n", "regex": "x"}})", "error 51104"},
        {R"({"$regexMatch": {"input": "x", "regex": 1}})", "error 51105"},
        {R"_({"$regexMatch": {"input": "x", "regex": "("}})_", "error 51111"},
        {R"({"$regexMatch": {"input": "x", "regex": "x", "options": "g"}})", "error 51108"},
        {R"({"$regexMatch": {"input": "x", "regex": {"$regularExpression": {"pattern": "x",
            "options": "i"}}, "options": "i"}})",
         "error 51107"},
        {R"({"$regexMatch": {"input": "x"}})", "error 31023"},
        {R"({"$regexMatch": "x"})", "error 51103"},
    });
}

TEST(Operators, Arrays) {
    expect({
        {R"({"$arrayElemAt": ["$a", 0]})", "3"},
        {R"({"$arrayElemAt": ["$a", -1]})", "2"},
        {R"({"$arrayElemAt": ["$a", 3]})", "missing"},
        {R"({"$arrayElemAt": ["$a", -4]})", "missing"},
        {R"({"$arrayElemAt": ["$none", 0]})", "null"},
        {R"({"$arrayElemAt": ["$s", 0]})", "error 28689"},
        {R"({"$arrayElemAt": ["$a", 0.5]})", "error 28691"},
        {R"({"$first": "$a"})", "3"},
        {R"({"$last": "$a"})", "2"},
        {R"({"$first": {"$literal": []}})", "missing"},
        {R"({"$first": "$s"})", "error 28689"},
        {R"({"$isArray": "$a"})", "true"},
        {R"({"$isArray": ["$n"]})", "false"},
        {R"({"$in": [2, "$a"]})", "true"},
        {R"({"$in": [9, "$a"]})", "false"},
        {R"({"$in": [9, "$n"]})", "error 40081"},
        {R"({"$indexOfArray": ["$a", 2]})", "2"},
        {R"({"$indexOfArray": ["$a", 3, 1]})", "-1"},
        {R"({"$indexOfArray": [[1, 2, 1], 1, 1, 3]})", "2"},
        {R"({"$concatArrays": ["$a", [{"$add": ["$n", 1]}]]})", "[ 3, 1, 2, 8 ]"},
        {R"({"$concatArrays": ["$a", null]})", "null"},
        {R"({"$concatArrays": ["$a", 1]})", "error 28664"},
        {R"({"$reverseArray": "$a"})", "[ 2, 1, 3 ]"},
        {R"({"$reverseArray": 1})", "error 34435"},
        {R"({"$slice": ["$a", 2]})", "[ 3, 1 ]"},
        {R"({"$slice": ["$a", -2]})", "[ 1, 2 ]"},
        {R"({"$slice": ["$a", 1, 5]})", "[ 1, 2 ]"},
        {R"({"$slice": ["$a", -5, 1]})", "[ 3 ]"},
        {R"({"$slice": ["$a", 9, 1]})", "[]"},
        {R"({"$slice": ["$a", 1, 0]})", "error 28729"},
        {R"({"$range": [0, 10, 3]})", "[ 0, 3, 6, 9 ]"},
        {R"({"$range": [3, 0, -1]})", "[ 3, 2, 1 ]"},
        {R"({"$range": [3, 0]})", "[]"},
        {R"({"$range": [0, 3, 0]})", "error 34449"},
        {R"({"$range": [0, 3.5]})", "error 34446"},
        {R"({"$zip": {"inputs": [["a", "b"], [1]]}})", R"([ [ "a", 1 ] ])"},
        {R"({"$zip": {"inputs": [["a", "b"], [1]], "useLongestLength": true, "defaults": [0, 9]}})",
         R"([ [ "a", 1 ], [ "b", 9 ] ])"},
        {R"({"$zip": {"inputs": [["a", "b"], [1]], "useLongestLength": true}})",
         R"([ [ "a", 1 ], [ "b", null ] ])"},
        {R"({"$zip": {"inputs": [["a"], null]}})", "null"},
        {R"({"$zip": {"inputs": [["a"]], "defaults": [1]}})", "error 34466"},
        {R"({"$firstN": {"n": 2, "input": "$a"}})", "[ 3, 1 ]"},
        {R"({"$lastN": {"n": 2, "input": "$a"}})", "[ 1, 2 ]"},
        {R"({"$minN": {"n": 2, "input": [3, null, 1, 2]}})", "[ 1, 2 ]"},
        {R"({"$maxN": {"n": 9, "input": "$a"}})", "[ 3, 2, 1 ]"},
        {R"({"$maxN": {"n": 0, "input": "$a"}})", "error 5787908"},
        {R"({"$size": "$a"})", "3"},
        {R"({"$size": "$n"})", "error 17124"},
        {R"({"$setUnion": ["$a", [4]]})", "[ 3, 1, 2, 4 ]"},
        {R"({"$sortArray": {"input": "$a", "sortBy": 1}})", "[ 1, 2, 3 ]"},
        {R"({"$sortArray": {"input": [{"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 0}],
            "sortBy": {"a": 1, "b": -1}}})",
         "[ { a: 0 }, { a: 1, b: 3 }, { a: 1, b: 2 } ]"},
        {R"({"$sortArray": {"input": 1, "sortBy": 1}})", "error 2942504"},
    });
}

TEST(Operators, Loops) {
    expect({
        {R"({"$map": {"input": "$a", "in": {"$multiply": ["$$this", 2]}}})", "[ 6, 2, 4 ]"},
        {R"({"$map": {"input": "$a", "as": "x", "in": ["$$x", "$none"]}})",
         "[ [ 3, null ], [ 1, null ], [ 2, null ] ]"},
        {R"({"$map": {"input": null, "in": 1}})", "null"},
        {R"({"$filter": {"input": "$a", "cond": {"$gt": ["$$this", 1]}}})", "[ 3, 2 ]"},
        {R"({"$filter": {"input": "$a", "as": "x", "cond": true, "limit": 1}})", "[ 3 ]"},
        {R"({"$filter": {"input": "$a", "as": "x", "cond": true, "limit": 0}})", "error 327392"},
        {R"({"$filter": {"input": "$n", "cond": true}})", "error 28651"},
        {R"({"$filter": {"input": "$a"}})", "error 28650"},
        {R"({"$reduce": {"input": "$a", "initialValue": 1,
            "in": {"$multiply": ["$$value", "$$this"]}}})",
         "6"},
        {R"({"$reduce": {"input": [[1], [2, 3]], "initialValue": [],
            "in": {"$concatArrays": ["$$value", "$$this"]}}})",
         "[ 1, 2, 3 ]"},
        {R"({"$reduce": {"input": 1, "initialValue": 1, "in": 1}})", "error 40080"},
        {R"({"$switch": {"branches": [{"case": {"$eq": ["$n", 1]}, "then": "one"},
            {"case": {"$eq": ["$n", 7]}, "then": "seven"}], "default": "?"}})",
         R"("seven")"},
        {R"({"$switch": {"branches": [{"case": "$none", "then": 1}]}})", "error 40066"},
        {R"({"$switch": {"branches": []}})", "error 40068"},
        {R"({"$ifNull": ["$none", null, "$n"]})", "7"},
        {R"({"$ifNull": ["$none"]})", "error 1257300"},
        {R"({"$lt": [{"$rand": {}}, 1]})", "true"},
        {R"({"$rand": 1})", "error 3040501"},
    });
}

TEST(Operators, AGrowingResultOfALoopIsNotKeptInAllItsLengths) {
    // 20000 texts of up to 200 KB would be 2 GB.
    EXPECT_EQ(value_of(R"({"$strLenBytes": {"$reduce": {"input": {"$range": [0, 20000]},
        "initialValue": "", "in": {"$concat": ["$$value", "0123456789"]}}}})"),
              "200000");
}

TEST(Operators, Documents) {
    expect({
        {R"({"$mergeObjects": ["$d", {"x": 5, "w": "$n"}, null]})", "{ x: 5, y.z: 2, w: 7 }"},
        {R"({"$mergeObjects": [1]})", "error 40400"},
        {R"({"$objectToArray": "$d"})", R"([ { k: "x", v: 1 }, { k: "y.z", v: 2 } ])"},
        {R"({"$objectToArray": 1})", "error 40390"},
        {R"({"$arrayToObject": [[["a", 1], ["b", 2], ["a", 3]]]})", "{ a: 3, b: 2 }"},
        {R"({"$arrayToObject": {"$literal": [{"k": "a", "v": 1}]}})", "{ a: 1 }"},
        {R"({"$arrayToObject": {"$literal": [{"k": "a"}]}})", "error 40392"},
        {R"({"$arrayToObject": {"$literal": [["a", 1, 2]]}})", "error 40397"},
        {R"({"$arrayToObject": {"$literal": [1]}})", "error 40398"},
        {R"({"$arrayToObject": {"$literal": []}})", "{}"},
        {R"({"$getField": {"field": "y.z", "input": "$d"}})", "2"},
        {R"({"$getField": "n"})", "7"},
        {R"({"$getField": {"field": "x", "input": "$n"}})", "missing"},
        {R"({"$getField": {"field": "x", "input": null}})", "null"},
        {R"({"$getField": 1})", "error 5654602"},
        {R"({"$setField": {"field": "y.z", "input": "$d", "value": 3}})", "{ x: 1, y.z: 3 }"},
        {R"({"$setField": {"field": "x", "input": "$d", "value": "$$REMOVE"}})", "{ y.z: 2 }"},
        {R"({"$unsetField": {"field": "y.z", "input": "$d"}})", "{ x: 1 }"},
        {R"({"$setField": {"field": "$s", "input": "$d", "value": 3}})", "error 4161106"},
        {R"({"$setField": {"field": "x", "input": 1, "value": 3}})", "error 4161105"},
        {R"({"$bsonSize": {"$literal": {}}})", "5"},
        {R"({"$bsonSize": 1})", "error 31393"},
        {R"({"$eq": ["$$NOW", "$$NOW"]})", "true"},
        {R"({"$type": "$$NOW"})", R"("date")"},
        {R"("$$CLUSTER_TIME")", "error 51144"},
    });
}

// The shortest text that reads back the same, with an exponent where %.16g has one.
TEST(Operators, TextsOfDoubles) {
    const std::pair<double, const char*> kTexts[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {1.0, "1"},
        {-1.5, "-1.5"},
        {100000.0, "100000"},
        {1e15, "1000000000000000"},
        {1e16, "1e+16"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {1e100, "1e+100"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {1e-7, "1e-07"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {9007199254740993.0, "9007199254740992"},
        {9.12345678901234, "9.12345678901234"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {std::numeric_limits<double>::infinity(), "Infinity"},
        {-std::numeric_limits<double>::infinity(), "-Infinity"},
        {std::numeric_limits<double>::quiet_NaN(), "NaN"},
    };
    for (const auto& [number, text] : kTexts)
        EXPECT_EQ(double_text(number), text);
    std::mt19937_64 random(1);
    for (int i = 0; i < 10000; ++i) {
        const auto number = std::bit_cast<double>(random());
        if (!std::isfinite(number)) continue;
        EXPECT_EQ(std::bit_cast<uint64_t>(std::strtod(double_text(number).c_str(), nullptr)),
                  std::bit_cast<uint64_t>(number));
    }
}

TEST(Operators, Conversions) {
    expect({
        {R"({"$toInt": "42"})", "42"},
        {R"({"$toInt": 7.9})", "7"},
        {R"({"$toInt": true})", "1"},
        {R"({"$toInt": "4.5"})", "error 241"},
        {R"({"$toInt": " 4"})", "error 241"},
        {R"({"$toInt": "0x1"})", "error 241"},
        {R"({"$toInt": 3e9})", "error 241"},
        {R"({"$toInt": {"$numberDecimal": "5.5"}})", "5"},
        {R"({"$toInt": {"$numberDouble": "NaN"}})", "error 241"},
        {R"({"$toInt": null})", "null"},
        {R"({"$toInt": "$none"})", "null"},
        {R"({"$toInt": {"$date": 1}})", "error 241"},
        {R"({"$type": {"$toLong": "5"}})", R"("long")"},
        {R"({"$toLong": {"$date": 123}})", "123"},
        {R"({"$toDouble": "-5.5e1"})", "-55.0"},
        {R"({"$toDouble": "1e400"})", "error 241"},
        {R"({"$toDouble": ""})", "error 241"},
        {R"({"$toString": {"$toDecimal": 2.5}})", R"("2.50000000000000")"},
        {R"({"$toString": {"$toDecimal": "1.50"}})", R"("1.50")"},
        {R"({"$toDecimal": "x"})", "error 241"},
        {R"({"$toString": 2.5})", R"("2.5")"},
        {R"({"$convert": {"input": 0.30000000000000004, "to": "string"}})",
         R"("0.30000000000000004")"},
        {R"({"$toLower": 0.1})", R"("0.1")"},
        {R"({"$toString": false})", R"("false")"},
        {R"({"$toString": {"$date": 1500}})", R"("1970-01-01T00:00:01.500Z")"},
        {R"({"$toString": {"$oid": "5ab9c3da31c2ab715d421285"}})", R"("5ab9c3da31c2ab715d421285")"},
        {R"({"$toString": "$a"})", "error 241"},
        {R"({"$toBool": "false"})", "true"},
        {R"({"$toBool": 0})", "false"},
        {R"({"$toBool": {"$date": 0}})", "true"},
        {R"({"$toObjectId": "5ab9c3da31c2ab715d421285"})", "ObjectId('5ab9c3da31c2ab715d421285')"},
        {R"({"$toObjectId": "5ab9c3da31c2ab715d42128"})", "error 241"},
        {R"({"$toDate": {"$oid": "5ab9c3da31c2ab715d421285"}})", "new Date(1522123738000)"},
        {R"({"$toDate": "2018-03-03"})", "new Date(1520035200000)"},
        {R"({"$toDate": {"$numberLong": "5"}})", "new Date(5)"},
        {R"({"$toDate": 5})", "error 241"},
        {R"({"$convert": {"input": "x", "to": "int", "onError": "bad"}})", R"("bad")"},
        {R"({"$convert": {"input": null, "to": "int", "onNull": "none"}})", R"("none")"},
        {R"({"$convert": {"input": "5", "to": 16}})", "5"},
        {R"({"$convert": {"input": "5", "to": null}})", "null"},
        {R"({"$convert": {"input": "5", "to": "number"}})", "error 2"},
        {R"({"$convert": {"input": "5"}})", "error 9"},
        {R"({"$convert": {"input": "$a", "to": "int", "onError": "$s"}})", R"("text")"},
        {R"({"$type": "$none"})", R"("missing")"},
        {R"({"$type": "$a"})", R"("array")"},
        {R"({"$isNumber": 1})", "true"},
        {R"({"$isNumber": "1"})", "false"},
    });
}

TEST(Operators, Dates) {
    // 2017-01-01T04:08:15.123Z, a Sunday.
    const std::string d = R"({"$date": 1483243695123})";
    const auto on = [&](const std::string& op) { return value_of("{\"" + op + "\": " + d + "}"); };
    EXPECT_EQ(on("$year"), "2017");
    EXPECT_EQ(on("$isoWeekYear"), "2016");
    EXPECT_EQ(on("$isoWeek"), "52");
    EXPECT_EQ(on("$isoDayOfWeek"), "7");
    EXPECT_EQ(on("$dayOfWeek"), "1");
    EXPECT_EQ(on("$millisecond"), "123");
    const auto in = [&](const std::string& op, const std::string& zone) {
        return value_of("{\"" + op + R"(": {"date": )" + d + R"(, "timezone": ")" + zone + "\"}}");
    };
    EXPECT_EQ(in("$hour", "America/New_York"), "23");
    EXPECT_EQ(in("$year", "America/New_York"), "2016");
    EXPECT_EQ(in("$hour", "+05:30"), "9");
    EXPECT_EQ(in("$minute", "+0530"), "38");
    EXPECT_EQ(in("$hour", "-03"), "1");
    EXPECT_EQ(in("$hour", "Mars/Base"), "error 40485");
    EXPECT_EQ(in("$hour", "GMT+5"), "error 40485");
    expect({
        {R"({"$hour": null})", "null"},
        {R"({"$hour": "x"})", "error 16006"},
        {R"({"$hour": {"timezone": "UTC"}})", "error 40539"},
        {R"({"$hour": {"date": {"$date": 0}, "timezone": 5}})", "error 40517"},
        {R"({"$hour": [{"$date": 3600000}]})", "1"},
        {R"({"$year": {"$oid": "5ab9c3da31c2ab715d421285"}})", "2018"},
        {R"({"$dateToParts": {"date": {"$date": 1483243695123}}})",
         "{ year: 2017, month: 1, day: 1, hour: 4, minute: 8, second: 15, millisecond: 123 }"},
        {R"({"$dateToParts": {"date": {"$date": 1483243695123}, "iso8601": true}})",
         "{ isoWeekYear: 2016, isoWeek: 52, isoDayOfWeek: 7, hour: 4, minute: 8, second: 15, "
         "millisecond: 123 }"},
        {R"({"$dateFromParts": {"year": 2017, "month": 2, "day": 8, "hour": 12}})",
         "new Date(1486555200000)"},
        {R"({"$dateFromParts": {"isoWeekYear": 2017, "isoWeek": 6, "isoDayOfWeek": 3,
            "hour": 12}})",
         "new Date(1486555200000)"},
        {R"({"$dateFromParts": {"year": 2016, "month": 12, "day": 31, "hour": 23, "minute": 46,
            "second": 12, "timezone": "America/New_York"}})",
         "new Date(1483245972000)"},
        {R"({"$dateFromParts": {"year": 2017, "month": 14, "day": 1}})", "new Date(1517443200000)"},
        {R"({"$dateFromParts": {"year": 2017, "month": 0, "day": 1}})", "new Date(1480550400000)"},
        {R"({"$dateFromParts": {"year": 2017, "isoWeek": 1}})", "error 40489"},
        {R"({"$dateFromParts": {"isoWeekYear": 2017, "month": 1}})", "error 40525"},
        {R"({"$dateFromParts": {"month": 1}})", "error 40516"},
        {R"({"$dateFromParts": {"year": 0}})", "error 40523"},
        {R"({"$dateFromParts": {"year": null}})", "null"},
        {R"({"$dateToString": {"date": {"$date": 1483243695123}}})",
         R"("2017-01-01T04:08:15.123Z")"},
        {R"({"$dateToString": {"format": "%H:%M:%S:%L%z %Z %% %j %U %V %u %w %G",
            "timezone": "America/New_York", "date": {"$date": 1391865330555}}})",
         R"("08:15:30:555-0500 -300 % 039 05 06 6 7 2014")"},
        {R"({"$dateToString": {"format": "%d %b %B %Y", "date": {"$date": 0}}})",
         R"("01 Jan January 1970")"},
        {R"({"$dateToString": {"date": {"$date": 0}, "timezone": "+01:00"}})",
         R"("1970-01-01T01:00:00.000")"},
        {R"({"$dateToString": {"date": null, "onNull": "none"}})", R"("none")"},
        {R"({"$dateToString": {"date": {"$date": 0}, "format": "%n"}})", "error 18536"},
        {R"({"$dateToString": {"date": {"$date": 0}, "format": "%"}})", "error 18535"},
    });
}

TEST(Operators, DatesOfTexts) {
    const auto date = [](const std::string& text) {
        return value_of(R"({"$toString": {"$dateFromString": {"dateString": ")" + text + "\"}}}");
    };
    for (const char* text :
         {"2017-02-08T12:10:40.787Z", "2017-02-08 12:10:40.787", "2017-02-08T12:10:40.787",
          "2017-02-08T13:10:40.787+01:00", "2017-02-08T07:10:40.787 America/New_York",
          "20170208T121040.787Z", "2017/02/08 12:10:40.787", "02/08/2017 12:10:40.787",
          "8 Feb 2017 12:10:40.787", "February 8th, 2017 12:10:40.787 PM",
          "Wed, 08 Feb 2017 12:10:40.787 GMT", "2017-W06-3T12:10:40.787Z",
          "2017-039T12:10:40.787Z"})
        EXPECT_EQ(date(text), R"("2017-02-08T12:10:40.787Z")") << text;
    EXPECT_EQ(date("2017-02-08"), R"("2017-02-08T00:00:00.000Z")");
    for (const char* text : {"", "x", "2017-13-01", "2017-02-30", "12:10", "2017-02-08T25:00",
                             "2017-02-08 2017-02-08", "2017-02-08T12:10:40 Mars/Base", "2017"})
        EXPECT_EQ(date(text), "error 241") << text;
    expect({
        {R"({"$dateFromString": {"dateString": "2017-02-08", "timezone": "America/New_York"}})",
         "new Date(1486530000000)"},
        {R"({"$dateFromString": {"dateString": "2017-02-08T00:00Z", "timezone": "UTC"}})",
         "error 241"},
        {R"({"$dateFromString": {"dateString": "06-15-2018", "format": "%m-%d-%Y"}})",
         "new Date(1529020800000)"},
        {R"({"$dateFromString": {"dateString": "15 June 2018 +0200", "format": "%d %B %Y %z"}})",
         "new Date(1529013600000)"},
        {R"({"$dateFromString": {"dateString": "2018-24-1", "format": "%G-%V-%u"}})",
         "new Date(1528675200000)"},
        {R"({"$dateFromString": {"dateString": "2018", "format": "%Y"}})", "error 241"},
        {R"({"$dateFromString": {"dateString": "2018x", "format": "%Y"}})", "error 241"},
        {R"({"$dateFromString": {"dateString": "x", "onError": "bad"}})", R"("bad")"},
        {R"({"$dateFromString": {"dateString": 5, "onError": "bad"}})", R"("bad")"},
        {R"({"$dateFromString": {"dateString": null, "onNull": "none"}})", R"("none")"},
        {R"({"$dateFromString": {"dateString": "x", "format": "%q"}})", "error 18536"},
    });
}

TEST(Operators, DateArithmetic) {
    const auto text = [](const std::string& expression) {
        return value_of(R"({"$toString": )" + expression + "}");
    };
    const auto add = [&](const char* start, const char* unit, int amount,
                         const std::string& more = "") {
        return text(R"({"$dateAdd": {"startDate": {"$toDate": ")" + std::string(start) +
                    R"("}, "unit": ")" + unit + R"(", "amount": )" + std::to_string(amount) + more +
                    "}}");
    };
    EXPECT_EQ(add("2020-10-31", "month", 1), R"("2020-11-30T00:00:00.000Z")");
    EXPECT_EQ(add("2020-02-29", "year", 1), R"("2021-02-28T00:00:00.000Z")");
    EXPECT_EQ(add("2020-12-31", "quarter", 1), R"("2021-03-31T00:00:00.000Z")");
    EXPECT_EQ(add("2020-12-31T01:00", "week", -1), R"("2020-12-24T01:00:00.000Z")");
    EXPECT_EQ(add("2020-12-31T01:00", "hour", 25), R"("2021-01-01T02:00:00.000Z")");
    // A day in New York that has 23 hours.
    EXPECT_EQ(add("2021-03-13T17:00Z", "day", 1, R"(, "timezone": "America/New_York")"),
              R"("2021-03-14T16:00:00.000Z")");
    EXPECT_EQ(add("2021-03-13T17:00Z", "hour", 24, R"(, "timezone": "America/New_York")"),
              R"("2021-03-14T17:00:00.000Z")");
    EXPECT_EQ(add("2020-12-31", "fortnight", 1), "error 9");
    EXPECT_EQ(text(R"({"$dateSubtract": {"startDate": {"$toDate": "2021-03-31"}, "unit": "month",
        "amount": 1}})"),
              R"("2021-02-28T00:00:00.000Z")");
    expect({
        {R"({"$dateAdd": {"startDate": null, "unit": "day", "amount": 1}})", "null"},
        {R"({"$dateAdd": {"startDate": 5, "unit": "day", "amount": 1}})", "error 5166403"},
        {R"({"$dateAdd": {"startDate": {"$date": 0}, "unit": "day", "amount": 1.5}})",
         "error 5166405"},
        {R"({"$dateAdd": {"startDate": {"$date": 0}, "unit": "day"}})", "error 5166402"},
        {R"({"$dateAdd": {"startDate": {"$date": 0}, "unit": "year",
            "amount": {"$numberLong": "9223372036854775807"}}})",
         "error 5166406"},
        {R"({"$dateSubtract": {"startDate": {"$date": 0}, "unit": "month",
            "amount": {"$numberLong": "-9223372036854775808"}}})",
         "error 6045000"},
    });
    const auto diff = [&](const char* from, const char* to, const char* unit,
                          const std::string& more = "") {
        return value_of(R"({"$dateDiff": {"startDate": {"$toDate": ")" + std::string(from) +
                        R"("}, "endDate": {"$toDate": ")" + to + R"("}, "unit": ")" + unit + "\"" +
                        more + "}}");
    };
    EXPECT_EQ(diff("2020-12-31T23:59:59", "2021-01-01", "year"), "1");
    EXPECT_EQ(diff("2021-01-01", "2020-12-31", "quarter"), "-1");
    EXPECT_EQ(diff("2020-11-01", "2021-02-28", "month"), "3");
    EXPECT_EQ(diff("2021-01-24", "2021-01-25", "week"), "0");
    EXPECT_EQ(diff("2021-01-24", "2021-01-25", "week", R"(, "startOfWeek": "mon")"), "1");
    EXPECT_EQ(diff("2021-01-23", "2021-01-24", "week"), "1");
    EXPECT_EQ(diff("2021-01-01T23:00Z", "2021-01-02T01:00Z", "day"), "1");
    EXPECT_EQ(diff("2021-01-01T23:00Z", "2021-01-02T01:00Z", "day",
                   R"(, "timezone": "America/New_York")"),
              "0");
    EXPECT_EQ(diff("2021-01-01T01:59:59", "2021-01-01T02:00", "hour"), "1");
    EXPECT_EQ(diff("2021-01-01", "2021-01-02", "millisecond"), "86400000");
    const auto trunc = [&](const char* date, const char* unit, const std::string& more = "") {
        return text(R"({"$dateTrunc": {"date": {"$toDate": ")" + std::string(date) +
                    R"("}, "unit": ")" + unit + "\"" + more + "}}");
    };
    EXPECT_EQ(trunc("2021-03-20T11:30:05.123", "hour"), R"("2021-03-20T11:00:00.000Z")");
    EXPECT_EQ(trunc("2021-03-20T11:30:05", "hour", R"(, "binSize": 2)"),
              R"("2021-03-20T10:00:00.000Z")");
    EXPECT_EQ(trunc("2021-03-20T11:30:05", "week"), R"("2021-03-14T00:00:00.000Z")");
    EXPECT_EQ(trunc("2021-03-20T11:30:05", "week", R"(, "startOfWeek": "Monday")"),
              R"("2021-03-15T00:00:00.000Z")");
    EXPECT_EQ(trunc("2021-03-20T11:30:05", "month", R"(, "timezone": "America/Los_Angeles")"),
              R"("2021-03-01T08:00:00.000Z")");
    EXPECT_EQ(trunc("2021-03-20T11:30:05", "quarter"), R"("2021-01-01T00:00:00.000Z")");
    EXPECT_EQ(trunc("1999-03-20T11:30:05", "year", R"(, "binSize": 5)"),
              R"("1995-01-01T00:00:00.000Z")");
    EXPECT_EQ(trunc("2021-03-20T11:30:05", "day", R"(, "binSize": 0)"), "error 5439018");
    EXPECT_EQ(trunc("2021-03-20T11:30:05", "week", R"(, "binSize": 100000000000)"),
              R"("2000-01-02T00:00:00.000Z")");
    EXPECT_EQ(trunc("1999-03-20T11:30:05", "week", R"(, "binSize": 100000000000)"), "error 15");
}

TEST(Operators, TheDialectOf26IsAsItWas) {
    EXPECT_EQ(old_value_of(R"({"$add": [{"$numberLong": "9223372036854775807"}, 1]})"),
              "-9223372036854775808");
    EXPECT_EQ(old_value_of(R"({"$divide": [1, 0]})"), "error 16608");
    EXPECT_EQ(old_value_of(R"({"$toUpper": {"$date": 0}})"), R"("1970-01-01T00:00:00")");
    EXPECT_EQ(old_value_of(R"({"$hour": null})"), "error 16006");
    EXPECT_EQ(old_value_of(R"({"$toInt": "1"})"), "error 15999");
    EXPECT_EQ(old_value_of(R"({"$ifNull": ["$none", null, 1]})"), "error 16020");
    EXPECT_EQ(old_value_of(R"({"$map": {"input": "$a", "in": 1}})"), "error 16881");
    EXPECT_EQ(old_value_of(R"({"$eq": ["$$NOW", 1]})"), "error 17276");
}

TEST(Operators, WhatIsNotThereIsRefusedByName) {
    expect({
        {R"({"$function": {"body": "x", "args": [], "lang": "js"}})", "error 115"},
        {R"({"$accumulator": {}})", "error 168"},
        {R"({"$meta": "searchScore"})", "error 17308"},
        {R"({"$nope": 1})", "error 31325"},  // as a field of $project
        {R"({"$add": [1, {"$nope": 1}]})", "error 168"},
    });
}

}  // namespace
}  // namespace query

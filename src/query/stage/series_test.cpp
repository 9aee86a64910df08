// $documents, $densify, $fill and the window functions of series, by the documentation of each.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "query/stage/testing/pipelines.h"

namespace query {
namespace {

std::string window(const std::string& function, const std::vector<std::string>& documents) {
    return made_of(R"({"$setWindowFields": {"sortBy": {"t": 1}, "output": {"v": )" + function +
                       R"(}}}, {"$project": {"v": 1, "_id": 0}})",
                   documents);
}

TEST(Documents, BeginAPipeline) {
    EXPECT_EQ(made_of(R"({"$documents": [{"a": 1}, {"a": {"$add": [1, 1]}}]})", {R"({"b": 1})"}),
              "{ a: 1 }{ a: 2 }");
    EXPECT_EQ(made_of(R"({"$documents": []})", {}), "");
    EXPECT_EQ(made_of(R"({"$documents": [{"a": 1}]}, {"$match": {"a": 2}})", {}), "");
    EXPECT_EQ(made_of(R"({"$documents": {"a": 1}})", {}), "error 5858203");
    EXPECT_EQ(made_of(R"({"$documents": [1]})", {}), "error 5858203");
    EXPECT_EQ(made_of(R"({"$documents": "$a"})", {}), "error 5858203");
    EXPECT_EQ(made_of(R"({"$match": {}}, {"$documents": []})", {}), "error 40602");
    EXPECT_EQ(made_of(R"({"$facet": {"f": [{"$documents": []}]}})", {}), "error 40600");
}

TEST(Densify, FillsTheGapsOfEachPartition) {
    const char* const input[] = {R"({"t": 600, "g": "a", "x": 1})", R"({"t": 1700, "g": "b"})",
                                 R"({"t": 750, "g": "a"})", R"({"t": 950, "g": "a"})",
                                 R"({"t": 1250, "g": "b"})"};
    const auto densify = [&](const std::string& range) {
        return made_of(
            R"({"$densify": {"field": "t", "partitionByFields": ["g"], "range": )" + range + "}}",
            {input[0], input[1], input[2], input[3], input[4]});
    };
    EXPECT_EQ(densify(R"({"step": 200, "bounds": "partition"})"),
              R"({ t: 600, g: "a", x: 1 }{ t: 750, g: "a" }{ g: "a", t: 800 }{ t: 950, g: "a" })"
              R"({ t: 1250, g: "b" }{ g: "b", t: 1450 }{ g: "b", t: 1650 }{ t: 1700, g: "b" })");
    EXPECT_EQ(densify(R"({"step": 200, "bounds": "full"})"),
              R"({ t: 600, g: "a", x: 1 }{ t: 750, g: "a" }{ g: "a", t: 800 }{ t: 950, g: "a" })"
              R"({ g: "a", t: 1000 }{ g: "a", t: 1200 }{ g: "a", t: 1400 }{ g: "a", t: 1600 })"
              R"({ g: "b", t: 600 }{ g: "b", t: 800 }{ g: "b", t: 1000 }{ g: "b", t: 1200 })"
              R"({ t: 1250, g: "b" }{ g: "b", t: 1400 }{ g: "b", t: 1600 }{ t: 1700, g: "b" })");
    EXPECT_EQ(densify(R"({"step": 500, "bounds": [500, 1500]})"),
              R"({ g: "a", t: 500 }{ t: 600, g: "a", x: 1 }{ t: 750, g: "a" }{ t: 950, g: "a" })"
              R"({ g: "a", t: 1000 }{ g: "b", t: 500 }{ g: "b", t: 1000 }{ t: 1250, g: "b" })"
              R"({ t: 1700, g: "b" })");
}

TEST(Densify, CountsDatesByTheCalendar) {
    EXPECT_EQ(made_of(R"({"$densify": {"field": "d.t", "range": {"step": 1, "unit": "month",
                          "bounds": [{"$date": "2024-01-31T00:00:00Z"},
                                     {"$date": "2024-04-30T00:00:00Z"}]}}})",
                      {R"({"_id": 1, "d": {"t": {"$date": "2024-02-29T00:00:00Z"}}})"}),
              "{ d: { t: new Date(1706659200000) } }{ _id: 1, d: { t: new Date(1709164800000) } }"
              "{ d: { t: new Date(1711843200000) } }");
}

TEST(Densify, PassesOnWhatHasNoValueAndMakesNumbersOfTheirType) {
    EXPECT_EQ(made_of(R"({"$densify": {"field": "t", "range": {"step": 1, "bounds": "full"}}})",
                      {R"({"t": 3})", R"({"a": 1})", R"({"t": 1})", R"({"t": null})"}),
              "{ a: 1 }{ t: null }{ t: 1 }{ t: 2 }{ t: 3 }");
    EXPECT_EQ(made_of(R"({"$densify": {"field": "t", "range": {"bounds": [0, 1],
                          "step": {"$numberDecimal": "0.5"}}}})",
                      {}),
              "{ t: 0 }{ t: NumberDecimal('0.5') }");
    EXPECT_EQ(made_of(R"({"$densify": {"field": "t", "range": {"step": 1, "bounds": "full"}}})",
                      {R"({"a": 1})"}),
              "{ a: 1 }");
}

TEST(Densify, RefusesWhatHasNoRange) {
    const auto error_of = [](const std::string& spec, const char* document = R"({"t": 1})") {
        return made_of(R"({"$densify": )" + spec + "}", {document, R"({"t": 2})"});
    };
    for (const auto& [spec, code] : std::initializer_list<std::pair<const char*, const char*>>{
             {R"({"field": "t"})", "error 40414"},
             {R"({"range": {"step": 1, "bounds": "full"}})", "error 40414"},
             {R"({"field": "t", "x": 1, "range": {"step": 1, "bounds": "full"}})", "error 40415"},
             {R"({"field": "t", "range": {"step": 0, "bounds": "full"}})", "error 5733401"},
             {R"({"field": "t", "range": {"step": 1, "bounds": "some"}})", "error 5733402"},
             {R"({"field": "t", "range": {"step": 1, "bounds": [2, 1]}})", "error 5733402"},
             {R"({"field": "t", "range": {"step": 1, "bounds": [2]}})", "error 5733403"},
             {R"({"field": "t", "range": {"step": 1, "bounds": "partition"}})", "error 5733408"},
             {R"({"field": "t", "range": {"step": 1.5, "unit": "day", "bounds": "full"}})",
              "error 6586400"},
             {R"({"field": "t", "range": {"step": 1, "unit": "day", "bounds": "full"}})",
              "error 5733201"},
             {R"({"field": "t", "range": {"step": 1, "bounds": [0, 1e9]}})", "error 5897900"}})
        EXPECT_EQ(error_of(spec), code) << spec;
    EXPECT_EQ(error_of(R"({"field": "t", "range": {"step": 1, "bounds": "full"}})",
                       R"({"t": {"$date": 5}})"),
              "error 5733201");
}

TEST(Fill, IsWrittenAsOtherStages) {
    const auto fill = [](const std::string& spec) {
        return made_of(R"({"$fill": )" + spec + R"(}, {"$project": {"_id": 0}})",
                       {R"({"t": 1, "v": 2})", R"({"t": 3, "v": 6})", R"({"t": 2, "v": null})"});
    };
    EXPECT_EQ(fill(R"({"sortBy": {"t": 1}, "output": {"v": {"method": "linear"}}})"),
              "{ t: 1, v: 2 }{ t: 2, v: 4.0 }{ t: 3, v: 6 }");
    EXPECT_EQ(fill(R"({"sortBy": {"t": 1}, "output": {"v": {"method": "locf"},
                       "w": {"value": {"$add": ["$t", 1]}}}})"),
              "{ t: 1, v: 2, w: 2 }{ t: 2, v: 2, w: 3 }{ t: 3, v: 6, w: 4 }");
    EXPECT_EQ(fill(R"({"sortBy": {"t": 1}, "partitionByFields": ["t"],
                       "output": {"v": {"method": "locf"}}})"),
              "{ t: 1, v: 2 }{ t: 2, v: null }{ t: 3, v: 6 }");
    EXPECT_EQ(fill(R"({"sortBy": {"t": 1}, "partitionBy": {"$mod": ["$t", 2]},
                       "output": {"v": {"method": "locf"}}})"),
              "{ t: 2, v: null }{ t: 1, v: 2 }{ t: 3, v: 6 }");
    EXPECT_EQ(fill(R"({"output": {"v": {"value": 9}}})"),
              "{ t: 1, v: 2 }{ t: 3, v: 6 }{ t: 2, v: 9 }");
    for (const auto& [spec, code] : std::initializer_list<std::pair<const char*, const char*>>{
             {R"({})", "error 40414"},
             {R"({"output": {}})", "error 6050203"},
             {R"({"output": {"v": {"method": "locf"}}})", "error 9"},
             {R"({"sortBy": {"t": 1}, "output": {"v": {"method": "x"}}})", "error 6050202"},
             {R"({"sortBy": {"t": 1}, "output": {"v": {"method": "locf", "value": 1}}})",
              "error 6050202"},
             {R"({"partitionBy": "$a", "partitionByFields": ["a"], "output": {"v": {"value": 1}}})",
              "error 6050204"}})
        EXPECT_EQ(fill(spec), code) << spec;
}

TEST(Windows, AreOfUnitsOfTime) {
    const auto sum = [](const char* range) {
        return window(R"({"$sum": 1, "window": )" + std::string(range) + "}",
                      {R"({"t": {"$date": "2024-01-31T00:00:00Z"}})",
                       R"({"t": {"$date": "2024-02-29T00:00:00Z"}})",
                       R"({"t": {"$date": "2024-03-01T00:00:00Z"}})"});
    };
    EXPECT_EQ(sum(R"({"range": [-1, 0], "unit": "month"})"), "{ v: 1 }{ v: 2 }{ v: 2 }");
    EXPECT_EQ(sum(R"({"range": ["current", 1], "unit": "day"})"), "{ v: 1 }{ v: 2 }{ v: 1 }");
    EXPECT_EQ(sum(R"({"range": ["unbounded", "current"], "unit": "hour"})"),
              "{ v: 1 }{ v: 2 }{ v: 3 }");
    EXPECT_EQ(sum(R"({"range": [-1, 0]})"), "error 5429414");
    EXPECT_EQ(sum(R"({"range": [-1.5, 0], "unit": "day"})"), "error 9");
    EXPECT_EQ(sum(R"({"range": [-1, 0], "unit": "aeon"})"), "error 9");
    EXPECT_EQ(sum(R"({"documents": [-1, 0], "unit": "day"})"), "error 9");
    EXPECT_EQ(
        window(R"({"$sum": 1, "window": {"range": [-1, 0], "unit": "day"}})", {R"({"t": 1})"}),
        "error 5429413");
}

TEST(Windows, OfDecimalsAreExact) {
    EXPECT_EQ(
        window(R"({"$sum": 1, "window": {"range": [{"$numberDecimal": "-0.2"}, 0]}})",
               {R"({"t": {"$numberDecimal": "0.1"}})", R"({"t": {"$numberDecimal": "0.3"}})"}),
        "{ v: 1 }{ v: 2 }");
}

TEST(Windows, TellHowFastValuesChange) {
    const char* const speed =
        R"({"$derivative": {"input": "$m", "unit": "hour"}, "window": {"documents": [-1, 0]}})";
    EXPECT_EQ(
        window(speed, {R"({"t": {"$date": 0}, "m": 10})", R"({"t": {"$date": 1800000}, "m": 40})",
                       R"({"t": {"$date": 1800000}, "m": 5})",
                       R"({"t": {"$date": 3600000}, "m": {"$numberDecimal": "5"}})"}),
        "{ v: null }{ v: 60.0 }{ v: null }{ v: NumberDecimal('0E+1') }");
    EXPECT_EQ(window(speed, {R"({"t": {"$date": 0}, "m": 10})", R"({"t": {"$date": 5}})"}),
              "{ v: null }{ v: null }");
    EXPECT_EQ(window(speed, {R"({"t": 1, "m": 1})", R"({"t": 2, "m": 1})"}), "error 5624900");
    EXPECT_EQ(window(R"({"$derivative": {"input": "$m"}, "window": {"documents": [0, 1]}})",
                     {R"({"t": 1, "m": 1})", R"({"t": 3, "m": 4})"}),
              "{ v: 1.5 }{ v: null }");
    EXPECT_EQ(window(R"({"$derivative": {"input": "$m"}})", {R"({"t": 1, "m": 1})"}), "error 9");
    EXPECT_EQ(window(R"({"$derivative": {"input": "$m", "unit": "month"},
                         "window": {"documents": [0, 1]}})",
                     {R"({"t": 1, "m": 1})"}),
              "error 9");
}

TEST(Windows, SumAreas) {
    EXPECT_EQ(window(R"({"$integral": {"input": "$p", "unit": "hour"},
                         "window": {"range": ["unbounded", "current"], "unit": "hour"}})",
                     {R"({"t": {"$date": 0}, "p": 2})", R"({"t": {"$date": 1800000}, "p": 4})",
                      R"({"t": {"$date": 3600000}, "p": 4})"}),
              "{ v: 0.0 }{ v: 1.5 }{ v: 3.5 }");
    EXPECT_EQ(window(R"({"$integral": {"input": "$p"}, "window": {"documents": [-1, 0]}})",
                     {R"({"t": 0, "p": 2})", R"({"t": 2, "p": 4})", R"({"t": 3, "p": 8})"}),
              "{ v: 0.0 }{ v: 6.0 }{ v: 6.0 }");
    EXPECT_EQ(window(R"({"$integral": {"input": "$p"}})", {R"({"t": 0, "p": "x"})"}),
              "error 5423900");
    EXPECT_EQ(window(R"({"$integral": {"input": "$p", "unit": "day"}})", {R"({"t": 0, "p": 1})"}),
              "error 5423901");
}

TEST(Windows, AverageAndFill) {
    const auto average = [](const char* how) {
        return window(R"({"$expMovingAvg": {"input": "$p", )" + std::string(how) + "}}",
                      {R"({"t": 1, "p": 13})", R"({"t": 2, "p": 15.4})", R"({"t": 3, "p": null})",
                       R"({"t": 4, "p": 12})", R"({"t": 5, "p": 11.7})"});
    };
    EXPECT_EQ(average(R"("N": 2)"),
              "{ v: 13.0 }{ v: 14.6 }{ v: null }{ v: 12.86666666666667 }{ v: 12.08888888888889 }");
    EXPECT_EQ(average(R"("alpha": 0.75)"),
              "{ v: 13.0 }{ v: 14.8 }{ v: null }{ v: 12.7 }{ v: 11.95 }");
    for (const char* how :
         {R"("N": 0)", R"("N": 1.5)", R"("alpha": 1)", R"("x": 1)", R"("N": 2, "alpha": 0.5)"})
        EXPECT_EQ(average(how), "error 9") << how;
    EXPECT_EQ(window(R"({"$locf": "$p"})",
                     {R"({"t": 1})", R"({"t": 2, "p": "x"})", R"({"t": 3, "p": null})"}),
              R"({ v: null }{ v: "x" }{ v: "x" })");
    EXPECT_EQ(window(R"({"$locf": "$p", "window": {"documents": [0, 1]}})", {R"({"t": 1})"}),
              "error 5371601");
    EXPECT_EQ(
        window(R"({"$linearFill": "$p"})", {R"({"t": 1})", R"({"t": 2, "p": 10})", R"({"t": 3})",
                                            R"({"t": 6, "p": 30})", R"({"t": 7})"}),
        "{ v: null }{ v: 10 }{ v: 15.0 }{ v: 30 }{ v: null }");
    EXPECT_EQ(window(R"({"$linearFill": "$p"})", {R"({"t": 1})", R"({"t": 1})"}), "error 6050106");
    EXPECT_EQ(window(R"({"$linearFill": "$p"})", {R"({"t": 1, "p": "x"})"}), "error 6050201");
    EXPECT_EQ(window(R"({"$linearFill": "$p"})", {R"({"t": "x"})"}), "error 6050101");
}

// Each by itself, as its documentation says it.
TEST(Windows, AreAsComputedOneByOne) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](int least, int most) {
        return std::uniform_int_distribution(least, most)(random);
    };
    for (int round = 0; round < 60; ++round) {
        std::vector<std::pair<int, int>> points;  // in order, of even heights
        std::set<int> places;
        for (int n = pick(1, 12); n > 0; --n)
            places.insert(pick(0, 40));
        std::vector<std::string> documents;
        for (const int t : places) {
            points.emplace_back(t, 2 * pick(-9, 9));
            documents.push_back(fmt::format(R"({{"t": {}, "p": {}}})", t, points.back().second));
        }
        std::ranges::shuffle(documents, random);
        const bool by_range = pick(0, 1) == 1;
        const int low = pick(-6, 3);
        const int high = low + pick(0, 8);
        std::string areas;
        std::string slopes;
        std::string sums;
        for (size_t at = 0; at < points.size(); ++at) {
            std::vector<std::pair<int, int>> in;
            for (size_t i = 0; i < points.size(); ++i) {
                const int from = by_range ? points[i].first - points[at].first
                                          : static_cast<int>(i) - static_cast<int>(at);
                if (from >= low && from <= high) in.push_back(points[i]);
            }
            double area = 0;
            int sum = 0;
            for (size_t i = 0; i < in.size(); ++i) {
                sum += in[i].second;
                if (i > 0)
                    area +=
                        (in[i].first - in[i - 1].first) * ((in[i].second + in[i - 1].second) / 2.0);
            }
            areas += in.empty() ? "{ v: null }" : fmt::format("{{ v: {:.1f} }}", area);
            sums += fmt::format("{{ v: {} }}", sum);
            const double rise = in.empty() ? 0 : in.back().second - in.front().second;
            const double way = in.empty() ? 0 : in.back().first - in.front().first;
            bson::Builder slope;
            if (in.size() < 2)
                slope.append_null("v");
            else
                slope.append("v", rise / way);
            slopes += bson::to_text(slope.doc());
        }
        const std::string bounds = fmt::format(R"(, "window": {{"{}": [{}, {}]}}}})",
                                               by_range ? "range" : "documents", low, high);
        EXPECT_EQ(window(R"({"$integral": {"input": "$p"})" + bounds, documents), areas) << bounds;
        EXPECT_EQ(window(R"({"$sum": "$p")" + bounds, documents), sums) << bounds;
        EXPECT_EQ(window(R"({"$derivative": {"input": "$p"})" + bounds, documents), slopes)
            << bounds;
    }
}

TEST(Densify, HasEachValueOfTheGridOnce) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](int least, int most) {
        return std::uniform_int_distribution(least, most)(random);
    };
    for (int round = 0; round < 60; ++round) {
        std::vector<std::string> documents;
        std::multiset<int> values;
        for (int n = pick(0, 8); n > 0; --n) {
            const int value = pick(-20, 20);
            values.insert(value);
            documents.push_back(fmt::format(R"({{"t": {}}})", value));
        }
        const int step = pick(1, 7);
        const int low = pick(-25, 10);
        const int high = low + pick(0, 30);
        const bool given = pick(0, 1) == 1 || values.empty();
        std::multiset<int> wanted = values;
        const int first = given ? low : *values.begin();
        const int last = given ? high - 1 : *values.rbegin();
        for (int v = first; v <= last; v += step)
            if (!values.contains(v)) wanted.insert(v);
        std::string text;
        for (const int v : wanted)
            text += fmt::format("{{ t: {} }}", v);
        EXPECT_EQ(
            made_of(fmt::format(
                        R"({{"$densify": {{"field": "t", "range": {{"step": {},
                                          "bounds": {}}}}}}})",
                        step, given ? fmt::format("[{}, {}]", low, high) : std::string("\"full\"")),
                    documents),
            text);
    }
}

}  // namespace
}  // namespace query

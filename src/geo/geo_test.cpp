// Places and shapes on the plane, and the texts of cells; shapes on the sphere are tested in
// geo/sphere/.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "geo/flat.h"
#include "geo/grid.h"
#include "geo/index_kind.h"
#include "geo/near.h"
#include "geo/predicate.h"
#include "geo/shape.h"

namespace geo {
namespace {

bson::Object doc(std::string_view json) {
    return bson::from_json(json);
}

int code_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const base::Error& error) {
        return error.code();
    }
    return 0;
}

TEST(Pair, IsTheFirstTwoNumbers) {
    const bson::Object d =
        doc(R"({"a":[1,2],"b":{"lng":1,"lat":2},"c":[1,2,3],"d":[1],"e":["x",1],"f":5})");
    EXPECT_EQ(pair_of(d["a"]), (Point{1, 2}));
    EXPECT_EQ(pair_of(d["b"]), (Point{1, 2}));
    EXPECT_EQ(pair_of(d["c"]), (Point{1, 2}));
    EXPECT_FALSE(pair_of(d["c"], PairEnd::exact));
    EXPECT_FALSE(pair_of(d["d"]));
    EXPECT_FALSE(pair_of(d["e"]));
    EXPECT_FALSE(pair_of(d["f"]));
}

TEST(Grid, HasTheNumbersOfOldIndexes) {
    const Grid grid{bson::Object()};
    EXPECT_EQ(grid.number({0, 0}), 0xc000000000000000u);
    EXPECT_EQ(grid.number({-180, -180}), 0u);
    EXPECT_EQ(grid.number({180, 180}), 0xfffffffffffff000u);
    EXPECT_EQ(grid.number({1, 2}), 0xc0019e78019e7000u);
    EXPECT_EQ(code_of([&] { grid.number({181, 0}); }), 13027);
    EXPECT_EQ(code_of([&] { grid.number({std::nan(""), 0}); }), 13027);
    EXPECT_EQ(code_of([] { Grid(doc(R"({"bits":33})")); }), 16803);
}

// An index may have been made with any bounds.
TEST(Grid, CoversWithinOddBounds) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr std::pair<double, double> kBounds[] = {
        {-1e15, 1e15},           {-1e300, 1e300},  {-1e308, 1e308},  {-1e308, 1},
        {-kInfinity, 5},         {0, kInfinity},   {3, 3},           {0, 1e-310},
        {-kInfinity, kInfinity}, {1e15, 1e15 + 3}, {1e6, 1e6 + 1e-7}};
    for (const auto& [min, max] : kBounds) {
        const Grid grid(bson::make("min", min, "max", max));
        for (double at : {min, min / 2 + max / 2, std::nextafter(min, max), max, 0.0, 1.0, 3.0}) {
            const Point place{at, at};
            if (!grid.has(place)) continue;
            const uint64_t number = grid.number(place);
            const auto shape = make_box(place, place);
            const auto spans = grid.cover([&](const Box& box) { return shape->overlap(box); });
            EXPECT_TRUE(std::ranges::any_of(
                spans,
                [&](const Span& span) { return span.first <= number && number <= span.last; }))
                << min << ' ' << max << ' ' << at;
        }
    }
}

// Each place of a shape has its number in one of the ranges, whatever the shape.
TEST(Grid, CoversWhatAShapeHas) {
    std::mt19937 random(20261130);
    std::uniform_real_distribution<double> coordinate(-170, 170);
    std::uniform_real_distribution<double> size(0, 60);
    for (const int bits : {1, 7, 26, 32}) {
        const Grid grid(bson::make("bits", bits));
        for (int round = 0; round < 50; ++round) {
            const Point at{coordinate(random), coordinate(random)};
            std::unique_ptr<const FlatShape> shape;
            switch (round % 4) {
                case 0:
                    shape = make_box(at, {at.x + size(random), at.y + size(random)});
                    break;
                case 1:
                    shape = make_circle(at, size(random));
                    break;
                case 2:
                    shape = make_polygon({at, {at.x + size(random), at.y}, {at.x, at.y + 9}});
                    break;
                default:
                    shape = make_cap({at.x, at.y / 2}, size(random) / 60);
            }
            const auto spans = grid.cover([&](const Box& box) { return shape->overlap(box); });
            for (int i = 0; i < 200; ++i) {
                const Point place{coordinate(random), coordinate(random)};
                if (!shape->contains(place)) continue;
                const uint64_t number = grid.number(place);
                EXPECT_TRUE(std::ranges::any_of(
                    spans,
                    [&](const Span& span) { return span.first <= number && number <= span.last; }))
                    << place.x << ' ' << place.y;
            }
        }
    }
}

TEST(FlatShapes, HaveTheirEdges) {
    EXPECT_TRUE(make_box({0, 0}, {2, 2})->contains({2, 1}));
    EXPECT_FALSE(make_box({2, 2}, {0, 0})->contains({1, 1}));
    EXPECT_TRUE(make_circle({0, 0}, 5)->contains({3, 4}));
    const auto polygon = make_polygon({{0, 0}, {4, 0}, {4, 4}});
    EXPECT_TRUE(polygon->contains({4, 4}));
    EXPECT_FALSE(polygon->contains({2, 2}));  // an edge to the left
    EXPECT_TRUE(polygon->contains({2, 0}));
    EXPECT_TRUE(make_polygon({{0, 0}, {4, 0}, {0, 4}})->contains({2, 2}));
    EXPECT_FALSE(polygon->contains({1, 2}));
}

TEST(GeoJson, IsRefusedWhereItIsMalformed) {
    std::string why;
    const auto reads = [&](const char* json, Rules rules = Rules::old) {
        return read_geojson(doc(json).doc().first(), rules, why).has_value();
    };
    EXPECT_TRUE(reads(R"({"g":{"type":"Point","coordinates":[1,2]}})"));
    EXPECT_FALSE(reads(R"({"g":{"type":"Point","coordinates":[1,2,3]}})"));
    EXPECT_TRUE(reads(R"({"g":{"type":"Point","coordinates":[1,2,3]}})", Rules::today));
    EXPECT_FALSE(reads(R"({"g":{"type":"Point","coordinates":[181,2]}})"));
    EXPECT_FALSE(reads(R"({"g":{"type":"point","coordinates":[1,2]}})"));
    EXPECT_FALSE(reads(R"({"g":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}})"));
    EXPECT_FALSE(reads(R"({"g":{"type":"MultiPoint","coordinates":[]}})"));
    EXPECT_FALSE(reads(R"({"g":{"type":"GeometryCollection","geometries":[5]}})"));
    EXPECT_FALSE(why.empty());
}

TEST(Cells, AreTextsOfAFaceAndDigits) {
    const uint64_t face = uint64_t{1} << 60;  // of face 0
    EXPECT_EQ(cell_level(face), 0);
    EXPECT_EQ(cell_text(face), "0f");
    const uint64_t first = face >> 2;
    EXPECT_EQ(cell_text(first), "0f0");
    EXPECT_EQ(cell_parent(first, 0), face);
    const CellRanges ranges = ranges_of_cells({first}, 0);
    ASSERT_EQ(ranges.ranges.size(), 2u);
    EXPECT_EQ(ranges.ranges[0].low, "0f");
    EXPECT_TRUE(ranges.ranges[0].high_inclusive);
    EXPECT_EQ(ranges.ranges[1].low, "0f0");
    EXPECT_EQ(ranges.ranges[1].high, "0f1");
}

TEST(Predicate, ChecksItsShape) {
    const auto code = [](const char* json) {
        return code_of(
            [&] { Predicate::parse(Predicate::Ask::within, doc(json).doc().first(), Rules::old); });
    };
    EXPECT_EQ(code(R"({"$geoWithin":{"$box":[[0,0],[1,1]]}})"), 0);
    EXPECT_EQ(code(R"({"$geoWithin":{"$box":[[0,0]]}})"), base::kBadValue);
    EXPECT_EQ(code(R"({"$geoWithin":{"$center":[[0,0],-1]}})"), base::kBadValue);
    EXPECT_EQ(code(R"({"$geoWithin":{}})"), base::kBadValue);
    EXPECT_EQ(code(R"({"$geoWithin":{"$nothing":1}})"), base::kBadValue);
}

TEST(Near, ReadsBothForms) {
    const auto near = Near::parse(doc(R"({"$near":[1,2,7]})"), Rules::old);
    EXPECT_EQ(near->parts().centre, (Point{1, 2}));
    EXPECT_EQ(near->most(), 7);
    const bson::Object metres = doc(R"({"$near":{"$maxDistance":6378100,
                                        "$geometry":{"type":"Point","coordinates":[1,2]}}})");
    const auto point = Near::parse(metres, Rules::old);
    EXPECT_EQ(point->most(), 1);
    EXPECT_FALSE(point->can_use_flat());
    const auto code = [](const char* json) {
        return code_of([&] { Near::parse(doc(json), Rules::old); });
    };
    EXPECT_EQ(code(R"({"$near":5})"), base::kBadValue);
    EXPECT_EQ(code(R"({"$near":[1,1],"$maxDistance":"x"})"), 16895);
    EXPECT_EQ(code(R"({"$near":[1,1],"$minDistance":-1})"), 16894);
    EXPECT_EQ(code(R"({"$nearSphere":[200,0]})"), 17444);
    EXPECT_EQ(code(R"({"$near":{"$geometry":{"x":1,"y":1}}})"), 16681);
}

TEST(Haystack, HasBuckets) {
    const Haystack index(doc(R"({"key":{"loc":"geoHaystack","t":1},"bucketSize":1})"));
    EXPECT_EQ(index.text(doc(R"({"loc":[-1,-2]})")["loc"]), "179_178");
    EXPECT_EQ(index.number(std::nan("")), INT32_MIN);
    EXPECT_EQ(code_of([] { Haystack(doc(R"({"key":{"loc":"geoHaystack","t":1}})")); }), 16777);
}

TEST(Distances, AreThoseOfTheirIndexes) {
    EXPECT_EQ(flat_distance({0, 0}, {3, 4}), 5);
    EXPECT_DOUBLE_EQ(cosine_distance({0, 0}, {90, 0}), angle_between({0, 0}, {0, 90}));
    EXPECT_EQ(cosine_distance({5, 5}, {5, 5}), 0);
}

}  // namespace
}  // namespace geo

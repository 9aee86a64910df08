// Shapes on the sphere: the cells of old indexes, what contains what, what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "geo/sphere/parts_shape.h"
#include "geo/sphere/signs.h"
#include "geo/sphere/work.h"

namespace geo {
namespace {

std::unique_ptr<PartsShape> shape_of(const Parts& parts) {
    std::string why;
    auto made = PartsShape::make(parts, why);
    EXPECT_EQ(made == nullptr, !why.empty()) << why;
    return made;
}

Parts point(double x, double y) {
    return {{{x, y}}, {}, {}};
}

Parts box(double x0, double y0, double x1, double y1) {
    return {{}, {}, {{{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}, {x0, y0}}}}};
}

std::vector<std::string> texts(const Shape& shape, const Covering& how) {
    std::vector<std::string> out;
    for (const uint64_t cell : shape.cover(how))
        out.push_back(cell_text(cell));
    return out;
}

constexpr Covering kOfIndex{7, 14, 50};

TEST(Covering, HasTheCellOfAPoint) {
    EXPECT_EQ(texts(*shape_of(point(1, 2)), kOfIndex),
              std::vector<std::string>{"0f20000123130023"});
    EXPECT_EQ(texts(*shape_of(point(180, 0)), kOfIndex),
              std::vector<std::string>{"3f13333333333333"});
}

// The equator is the border of cells: which of them a line along it has is the old server's rule.
TEST(Covering, FollowsAnEdgeOfCells) {
    const auto line = shape_of({{}, {{{0, 0}, {40, 0}}}, {}});
    const auto cells = texts(*line, kOfIndex);
    EXPECT_TRUE(std::ranges::find(cells, "0f02222222222222") != cells.end());
    EXPECT_TRUE(std::ranges::find(cells, "0f2000000") != cells.end());
}

TEST(Covering, HasNoMoreCellsThanAskedForWhereItCan) {
    const auto cells = shape_of(box(10, 10, 10.5, 10.5))->cover(kOfIndex);
    EXPECT_LE(cells.size(), 50u);
    EXPECT_GT(shape_of(box(-60, -40, 60, 40))->cover(kOfIndex).size(), 1000u);
}

// Work ends as a server ends it: after about a second.
class Limited : public testing::Test {
  protected:
    struct TooMuch {};
    Limited() {
        left_ = kLimit;
        g_tick = [](int64_t cost) {
            if ((left_ -= cost) < 0) throw TooMuch();
        };
    }
    ~Limited() override { g_tick = nullptr; }

    static constexpr int64_t kLimit = 10'000'000;
    static inline int64_t left_;
};

// Far there and back.
Parts wild(int count) {
    Line line;
    for (int i = 0; i < count; ++i)
        line.push_back({static_cast<double>(i * 37 % 360 - 180), i * 17 % 170 - 85.0});
    return {{}, {line}, {}};
}

Line star(int count, double size = 1) {
    Line line;
    for (int i = 0; i < count; ++i) {
        const double angle = 2 * std::numbers::pi * i / count;
        const double radius = size * (i % 2 == 0 ? 10 : 15);
        line.push_back({radius * std::cos(angle), radius * std::sin(angle)});
    }
    line.push_back(line.front());
    return line;
}

Parts with_holes(int count) {
    constexpr int kInRow = 200;
    Parts parts = box(-1, -1, 60, 60);
    for (int i = 0; i < count; ++i) {
        const double x = i % kInRow * .25;
        const double y = static_cast<double>(i / kInRow) * .25;
        parts.polygons[0].push_back(box(x, y, x + .1, y + .1).polygons[0][0]);
    }
    return parts;
}

TEST_F(Limited, ALittleIsALittle) {
    shape_of(box(10, 10, 11, 11))->cover(kOfIndex);
    EXPECT_LT(left_, kLimit - 20);
    shape_of({{}, {}, {{star(1000)}}})->cover(kOfIndex);
    EXPECT_GT(left_, kLimit / 2);
}

TEST_F(Limited, NothingTakesTooLong) {
    const Parts far{{}, {}, {{star(50'000)}}};
    EXPECT_THROW(shape_of(wild(500))->cover(kOfIndex), TooMuch);
    EXPECT_THROW(shape_of({wild(5000).lines[0], {}, {}})->cover(kOfIndex), TooMuch);
    EXPECT_THROW(shape_of({{}, {star(100'000)}, {}})->cover(kOfIndex), TooMuch);
    EXPECT_THROW(shape_of(far), TooMuch);
    EXPECT_THROW(shape_of(with_holes(20'000)), TooMuch);
}

TEST_F(Limited, NoQuestionTakesTooLong) {
    const auto one = shape_of({{}, {star(20'000, .1)}, {}});
    const auto other = shape_of({{}, {star(20'000)}, {}});
    EXPECT_THROW((void)one->intersects(*other), TooMuch);
    const auto many = shape_of({star(20'000), {}, {}});
    EXPECT_THROW((void)many->intersects(*one), TooMuch);
}

TEST(PartsShapes, ContainAndMeet) {
    const auto square = shape_of(box(0, 0, 10, 10));
    EXPECT_TRUE(square->contains(*shape_of(point(5, 5))));
    EXPECT_TRUE(square->contains(*shape_of(point(0, 0))));  // its smallest cell is inside
    EXPECT_FALSE(square->contains(*shape_of(point(11, 5))));
    EXPECT_TRUE(square->contains(*shape_of(box(2, 2, 4, 4))));
    EXPECT_FALSE(square->contains(*shape_of(box(8, 8, 12, 12))));
    EXPECT_TRUE(square->intersects(*shape_of(box(8, 8, 12, 12))));
    EXPECT_FALSE(square->intersects(*shape_of(box(20, 20, 21, 21))));
    EXPECT_TRUE(square->intersects(*shape_of({{}, {{{-5, 5}, {15, 5}}}, {}})));
}

bool overlap(const Shape& a, const Shape& b) {
    constexpr Covering kOfQuery{0, 23, 20, true};
    const auto cells = a.cover(kOfIndex);
    const auto asked = b.cover(kOfQuery);
    return std::ranges::any_of(cells, [&](uint64_t cell) {
        return std::ranges::any_of(asked, [&](uint64_t other) {
            const int level = std::min(cell_level(cell), cell_level(other));
            return cell_parent(cell, level) == cell_parent(other, level);
        });
    });
}

// An index looks for no more than the cells.
TEST(PartsShapes, HaveNoPlaceOnAnEdgeThatTheirCellsHaveNot) {
    int found = 0;
    const auto look = [&](const Parts& shape, const Parts& place) {
        const auto polygon = shape_of(shape);
        const auto there = shape_of(place);
        if (!polygon->intersects(*there)) return;
        ++found;
        const Line& ring = shape.polygons[0][0];
        EXPECT_TRUE(overlap(*there, *polygon))
            << ring[0].x << " " << ring[0].y << " to " << ring[2].x << " " << ring[2].y;
        EXPECT_TRUE(overlap(*polygon, *there)) << ring[0].x << " " << ring[0].y;
    };
    for (double along = -44; along < 44; along += 3.25) {
        for (const double size : {0.25, 1.5, 4.0}) {
            look(box(along, 0, along + size, size), point(along + 0.25, 0));
            look(box(along, -size, along + size, 0), point(along + 0.25, 0));
            for (double border = -180; border <= 180; border += 45) {
                if (border < 180)
                    look(box(border, along, border + size, along + size),
                         point(border, along + 0.25));
                if (border > -180)
                    look(box(border - size, along, border, along + size),
                         point(border, along + 0.25));
            }
        }
    }
    EXPECT_GT(found, 500);
}

TEST(PartsShapes, ContainALineOfNoLengthWhereItsPlaceIs) {
    const auto here = shape_of(box(0, 0, 10, 10));
    const auto elsewhere = shape_of(box(20, 20, 30, 30));
    for (const double length : {0.0, 1e-15, 1e-14, 1e-13, 1e-12}) {
        const auto line = shape_of({{}, {{{5, 5}, {5, 5 + length}}}, {}});
        EXPECT_TRUE(here->contains(*line)) << length;
        EXPECT_FALSE(elsewhere->contains(*line)) << length;
    }
}

TEST(PartsShapes, AreTheSmallerPartOfTheSphere) {
    Parts turned = box(0, 0, 10, 10);
    std::ranges::reverse(turned.polygons[0][0]);
    EXPECT_TRUE(shape_of(turned)->contains(*shape_of(point(5, 5))));
    EXPECT_FALSE(shape_of(turned)->contains(*shape_of(point(50, 50))));
}

TEST(PartsShapes, RefuseWhatIsNoPolygon) {
    std::string why;
    EXPECT_EQ(PartsShape::make({{}, {}, {{{{0, 0}, {4, 4}, {4, 0}, {0, 4}, {0, 0}}}}}, why),
              nullptr);
    EXPECT_FALSE(why.empty());
    why.clear();
    Parts outside = box(0, 0, 4, 4);
    outside.polygons[0].push_back({{10, 10}, {11, 10}, {11, 11}, {10, 11}, {10, 10}});
    EXPECT_EQ(PartsShape::make(outside, why), nullptr);
    EXPECT_FALSE(why.empty());
}

TEST(PartsShapes, AreAsFarAsTheirNearestPlace) {
    EXPECT_NEAR(shape_of(point(0, 90))->distance({0, 0}), std::numbers::pi / 2, 1e-15);
    EXPECT_EQ(shape_of(box(-1, -1, 1, 1))->distance({0, 0}), 0);
    EXPECT_NEAR(shape_of({{}, {{{10, -5}, {10, 5}}}, {}})->distance({0, 0}),
                10 * std::numbers::pi / 180, 1e-3);
}

TEST(Rings, LeaveTheirInsideOut) {
    const RingShape ring({0, 0}, 0.1, 0.2);
    const auto has = [&](Point place) {
        const uint64_t leaf = S2CellId(to_s2(place)).id();
        for (const uint64_t cell : ring.cover({0, 12, 64}))
            if (cell_parent(leaf, cell_level(cell)) == cell) return true;
        return false;
    };
    EXPECT_TRUE(has({8.6, 0}));  // 0.15
    EXPECT_FALSE(has({0, 0}));
    EXPECT_FALSE(has({40, 0}));
}

// The farthest place lies in a ring that is hardly one.
TEST(Rings, ReachTheOtherPole) {
    for (const double inner : {3.0, 3.14, 3.14158, 3.1415926, 3.14159264, 3.141592653}) {
        for (const double x : {0.0, 77.7, -180.0}) {
            const RingShape ring({x, -90}, inner, std::numbers::pi + 1e-9);
            const auto cells = ring.cover({0, 4, 16});
            for (const double y : {-100.0, 10.0, 77.7}) {
                const uint64_t leaf = S2CellId(to_s2({y, 90})).id();
                EXPECT_TRUE(std::ranges::any_of(
                    cells,
                    [&](uint64_t cell) { return cell_parent(leaf, cell_level(cell)) == cell; }))
                    << inner << " " << x << " " << y << " " << cells.size();
            }
        }
    }
}

TEST(Signs, KnowPlacesOnOneCircle) {
    const S2Point a = to_s2({0, 0});
    const S2Point b = to_s2({10, 0});
    const S2Point c = to_s2({20, 0});
    EXPECT_NE(sign(a, b, c), 0);
    EXPECT_EQ(sign(a, b, c), sign(b, c, a));
    EXPECT_EQ(sign(a, b, c), -sign(c, b, a));
    EXPECT_EQ(sign(a, b, b), 0);
    EXPECT_EQ(crossing(to_s2({5, -5}), to_s2({5, 5}), a, b), 1);
    EXPECT_EQ(crossing(a, b, a, c), 0);
    EXPECT_EQ(crossing(to_s2({15, -5}), to_s2({15, 5}), a, b), -1);
}

}  // namespace
}  // namespace geo

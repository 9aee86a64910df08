#include "geo/sphere/parts_shape.h"

#include <algorithm>
#include <numbers>
#include <utility>

#include <s2/s2closest_edge_query.h>
#include <s2/s2coords.h>
#include <s2/s2edge_distances.h>
#include <s2/s2error.h>
#include <s2/s2latlng_rect.h>
#include <s2/s2lax_loop_shape.h>
#include <s2/s2loop.h>

#include "geo/sphere/signs.h"
#include "geo/sphere/work.h"

namespace geo {

namespace {

const PartsShape* as_parts(const Shape& shape) {
    return dynamic_cast<const PartsShape*>(&shape);
}

// S2 keeps the square of a chord, which hardly changes any more where a circle is nearly all of the
// sphere.
S2Cap cap_of(const S2Point& centre, double radius) {
    constexpr double kUnsafe = 1e-6;
    return radius > std::numbers::pi - kUnsafe ? S2Cap::Full()
                                               : S2Cap(centre, S1Angle::Radians(radius));
}

// The places of a line without those that repeat the one before them.
std::vector<S2Point> places_of(const Line& line) {
    std::vector<S2Point> out;
    for (const Point& place : line) {
        const S2Point next = to_s2(place);
        if (out.empty() || out.back() != next) out.push_back(next);
    }
    return out;
}

// To see that a ring does not cross itself: by the loop's own index, which it shows to no one.
void work_on_ring(const std::vector<S2Point>& places) {
    constexpr size_t kSmall = 1000;
    if (places.size() <= kSmall) return work_on_edges(std::ssize(places));
    MutableS2ShapeIndex index;
    index.Add(std::make_unique<S2LaxLoopShape>(places));
    work_on_pairs(index);
}

std::unique_ptr<S2Loop> loop_of(const Line& ring, std::string& why) {
    std::vector<S2Point> places = places_of(ring);
    constexpr size_t kLeast = 3;
    if (places.size() > 1 && places.front() == places.back()) places.pop_back();
    if (places.size() < kLeast) {
        why = "a ring of a polygon needs three different places";
        return nullptr;
    }
    auto loop = std::make_unique<S2Loop>();
    loop->set_s2debug_override(S2Debug::DISABLE);
    loop->Init(places);
    work_on_ring(places);
    S2Error error;
    if (loop->FindValidationError(&error)) {
        why = "a ring of a polygon is not valid: " + error.text();
        return nullptr;
    }
    loop->Normalize();  // its direction does not matter: it is the smaller part of the sphere
    return loop;
}

// A ring by itself is asked by its index, one with holes is walked along.
void work_on_cell(const S2Polygon& polygon) {
    constexpr int64_t kTicks = 20;
    constexpr int kPerEdgeByIndex = 16;
    const int edges = polygon.num_vertices();
    work(kTicks);
    work_on_edges(polygon.num_loops() == 1 ? edges / kPerEdgeByIndex : edges);
}

// Whether a polygon and a cell have something in common. To S2 of today a cell has its border, and
// to the old one what lies on the border of both belonged to one of them.
bool meet(const S2Polygon& polygon, const S2Cell& cell) {
    if (!polygon.GetRectBound().Intersects(cell.GetRectBound())) return false;
    work_on_cell(polygon);
    if (polygon.num_loops() == 1) return polygon.loop(0)->Intersects(S2Loop(cell));
    return polygon.Intersects(S2Polygon(cell));
}

// A place nearer than this to a border between cells may be on both sides of it.
const S1ChordAngle kTouch = S1ChordAngle::Radians(1e-12);

bool touches(const S2Polygon& polygon, const S2Cell& cell) {
    const S2LatLng margin(kTouch.ToAngle(), kTouch.ToAngle());
    if (!polygon.GetRectBound().Expanded(margin).Intersects(cell.GetRectBound())) return false;
    work_on_cell(polygon);
    S2ClosestEdgeQuery edges(&polygon.index());
    edges.mutable_options()->set_include_interiors(false);
    S2ClosestEdgeQuery::CellTarget target(cell);
    return edges.IsDistanceLessOrEqual(&target, kTouch);
}

bool touches(const S2Polyline& line, const S2Cell& cell) {
    work_on_edges(line.num_vertices());
    for (int i = 0; i + 1 < line.num_vertices(); ++i)
        if (cell.GetDistance(line.vertex(i), line.vertex(i + 1)) <= kTouch) return true;
    return false;
}

bool holds_cell(const S2Polygon& polygon, const S2Cell& cell) {
    if (!polygon.GetRectBound().Contains(cell.GetRectBound())) return false;
    work_on_cell(polygon);
    if (polygon.num_loops() == 1) return polygon.loop(0)->Contains(S2Loop(cell));
    return polygon.Contains(S2Polygon(cell));
}

// Whether a place is surely not on the border of its smallest cell, where rounding has decided.
bool is_inside(const S2Cell& cell, const S2Point& place) {
    R2Point at;
    return S2::FaceXYZtoUV(cell.face(), place, &at) && cell.GetBoundUV().InteriorContains(at);
}

// Old servers took a point for its smallest cell, of some millimetres: what meets that is there,
// and an index knows nothing else of it.
bool has(const S2Polygon& polygon, const S2Point& place) {
    const S2Cell cell(place);
    return (is_inside(cell, place) && polygon.Contains(place)) || meet(polygon, cell);
}

// The larger cells too, of which an index has one: where rounding decides, a line may meet a cell
// and not the one around it.
bool has(const S2Polyline& line, const S2Point& place) {
    S2CellId cell(place);
    while (line_meets_cell(line, S2Cell(cell))) {
        if (cell.is_face()) return true;
        cell = cell.parent();
    }
    return false;
}

// S2 drops what is shorter when it looks at a line's parts inside and outside of a polygon: such a
// line would be inside of every polygon.
constexpr double kNoLength = 1e-14;

// To ask a polygon for what it has in common with another shape.
void work_on(const S2Polygon& polygon) {
    work(polygon.num_vertices());
    work_on_pairs(polygon.index());
}

void work_on(const S2Polyline& line) {
    constexpr int64_t kTicksPerPlace = 8;
    work(kTicksPerPlace * line.num_vertices());
}

template <typename Other>  // a line or a polygon
bool meet(const S2Polygon& polygon, const Other& other) {
    work_on(polygon);
    work_on(other);
    return polygon.Intersects(other);
}

bool holds_polygon(const S2Polygon& polygon, const S2Polygon& other) {
    work_on(polygon);
    work_on(other);
    return polygon.Contains(other);
}

bool holds_line(const S2Polygon& polygon, const S2Polyline& line) {
    work_on(polygon);
    work_on(line);
    return line.GetLength().radians() < kNoLength ? has(polygon, line.vertex(0))
                                                  : polygon.Contains(line);
}

double angle(const S2Point& a, const S2Point& b) {
    return a.Angle(b);
}

}  // namespace

S2Point to_s2(Point place) {
    return S2LatLng::FromDegrees(place.y, place.x).ToPoint();
}

std::unique_ptr<PartsShape> PartsShape::make(const Parts& parts, std::string& why) {
    std::unique_ptr<PartsShape> made(new PartsShape);
    for (const Point& point : parts.points)
        made->points_.push_back(to_s2(point));
    for (const Line& line : parts.lines)
        if (!made->add_line(line, why)) return nullptr;
    for (const std::vector<Line>& rings : parts.polygons)
        if (!made->add_polygon(rings, why)) return nullptr;
    return made;
}

bool PartsShape::add_line(const Line& line, std::string& why) {
    auto made = std::make_unique<S2Polyline>();
    made->set_s2debug_override(S2Debug::DISABLE);
    std::vector<S2Point> places = places_of(line);
    if (places.size() == 1) places.push_back(places.front());
    const bool is_point = places.size() == 2 && places[0] == places[1];
    made->Init(places);
    S2Error error;
    if (!is_point && made->FindValidationError(&error)) {
        why = "a line is not valid: " + error.text();
        return false;
    }
    lines_.push_back(std::move(made));
    return true;
}

bool PartsShape::add_polygon(const std::vector<Line>& rings, std::string& why) {
    std::vector<std::unique_ptr<S2Loop>> loops;
    for (const Line& ring : rings) {
        std::unique_ptr<S2Loop> loop = loop_of(ring, why);
        if (loop == nullptr) return false;
        if (!loops.empty() && !loops.front()->Contains(*loop)) {
            why = "a hole of a polygon is not inside of its outer ring";
            return false;
        }
        loops.push_back(std::move(loop));
    }
    auto made = std::make_unique<S2Polygon>();
    made->set_s2debug_override(S2Debug::DISABLE);
    const auto count = static_cast<int64_t>(loops.size());
    work_on_edges(count * count / 2);  // which of them is in which
    made->InitNested(std::move(loops));
    work_on_pairs(made->index());
    S2Error error;
    if (made->FindValidationError(&error)) {
        why = "a polygon is not valid: " + error.text();
        return false;
    }
    polygons_.push_back(std::move(made));
    return true;
}

bool PartsShape::has_place(const S2Point& place) const {
    work_on_edges(std::ssize(points_));
    const S2CellId cell(place);
    const auto is_there = [&](const S2Point& point) { return S2CellId(point) == cell; };
    if (std::ranges::any_of(points_, is_there)) return true;
    return std::ranges::any_of(lines_, [&](const auto& line) { return has(*line, place); }) ||
           std::ranges::any_of(polygons_,
                               [&](const auto& polygon) { return has(*polygon, place); });
}

bool PartsShape::meets_line(const S2Polyline& other) const {
    return std::ranges::any_of(points_, [&](const S2Point& place) { return has(other, place); }) ||
           std::ranges::any_of(lines_,
                               [&](const auto& line) { return lines_meet(*line, other); }) ||
           std::ranges::any_of(polygons_,
                               [&](const auto& polygon) { return meet(*polygon, other); });
}

bool PartsShape::meets_polygon(const S2Polygon& other) const {
    return std::ranges::any_of(points_, [&](const S2Point& place) { return has(other, place); }) ||
           std::ranges::any_of(lines_, [&](const auto& line) { return meet(other, *line); }) ||
           std::ranges::any_of(polygons_,
                               [&](const auto& polygon) { return meet(*polygon, other); });
}

bool PartsShape::contains(const Shape& shape) const {
    const PartsShape* const other = as_parts(shape);
    if (other == nullptr) return false;
    const auto any = [this](const auto& test) { return std::ranges::any_of(polygons_, test); };
    return std::ranges::all_of(other->points_,
                               [&](const S2Point& place) {
                                   return any([&](const auto& p) { return has(*p, place); });
                               }) &&
           std::ranges::all_of(other->lines_,
                               [&](const auto& line) {
                                   return any([&](const auto& p) { return holds_line(*p, *line); });
                               }) &&
           std::ranges::all_of(other->polygons_, [&](const auto& polygon) {
               return any([&](const auto& p) { return holds_polygon(*p, *polygon); });
           });
}

bool PartsShape::intersects(const Shape& shape) const {
    const PartsShape* const other = as_parts(shape);
    if (other == nullptr) return false;
    return std::ranges::any_of(other->points_,
                               [&](const S2Point& place) { return has_place(place); }) ||
           std::ranges::any_of(other->lines_,
                               [&](const auto& line) { return meets_line(*line); }) ||
           std::ranges::any_of(other->polygons_,
                               [&](const auto& polygon) { return meets_polygon(*polygon); });
}

double PartsShape::distance(Point from) const {
    const S2Point place = to_s2(from);
    double least = std::numbers::pi;
    work_on_edges(std::ssize(points_));
    for (const S2Point& point : points_)
        least = std::min(least, angle(place, point));
    for (const auto& line : lines_) {
        work(line->num_vertices());
        for (int i = 0; i + 1 < line->num_vertices(); ++i)
            least = std::min(
                least, angle(place, S2::Project(place, line->vertex(i), line->vertex(i + 1))));
    }
    for (const auto& polygon : polygons_) {
        work_on_edges(polygon->num_vertices());
        least = std::min(least, angle(place, polygon->Project(place)));
    }
    return least;
}

S2LatLngRect PartsShape::rectangle() const {
    S2LatLngRect all = S2LatLngRect::Empty();
    for (const S2Point& point : points_)
        all = all.Union(S2LatLngRect::FromPoint(S2LatLng(point)));
    for (const auto& line : lines_)
        all = all.Union(line->GetRectBound());
    for (const auto& polygon : polygons_)
        all = all.Union(polygon->GetRectBound());
    return all;
}

double PartsShape::extent() const {
    return rectangle().Area();
}

std::vector<uint64_t> PartsShape::cover(const Covering& how) const {
    if (points_.size() == 1 && lines_.empty() && polygons_.empty()) {
        const S2Cell cell(S2CellId(points_.front()).parent(how.finest));
        if (!how.touched || cell.GetBoundaryDistance(points_.front()) > kTouch)
            return {cell.id().id()};
    }
    return cover_with_cells(*this, how);
}

bool PartsShape::may_meet(const S2Cell& cell) const {
    work_on_edges(std::ssize(points_));
    return std::ranges::any_of(
               points_,
               [&](const S2Point& place) { return cell.id().contains(S2CellId(place)); }) ||
           std::ranges::any_of(lines_,
                               [&](const auto& line) { return line_meets_cell(*line, cell); }) ||
           std::ranges::any_of(polygons_,
                               [&](const auto& polygon) { return meet(*polygon, cell); });
}

bool PartsShape::touches(const S2Cell& cell) const {
    work_on_edges(std::ssize(points_));
    return std::ranges::any_of(
               points_, [&](const S2Point& place) { return cell.GetDistance(place) <= kTouch; }) ||
           std::ranges::any_of(lines_,
                               [&](const auto& line) { return geo::touches(*line, cell); }) ||
           std::ranges::any_of(polygons_,
                               [&](const auto& polygon) { return geo::touches(*polygon, cell); });
}

bool PartsShape::holds(const S2Cell& cell) const {
    return std::ranges::any_of(polygons_,
                               [&](const auto& polygon) { return holds_cell(*polygon, cell); });
}

S2Cap PartsShape::around() const {
    return rectangle().GetCapBound();
}

RingShape::RingShape(Point centre, double inner, double outer)
    : outer_(cap_of(to_s2(centre), outer)),
      inner_(inner > 0 ? cap_of(to_s2(centre), inner) : S2Cap::Empty()) {
    if (inner_.is_full()) inner_ = S2Cap::Empty();
}

bool RingShape::contains(const Shape& shape) const {
    const PartsShape* const other = as_parts(shape);
    return other != nullptr && other->lines_.empty() && other->polygons_.empty() &&
           std::ranges::all_of(other->points_, [this](const S2Point& place) {
               return outer_.MayIntersect(S2Cell(place));
           });
}

bool RingShape::intersects(const Shape&) const {
    return false;
}

double RingShape::distance(Point from) const {
    return std::max(0.0, angle(to_s2(from), outer_.center()) - outer_.GetRadius().radians());
}

std::vector<uint64_t> RingShape::cover(const Covering& how) const {
    return cover_with_cells(*this, how);
}

std::vector<uint64_t> RingShape::cover_wanted(
    const Covering& how, const std::function<bool(uint64_t)>& is_wanted) const {
    return cover_with_cells(*this, how, is_wanted);
}

double RingShape::extent() const {
    return outer_.GetRectBound().Area();
}

bool RingShape::may_meet(const S2Cell& cell) const {
    return outer_.MayIntersect(cell) && !inner_.Contains(cell);
}

bool RingShape::holds(const S2Cell& cell) const {
    return outer_.Contains(cell) && !inner_.MayIntersect(cell);
}

S2Cap RingShape::around() const {
    return outer_;
}

}  // namespace geo

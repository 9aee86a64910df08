#include "geo/predicate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "bson/json.h"
#include "geo/library.h"
#include "sched/tick.h"

namespace geo {

namespace {

using bson::Doc;
using bson::Element;

[[noreturn]] void bad(const Element& e, const char* why) {
    base::fail(base::kBadValue, "{}: {}", e.name(), why);
}

Point point_of(const Element& shape, const Element& value) {
    const auto point = pair_of(value, PairEnd::exact);
    if (!point) bad(shape, "a point has to be two numbers");
    return *point;
}

// The parts of a shape, which are an array or the values of a document.
std::vector<Element> members_of(const Element& shape) {
    if (!shape.is_object() && !shape.is_array()) bad(shape, "needs an array");
    std::vector<Element> out;
    for (const Element& e : sched::ticked(shape.as_doc()))
        out.push_back(e);
    return out;
}

// The centre and the radius of a circle.
std::pair<Point, double> circle_of(const Element& shape) {
    const std::vector<Element> parts = members_of(shape);
    if (parts.size() < 2) bad(shape, "needs a point and a radius");
    const Point centre = point_of(shape, parts[0]);
    const double radius = parts[1].is_number() ? parts[1].to_double() : -1;
    if (!(radius >= 0)) bad(shape, "the radius has to be a number that is not negative");
    return {centre, radius};
}

bool is_named(std::string_view name, std::string_view wanted) {
    return name == wanted;
}

// The text behind all those that begin with this one.
std::string behind(std::string text) {
    ++text.back();
    return text;
}

}  // namespace

CellRanges ranges_of_cells(const std::vector<uint64_t>& cells, int coarsest) {
    CellRanges out;
    std::vector<CellRanges::Range> all;
    for (const uint64_t cell : cells) {
        const std::string text = cell_text(cell);
        all.push_back({text, behind(text), false});
        // A large shape may be stored by a cell that this one is a part of.
        for (int level = cell_level(cell) - 1; level >= coarsest; --level) {
            const std::string parent = cell_text(cell_parent(cell, level));
            all.push_back({parent, parent, true});
        }
    }
    std::ranges::sort(all, [](const auto& a, const auto& b) {
        return a.low != b.low ? a.low < b.low : a.high > b.high;
    });
    for (CellRanges::Range& range : all) {
        if (!out.ranges.empty()) {
            const CellRanges::Range& last = out.ranges.back();
            if (range.low == last.low || range.low < last.high) continue;
        }
        out.ranges.push_back(std::move(range));
    }
    return out;
}

Covering query_covering(double extent, int coarsest) {
    constexpr int kCells = 8;
    constexpr int kFiner = 4;
    constexpr int kLevelsMax = 30;
    constexpr double kFaceEdge = 1.459213746386106;  // on average
    const double edge = std::sqrt(extent);
    int level = kLevelsMax;
    if (edge > 0) {
        const double halvings = std::log2(kFaceEdge / edge);
        level = static_cast<int>(std::clamp(std::floor(halvings + 0.5), 0.0, double{kLevelsMax}));
    }
    const int least = std::min(coarsest, 2 + level);
    return {least, std::min(least + kFiner, kLevelsMax), kCells, true};
}

std::shared_ptr<const Predicate> Predicate::parse(Ask ask, const Element& operand, Rules rules) {
    if (!operand.is_object()) bad(operand, "needs a document");
    std::shared_ptr<Predicate> made(new Predicate);
    made->ask_ = ask;
    made->rules_ = rules;
    bool any = false;
    for (const Element& e : operand.as_doc()) {
        if (is_named(e.name(), "$uniqueDocs")) continue;
        made->shape_.reset();
        made->flat_.reset();
        made->cap_radians_.reset();
        any = true;
        if (is_named(e.name(), "$geometry"))
            made->parse_geometry(e, rules);
        else if (ask == Ask::within)
            made->parse_flat(e);
        else
            bad(operand, "needs $geometry");
    }
    if (!any) bad(operand, "needs a shape");
    return made;
}

void Predicate::parse_geometry(const Element& geometry, Rules rules) {
    std::string why;
    const auto read = read_on_sphere(geometry, rules, why);
    if (read) shape_ = make_shape(*read, why);
    if (shape_ == nullptr) base::fail(base::kBadValue, "$geometry: {}", why);
    if (ask_ == Ask::within && read->parts.polygons.empty())
        base::fail(16672, "$within not supported with provided geometry: {}",
                   bson::to_text(geometry));
}

void Predicate::parse_flat(const Element& shape) {
    constexpr size_t kCorners = 3;
    if (shape.name() == "$box") {
        const std::vector<Element> corners = members_of(shape);
        if (corners.size() < 2) bad(shape, "needs two points");
        flat_ = make_box(point_of(shape, corners[0]), point_of(shape, corners[1]));
    } else if (shape.name() == "$polygon") {
        std::vector<Point> corners;
        for (const Element& corner : members_of(shape))
            corners.push_back(point_of(shape, corner));
        if (corners.size() < kCorners) bad(shape, "needs three points");
        flat_ = make_polygon(std::move(corners));
    } else if (shape.name() == "$center") {
        const auto [centre, radius] = circle_of(shape);
        flat_ = make_circle(centre, radius);
        centre_ = centre;
    } else if (shape.name() == "$centerSphere") {
        const auto [centre, radius] = circle_of(shape);
        if (!geo::is_on_sphere(centre)) bad(shape, "the centre is out of bounds");
        flat_ = make_cap(centre, radius);
        cap_radians_ = radius;
        centre_ = centre;
    } else {
        bad(shape, "unknown shape");
    }
}

bool Predicate::matches(const Element& value) const {
    if (!value.is_object() && !value.is_array()) return false;
    sched::tick();
    std::string why;
    if (shape_ == nullptr) {
        if (const auto place = pair_of(value)) return flat_->contains(*place);
        if (!is_geojson(value)) return false;
        const auto read = read_geojson(value, rules_, why);
        if (!read) return false;
        if (read->kind == Kind::point) return flat_->contains(read->parts.points.front());
        const bool only_points = read->parts.lines.empty() && read->parts.polygons.empty();
        return cap_radians_ && only_points &&
               std::ranges::all_of(read->parts.points,
                                   [this](Point place) { return flat_->contains(place); });
    }
    const auto read = read_on_sphere(value, rules_, why);
    if (!read) return false;
    const auto shape = make_shape(*read, why);
    if (shape == nullptr) return false;
    return ask_ == Ask::within ? shape_->contains(*shape) : shape_->intersects(*shape);
}

CellRanges Predicate::ranges(int coarsest) const {
    std::shared_ptr<const Shape> shape = shape_;
    if (shape == nullptr) {
        constexpr double kSlack = 1e-9;  // a place may lie at the radius
        shape = sphere().make_ring(centre_, 0, std::min(*cap_radians_ + kSlack, std::numbers::pi));
    }
    const Covering how = query_covering(shape->extent(), coarsest);
    return ranges_of_cells(shape->cover(how), coarsest);
}

}  // namespace geo

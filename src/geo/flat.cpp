#include "geo/flat.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "geo/shape.h"
#include "sched/tick.h"

namespace geo {

namespace {

constexpr double kDegree = std::numbers::pi / 180;

class BoxShape final : public FlatShape {
  public:
    explicit BoxShape(Box box) : box_(box) {}
    bool contains(Point place) const override { return box_.contains(place); }
    Box bounds() const override { return box_; }
    Overlap overlap(const Box& other) const override {
        if (!box_.meets(other)) return Overlap::none;
        return box_.contains(other.low) && box_.contains(other.high) ? Overlap::all : Overlap::some;
    }
    const char* name() const override { return "box"; }

  private:
    const Box box_;
};

class CircleShape final : public FlatShape {
  public:
    CircleShape(Point centre, double radius) : centre_(centre), radius_(radius) {}
    bool contains(Point place) const override { return flat_distance(centre_, place) <= radius_; }
    Box bounds() const override {
        return {{centre_.x - radius_, centre_.y - radius_},
                {centre_.x + radius_, centre_.y + radius_}};
    }
    Overlap overlap(const Box& box) const override {
        const Point nearest{std::clamp(centre_.x, box.low.x, box.high.x),
                            std::clamp(centre_.y, box.low.y, box.high.y)};
        if (!contains(nearest)) return Overlap::none;
        const Point corners[] = {
            box.low, box.high, {box.low.x, box.high.y}, {box.high.x, box.low.y}};
        return std::ranges::all_of(corners, [this](Point corner) { return contains(corner); })
                   ? Overlap::all
                   : Overlap::some;
    }
    const char* name() const override { return "circle"; }

  private:
    const Point centre_;
    const double radius_;
};

class PolygonShape final : public FlatShape {
  public:
    explicit PolygonShape(std::vector<Point> corners) : corners_(std::move(corners)) {
        bounds_ = {corners_.front(), corners_.front()};
        for (const Point& corner : corners_) {
            bounds_.low.x = std::min(bounds_.low.x, corner.x);
            bounds_.low.y = std::min(bounds_.low.y, corner.y);
            bounds_.high.x = std::max(bounds_.high.x, corner.x);
            bounds_.high.y = std::max(bounds_.high.y, corner.y);
        }
    }

    bool contains(Point place) const override {
        if (!bounds_.contains(place)) return false;
        bool inside = false;
        Point from = corners_.back();
        for (const Point& to : sched::ticked(corners_)) {
            if (is_on(from, to, place)) return true;
            if (is_left_of(from, to, place)) inside = !inside;
            from = to;
        }
        return inside;
    }
    Box bounds() const override { return bounds_; }
    Overlap overlap(const Box& box) const override {
        return bounds_.meets(box) ? Overlap::some : Overlap::none;
    }
    const char* name() const override { return "polygon"; }

  private:
    // A corner, or an edge along an axis. Of other edges those to the right belong to the polygon.
    static bool is_on(Point a, Point b, Point place) {
        if (place == a) return true;
        const auto between = [](double from, double to, double value) {
            return value >= std::min(from, to) && value <= std::max(from, to);
        };
        return (a.x == b.x && place.x == a.x && between(a.y, b.y, place.y)) ||
               (a.y == b.y && place.y == a.y && between(a.x, b.x, place.x));
    }
    static bool is_left_of(Point a, Point b, Point place) {
        if (a.y == b.y || place.y <= std::min(a.y, b.y) || place.y > std::max(a.y, b.y))
            return false;
        return place.x <= (place.y - a.y) * (b.x - a.x) / (b.y - a.y) + a.x;
    }

    const std::vector<Point> corners_;
    Box bounds_;
};

class CapShape final : public FlatShape {
  public:
    CapShape(Point centre, double radians) : centre_(centre), radians_(radians) {
        constexpr double kAll = 1e300;
        const double reach = radians / kDegree;
        const double most = std::abs(centre.y) + reach;
        // Near a pole every longitude is near.
        const double wide =
            most < 90 ? std::asin(std::min(1.0, std::sin(radians) / std::cos(centre.y * kDegree))) /
                            kDegree
                      : kAll;
        const double slack = 1e-6;
        bounds_ = {{centre.x - wide - slack, centre.y - reach - slack},
                   {centre.x + wide + slack, centre.y + reach + slack}};
        if (bounds_.low.x < -180 || bounds_.high.x > 180)
            bounds_.low.x = -kAll, bounds_.high.x = kAll;
    }
    bool contains(Point place) const override {
        // A little more: old servers took a point for a cell of some millimetres.
        constexpr double kCell = 1e-9;
        return is_on_sphere(place) &&
               (radians_ >= std::numbers::pi || angle_between(centre_, place) <= radians_ + kCell);
    }
    Box bounds() const override { return bounds_; }
    Overlap overlap(const Box& box) const override {
        return bounds_.meets(box) ? Overlap::some : Overlap::none;
    }
    const char* name() const override { return "centerSphere"; }

  private:
    const Point centre_;
    const double radians_;
    Box bounds_;
};

}  // namespace

std::unique_ptr<const FlatShape> make_box(Point one, Point other) {
    return std::make_unique<BoxShape>(Box{one, other});
}

std::unique_ptr<const FlatShape> make_circle(Point centre, double radius) {
    return std::make_unique<CircleShape>(centre, radius);
}

std::unique_ptr<const FlatShape> make_polygon(std::vector<Point> corners) {
    return std::make_unique<PolygonShape>(std::move(corners));
}

std::unique_ptr<const FlatShape> make_cap(Point centre, double radians) {
    return std::make_unique<CapShape>(centre, radians);
}

double flat_distance(Point a, Point b) {
    const double dx = a.x - b.x;
    const double dy = a.y - b.y;
    return std::sqrt(dx * dx + dy * dy);
}

double cosine_distance(Point a, Point b) {
    const double x1 = a.x * kDegree;
    const double y1 = a.y * kDegree;
    const double x2 = b.x * kDegree;
    const double y2 = b.y * kDegree;
    const double cosine = std::cos(y1) * std::cos(x1) * std::cos(y2) * std::cos(x2) +
                          std::cos(y1) * std::sin(x1) * std::cos(y2) * std::sin(x2) +
                          std::sin(y1) * std::sin(y2);
    return std::acos(std::clamp(cosine, -1.0, 1.0));
}

}  // namespace geo

// geo/flat.h - shapes on the plane: boxes, circles, polygons. Their edges belong to them.
#pragma once

#include <memory>
#include <vector>

#include "geo/grid.h"

namespace geo {

class FlatShape {
  public:
    virtual ~FlatShape() = default;
    virtual bool contains(Point place) const = 0;
    virtual Box bounds() const = 0;
    // At least `some` where they have something in common; `all` only if the shape has all of it.
    virtual Overlap overlap(const Box& box) const = 0;
    // As the cursor of an explain of 2.6 says it.
    virtual const char* name() const = 0;
};

std::unique_ptr<const FlatShape> make_box(Point one, Point other);
std::unique_ptr<const FlatShape> make_circle(Point centre, double radius);
std::unique_ptr<const FlatShape> make_polygon(std::vector<Point> corners);
// What is so many radians at most from a place, longitude and latitude taken as a plane. What a
// square of it has is not known exactly.
std::unique_ptr<const FlatShape> make_cap(Point centre, double radians);

double flat_distance(Point a, Point b);
// In radians, by the law of cosines: as 2d indexes have it.
double cosine_distance(Point a, Point b);

}  // namespace geo

// geo/shape.h - places and shapes as documents and filters have them.
//
// A pair is an array or a document whose first two values are numbers, whatever their names.
// GeoJSON is a document with `type` and `coordinates`. On the sphere a pair is a longitude and a
// latitude.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bson/view.h"
#include "geo/sphere.h"

namespace geo {

enum class Kind { point, line, polygon, points, lines, polygons, collection };

// Whether further values behind the two mean that it is none.
enum class PairEnd { exact, open };
std::optional<Point> pair_of(const bson::Element& value, PairEnd end = PairEnd::open);

bool is_on_sphere(Point place);  // in degrees, within their bounds

// Whose rules hold. Old servers refused a height behind a position, knew no least distance for 2d
// indexes, and gave 100 of these where no number was asked for.
enum class Rules { old, today };

struct Geometry {
    Kind kind = Kind::point;
    bool is_pair = false;
    Parts parts;
};

// Whether `value` means to be GeoJSON.
bool is_geojson(const bson::Element& value);

// Reads GeoJSON. None, and why, where it is malformed; that its lines and polygons are possible is
// found when the shape is made.
std::optional<Geometry> read_geojson(const bson::Element& value, Rules rules, std::string& why);
// Reads either form as a place or shape on the sphere.
std::optional<Geometry> read_on_sphere(const bson::Element& value, Rules rules, std::string& why);

// Null, and why. Loads the library of spheres.
std::shared_ptr<const Shape> make_shape(const Geometry& geometry, std::string& why);

// In radians between places on the sphere: by vectors, as 2dsphere has it.
double angle_between(Point a, Point b);

}  // namespace geo

#include "geo/shape.h"

#include <cmath>
#include <numbers>

#include "geo/library.h"
#include "sched/tick.h"

namespace geo {

namespace {

using bson::Doc;
using bson::Element;

constexpr size_t kLinePlaces = 2;
constexpr size_t kRingPlaces = 4;

std::optional<Point> position_of(const Element& value, Rules rules) {
    return pair_of(value, rules == Rules::today ? PairEnd::open : PairEnd::exact);
}

// Reads one GeoJSON geometry into parts.
class Reader {
  public:
    Reader(Rules rules, std::string& why) : rules_(rules), why_(why) {}

    bool read(Doc doc, Geometry& out, bool may_collect = true) {
        const Element type = doc["type"];
        if (!type.is_string()) return wrong("the type of a geometry has to be a text");
        const std::string_view name = type.as_string();
        if (name == "GeometryCollection") {
            out.kind = Kind::collection;
            return may_collect ? read_collection(doc, out) : wrong("a collection in a collection");
        }
        if (!knows_system(doc)) return false;
        const Element where = doc["coordinates"];
        if (!where.is_array()) return wrong("the coordinates of a geometry have to be an array");
        const Doc inner = where.as_doc();
        Parts& parts = out.parts;
        if (name == "Point") {
            out.kind = Kind::point;
            return read_position(where, parts.points.emplace_back());
        }
        if (name == "LineString") {
            out.kind = Kind::line;
            return read_line(where, kLinePlaces, parts.lines.emplace_back());
        }
        if (name == "Polygon") {
            out.kind = Kind::polygon;
            return read_polygon(where, parts.polygons.emplace_back());
        }
        if (inner.empty()) return wrong("a geometry of no parts");
        if (name == "MultiPoint") {
            out.kind = Kind::points;
            return read_positions(inner, parts.points);
        }
        if (name == "MultiLineString") {
            out.kind = Kind::lines;
            for (const Element& line : inner)
                if (!read_line(line, kLinePlaces, parts.lines.emplace_back())) return false;
            return true;
        }
        if (name == "MultiPolygon") {
            out.kind = Kind::polygons;
            for (const Element& polygon : inner)
                if (!read_polygon(polygon, parts.polygons.emplace_back())) return false;
            return true;
        }
        return wrong("unknown type of geometry");
    }

  private:
    bool wrong(const char* why) {
        why_ = why;
        return false;
    }

    // Only the usual coordinates: longitude and latitude of WGS84, in degrees.
    bool knows_system(Doc doc) {
        const Element system = doc["crs"];
        if (system.missing()) return true;
        const Element type = system.is_object() ? system.as_doc()["type"] : Element();
        const Element properties = system.is_object() ? system.as_doc()["properties"] : Element();
        const Element name = properties.is_object() ? properties.as_doc()["name"] : Element();
        if (type.is_string() && type.as_string() == "name" && name.is_string() &&
            (name.as_string() == "EPSG:4326" ||
             name.as_string() == "urn:ogc:def:crs:OGC:1.3:CRS84"))
            return true;
        return wrong("the crs of a geometry has to be EPSG:4326");
    }

    bool read_collection(Doc doc, Geometry& out) {
        const Element members = doc["geometries"];
        if (!members.is_array() || members.as_doc().empty())
            return wrong("the geometries of a collection have to be an array of some");
        for (const Element& member : members.as_doc()) {
            Geometry one;
            if (!member.is_object() || !read(member.as_doc(), one, false)) {
                if (why_.empty()) why_ = "a member of a collection is no geometry";
                return false;
            }
            const auto move_all = [](auto& from, auto& to) {
                for (auto& each : from)
                    to.push_back(std::move(each));
            };
            move_all(one.parts.points, out.parts.points);
            move_all(one.parts.lines, out.parts.lines);
            move_all(one.parts.polygons, out.parts.polygons);
        }
        return true;
    }

    bool read_position(const Element& value, Point& out) {
        sched::tick();
        if (!value.is_array()) return wrong("a position has to be an array");
        const auto place = position_of(value, rules_);
        if (!place) return wrong("a position has to be two numbers");
        if (!is_on_sphere(*place))
            return wrong("a longitude or latitude is out of bounds: -180 to 180, -90 to 90");
        out = *place;
        return true;
    }

    bool read_positions(Doc values, std::vector<Point>& out) {
        for (const Element& value : values)
            if (!read_position(value, out.emplace_back())) return false;
        return true;
    }

    bool read_line(const Element& value, size_t least, Line& out) {
        if (!value.is_array() || !read_positions(value.as_doc(), out)) {
            if (why_.empty()) why_ = "a line has to be an array of positions";
            return false;
        }
        return out.size() >= least || wrong("a line or ring has too few positions");
    }

    bool read_polygon(const Element& value, std::vector<Line>& out) {
        if (!value.is_array() || value.as_doc().empty())
            return wrong("a polygon has to be an array of rings");
        for (const Element& ring : value.as_doc()) {
            if (!read_line(ring, kRingPlaces, out.emplace_back())) return false;
            if (out.back().front() != out.back().back())
                return wrong("a ring of a polygon does not end where it begins");
        }
        return true;
    }

    const Rules rules_;
    std::string& why_;
};

struct Vector {
    double x, y, z;
};

Vector vector_of(Point place) {
    constexpr double kDegree = std::numbers::pi / 180;
    const double longitude = place.x * kDegree;
    const double latitude = place.y * kDegree;
    const double width = std::cos(latitude);
    return {std::cos(longitude) * width, std::sin(longitude) * width, std::sin(latitude)};
}

}  // namespace

std::optional<Point> pair_of(const Element& value, PairEnd end) {
    if (!value.is_object() && !value.is_array()) return std::nullopt;
    auto each = value.as_doc().begin();
    const auto last = value.as_doc().end();
    if (each == last || !each->is_number()) return std::nullopt;
    const double x = each->to_double();
    if (++each == last || !each->is_number()) return std::nullopt;
    const double y = each->to_double();
    if (end == PairEnd::exact && ++each != last) return std::nullopt;
    return Point{x, y};
}

bool is_on_sphere(Point place) {
    constexpr double kLongitude = 180;
    constexpr double kLatitude = 90;
    return std::abs(place.x) <= kLongitude && std::abs(place.y) <= kLatitude;
}

bool is_geojson(const Element& value) {
    return value.is_object() && value.as_doc()["type"].is_string() &&
           (value.as_doc().has("coordinates") || value.as_doc().has("geometries"));
}

std::optional<Geometry> read_geojson(const Element& value, Rules rules, std::string& why) {
    Geometry out;
    if (!value.is_object()) {
        why = "a geometry has to be a document";
        return std::nullopt;
    }
    if (!Reader(rules, why).read(value.as_doc(), out)) return std::nullopt;
    return out;
}

std::optional<Geometry> read_on_sphere(const Element& value, Rules rules, std::string& why) {
    if (const auto place = position_of(value, rules)) {
        if (!is_on_sphere(*place)) {
            why = "a longitude or latitude is out of bounds: -180 to 180, -90 to 90";
            return std::nullopt;
        }
        return Geometry{Kind::point, true, {{*place}, {}, {}}};
    }
    return read_geojson(value, rules, why);
}

std::shared_ptr<const Shape> make_shape(const Geometry& geometry, std::string& why) {
    // What the library computes for one place, in ticks (sched/tick.h).
    constexpr int64_t kTicksPerPlace = 8;
    size_t places = geometry.parts.points.size();
    for (const Line& line : geometry.parts.lines)
        places += line.size();
    for (const auto& rings : geometry.parts.polygons)
        for (const Line& ring : rings)
            places += ring.size();
    sched::tick(kTicksPerPlace * static_cast<int64_t>(places));
    return sphere().make(geometry.parts, why);
}

double angle_between(Point from, Point to) {
    const Vector a = vector_of(from);
    const Vector b = vector_of(to);
    const Vector across{a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
    const double length =
        std::sqrt(across.x * across.x + across.y * across.y + across.z * across.z);
    return std::atan2(length, a.x * b.x + a.y * b.y + a.z * b.z);
}

}  // namespace geo

// geo/sphere/parts_shape.h - points, lines and polygons as S2 knows them, and what is asked of
// them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <s2/s2cap.h>
#include <s2/s2cell.h>
#include <s2/s2polygon.h>
#include <s2/s2polyline.h>

#include "geo/ring.h"
#include "geo/sphere.h"
#include "geo/sphere/coverer.h"

namespace geo {

S2Point to_s2(Point place);

class PartsShape final : public Shape, public Coverable {
  public:
    // Null, and why, where a line or polygon is none.
    static std::unique_ptr<PartsShape> make(const Parts& parts, std::string& why);

    bool contains(const Shape& other) const override;
    bool intersects(const Shape& other) const override;
    double distance(Point from) const override;
    std::vector<uint64_t> cover(const Covering& how) const override;
    double extent() const override;

    bool may_meet(const S2Cell& cell) const override;
    bool touches(const S2Cell& cell) const override;
    bool holds(const S2Cell& cell) const override;
    S2Cap around() const override;

  private:
    friend class RingShape;
    PartsShape() = default;
    bool add_line(const Line& line, std::string& why);
    bool add_polygon(const std::vector<Line>& rings, std::string& why);
    bool has_place(const S2Point& place) const;
    bool meets_line(const S2Polyline& line) const;
    bool meets_polygon(const S2Polygon& polygon) const;
    S2LatLngRect rectangle() const;

    std::vector<S2Point> points_;
    std::vector<std::unique_ptr<S2Polyline>> lines_;
    std::vector<std::unique_ptr<S2Polygon>> polygons_;
};

// The places between two distances from a centre.
class RingShape final : public Ring, public Coverable {
  public:
    RingShape(Point centre, double inner, double outer);

    // Of shapes of parts of points only: what else is in it is not asked.
    bool contains(const Shape& other) const override;
    bool intersects(const Shape& other) const override;
    double distance(Point from) const override;
    std::vector<uint64_t> cover(const Covering& how) const override;
    std::vector<uint64_t> cover_wanted(
        const Covering& how, const std::function<bool(uint64_t)>& is_wanted) const override;
    double extent() const override;

    bool may_meet(const S2Cell& cell) const override;
    bool touches(const S2Cell&) const override { return false; }
    bool holds(const S2Cell& cell) const override;
    S2Cap around() const override;

  private:
    S2Cap outer_;
    S2Cap inner_;  // empty: all of the circle
};

}  // namespace geo

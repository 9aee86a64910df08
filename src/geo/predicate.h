// geo/predicate.h - $geoWithin and $geoIntersects: what they ask of a value, and where its keys
// are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bson/view.h"
#include "geo/flat.h"
#include "geo/shape.h"

namespace geo {

// The part of a 2dsphere index where something has its keys.
struct CellRanges {
    struct Range {
        std::string low, high;  // of cell texts; equal: that one
        bool high_inclusive = false;
    };
    std::vector<Range> ranges;  // ascending, apart
};
// `coarsest`: the largest cells that the index has.
CellRanges ranges_of_cells(const std::vector<uint64_t>& cells, int coarsest);
// The levels by which a query is covered.
Covering query_covering(double extent, int coarsest);

class Predicate {
  public:
    enum class Ask { within, intersects };
    // Throws base::Error 2, 16672.
    static std::shared_ptr<const Predicate> parse(Ask ask, const bson::Element& operand,
                                                  Rules rules);

    // Of one value at the path: an array may be one point.
    bool matches(const bson::Element& value) const;

    // Where a 2d index can have what matches; none: it is of no use.
    const FlatShape* flat() const { return flat_.get(); }
    // Whether a 2dsphere index can be used, and where.
    bool is_on_sphere() const { return shape_ != nullptr || cap_radians_.has_value(); }
    CellRanges ranges(int coarsest) const;

  private:
    Predicate() = default;
    void parse_geometry(const bson::Element& geometry, Rules rules);
    void parse_flat(const bson::Element& shape);

    Ask ask_ = Ask::within;
    Rules rules_ = Rules::old;
    std::shared_ptr<const Shape> shape_;     // $geometry
    std::shared_ptr<const FlatShape> flat_;  // the others
    std::optional<double> cap_radians_;      // $centerSphere
    Point centre_;
};

}  // namespace geo

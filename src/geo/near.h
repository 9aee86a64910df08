// geo/near.h - $near and its like: from where, how far, and how far a value is.
#pragma once

#include <limits>
#include <memory>
#include <optional>

#include "bson/view.h"
#include "geo/predicate.h"

namespace geo {

// A metre of GeoJSON in radians of the earth.
constexpr double kEarthMetres = 6378100;

class Near {
  public:
    // `operators`: all of one field, of which the first one is the $near; what else is in it means
    // nothing. Throws base::Error 2, 16681, 16885, 16893 to 16900, 17444.
    static std::shared_ptr<const Near> parse(bson::Doc operators, Rules rules);
    // Of commands and stages, in the units of `geojson`, whose `spherical` says which distance.
    struct Parts {
        Point centre;
        bool geojson = false;
        bool spherical = false;
        double least = 0;
        double most = std::numeric_limits<double>::infinity();
    };
    explicit Near(const Parts& parts, Rules rules = Rules::old) : parts_(parts), rules_(rules) {}
    static bool is_name(std::string_view name);

    const Parts& parts() const { return parts_; }
    Rules rules() const { return rules_; }
    // Whether an index of this kind can answer.
    bool can_use_flat() const { return !parts_.geojson; }
    bool can_use_sphere() const { return parts_.geojson || parts_.spherical; }

    // The unit in which an index measures: radians for those of the sphere.
    double least() const { return parts_.geojson ? parts_.least / kEarthMetres : parts_.least; }
    double most() const { return parts_.geojson ? parts_.most / kEarthMetres : parts_.most; }
    // What clients see: metres, or what least() and most() are.
    double shown(double distance) const {
        return parts_.geojson ? distance * kEarthMetres : distance;
    }

    // The distance of a place in a value at the path, and the place.
    struct Found {
        double distance;
        bson::Element place;
    };
    // The nearest one that is not too near nor too far. `flat`: as a 2d index measures. A value is
    // a place or, in such an index, several.
    std::optional<Found> nearest(const bson::Element& value, bool flat) const;

  private:
    Parts parts_;
    Rules rules_;
};

}  // namespace geo

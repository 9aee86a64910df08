#include "geo/index_kind.h"

#include <cmath>
#include <limits>
#include <memory>

#include "base/error.h"
#include "bson/json.h"
#include "geo/shape.h"
#include "sched/tick.h"

namespace geo {

namespace {

using bson::Doc;
using bson::Element;

constexpr int kLevelsMax = 30;

Point place_of(const Element& value) {
    auto each = value.as_doc().begin();
    const auto last = value.as_doc().end();
    const Element x = *each;
    if (++each == last) base::fail(13068, "geo field only has 1 element: {}", bson::to_text(value));
    if (!x.is_number() || !each->is_number())
        base::fail(13026, "geo values must be 'legacy coordinate pairs' for 2d indexes: {}",
                   bson::to_text(value));
    return {x.to_double(), each->to_double()};
}

void check_flat(Doc spec) {
    const Grid grid(spec);
    bool first = true;
    bool any = false;
    for (const Element& e : spec["key"].as_doc()) {
        if (index_kind(e) == IndexKind::flat) {
            if (any) base::fail(16800, "can't have 2 geo fields");
            if (!first) base::fail(16801, "2d has to be first in index");
            any = true;
        }
        first = false;
    }
}

}  // namespace

IndexKind index_kind(const Element& of_key) {
    if (!of_key.is_string()) return IndexKind::none;
    const std::string_view kind = of_key.as_string();
    if (kind == "2d") return IndexKind::flat;
    if (kind == "2dsphere") return IndexKind::sphere;
    return kind == "geoHaystack" ? IndexKind::haystack : IndexKind::none;
}

IndexKind index_kind(Doc key) {
    for (const Element& e : key)
        if (const IndexKind kind = index_kind(e); kind != IndexKind::none) return kind;
    return IndexKind::none;
}

SphereIndex::SphereIndex(Doc spec) {
    const Element given = spec["2dsphereIndexVersion"];
    // Servers of 2.4 wrote none.
    version = given.is_number() ? given.to_int32() : 1;
    if (given && (version < 1 || version > kVersionOfToday || !given.is_number()))
        base::fail(17394, "unsupported geo index version: {}", bson::to_text(given));
    if (const Element e = spec["finestIndexedLevel"]; e.is_number()) finest = e.to_int32();
    if (const Element e = spec["coarsestIndexedLevel"]; e.is_number()) coarsest = e.to_int32();
    if (coarsest < 0) base::fail(16747, "coarsestIndexedLevel must be >= 0");
    if (finest > kLevelsMax) base::fail(16748, "finestIndexedLevel must be <= {}", kLevelsMax);
    if (finest < coarsest) base::fail(16749, "finestIndexedLevel must be >= coarsestIndexedLevel");
    for (const Element& e : spec["key"].as_doc())
        if (index_kind(e) == IndexKind::none && !e.is_number())
            base::fail(16823, "Cannot use {} index with other special index types: {}", "2dsphere",
                       bson::to_text(spec["key"]));
}

bool SphereIndex::cells(const Element& value,
                        const std::function<void(const std::string&)>& add) const {
    const bool nested = value.is_object() || value.is_array();
    if (version > 1) {
        const bool nothing = value.missing() || value.type() == bson::Type::null ||
                             value.type() == bson::Type::undefined ||
                             (nested && value.as_doc().empty());
        if (nothing) return false;
    }
    if (!nested)
        base::fail(16754, "geo element must be an array or object: {}", bson::to_text(value));
    std::string why;
    const auto read =
        read_on_sphere(value, version >= kVersionOfToday ? Rules::today : Rules::old, why);
    if (read && version == 1 &&
        (read->kind != Kind::point && read->kind != Kind::line && read->kind != Kind::polygon))
        why = "an index of version 1 takes points, lines and polygons";
    const auto shape = read && why.empty() ? make_shape(*read, why) : nullptr;
    if (shape == nullptr)
        base::fail(16755, "Can't extract geo keys from object, malformed geometry?: {}: {}", why,
                   bson::to_text(value));
    constexpr int kCells = 50;
    const Covering how{coarsest, finest, kCells};
    for (const uint64_t cell : shape->cover(how))
        add(cell_text(cell));
    return true;
}

Haystack::Haystack(Doc spec) {
    const Element size = spec["bucketSize"];
    if (!size.is_number()) base::fail(16777, "need bucketSize");
    bucket = size.to_double();
    if (bucket == 0) base::fail(16769, "bucketSize cannot be zero");
    for (const Element& e : spec["key"].as_doc()) {
        if (index_kind(e) == IndexKind::haystack) {
            if (!location.empty()) base::fail(16770, "can't have more than one geo field");
            if (!other.empty()) base::fail(16771, "the geo field has to be first in index");
            location = e.name();
        } else {
            if (!other.empty())
                base::fail(16772, "geoSearch can only have 1 non-geo field for now");
            other = e.name();
        }
    }
    if (location.empty()) base::fail(16773, "no geo field specified");
    if (other.empty()) base::fail(16774, "no non-geo fields specified");
}

int Haystack::number(double coordinate) const {
    constexpr double kOffset = 180;
    const double bucketed = (coordinate + kOffset) / bucket;
    // As the processor of the old server converted what has no whole number.
    const bool fits = bucketed > -2147483649.0 && bucketed < 2147483648.0;
    return fits ? static_cast<int>(bucketed) : std::numeric_limits<int>::min();
}

std::string Haystack::text(int x, int y) {
    return std::to_string(x) + "_" + std::to_string(y);
}

std::string Haystack::text(const Element& value) const {
    if (!value.is_object() && !value.is_array())
        base::fail(16775, "latlng not an array: {}", bson::to_text(value));
    if (value.as_doc().empty()) base::fail(base::kUnknownError, "a location without coordinates");
    const auto place = pair_of(value);
    if (!place) base::fail(16776, "geo field doesn't have two numbers: {}", bson::to_text(value));
    return text(number(place->x), number(place->y));
}

void for_each_place(const Element& value, const std::function<void(Point)>& add) {
    if (!value.is_object() && !value.is_array()) return;
    const Doc inner = value.as_doc();
    if (inner.empty()) return;
    if (inner.first().is_number()) return add(place_of(value));
    for (const Element& member : sched::ticked(inner)) {
        if (!member.is_object() && !member.is_array())
            base::fail(16804, "location object expected, location array not in correct format");
        if (!member.as_doc().empty()) add(place_of(member));
    }
}

void check_index(Doc spec) {
    switch (index_kind(spec["key"].as_doc())) {
        case IndexKind::flat:
            return check_flat(spec);
        case IndexKind::sphere:
            (void)SphereIndex(spec);
            return;
        case IndexKind::haystack:
            (void)Haystack(spec);
            return;
        case IndexKind::none:
            return;
    }
}

}  // namespace geo

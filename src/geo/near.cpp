#include "geo/near.h"

#include "base/error.h"
#include "bson/json.h"
#include "sched/tick.h"

namespace geo {

namespace {

using bson::Doc;
using bson::Element;

// The codes of a distance that is no number, and of one that is negative.
struct Codes {
    int no_number, negative;
};
constexpr Codes kPairFarthest{16895, 16896};
constexpr Codes kPairNearest{16893, 16894};
constexpr Codes kGeometryFarthest{16899, 16900};
constexpr Codes kGeometryNearest{16897, 16898};

double read_distance(const Element& e, Codes codes) {
    if (!e.is_number()) base::fail(codes.no_number, "{} must be a number", e.name());
    const double distance = e.to_double();
    if (!(distance >= 0)) base::fail(codes.negative, "{} must be non-negative", e.name());
    return distance;
}

// {$geometry: {type: "Point", ...}, $maxDistance, $minDistance}.
void parse_geometry(Doc operand, Rules rules, Near::Parts& out) {
    for (const Element& e : operand) {
        if (e.name() == "$geometry") {
            std::string why;
            if (!e.is_object() || !e.as_doc().has("type"))
                base::fail(16681, "$near requires geojson point, given {}", bson::to_text(e));
            const auto read = read_geojson(e, rules, why);
            if (!read || read->kind != Kind::point)
                base::fail(16885, "$near requires a point, given {}: {}", bson::to_text(e), why);
            out.centre = read->parts.points.front();
        } else if (e.name() == "$maxDistance") {
            out.most = read_distance(e, kGeometryFarthest);
        } else if (e.name() == "$minDistance") {
            out.least = read_distance(e, kGeometryNearest);
        }
    }
    out.geojson = out.spherical = true;
}

// [x, y], with a distance behind them or not.
void parse_pair(const Element& operand, Near::Parts& out) {
    constexpr int kValuesMax = 3;
    const auto place = pair_of(operand);
    if (!place || operand.as_doc().field_count() > kValuesMax)
        base::fail(base::kBadValue, "{} needs a point", operand.name());
    out.centre = *place;
    int index = 0;
    for (const Element& e : operand.as_doc())
        if (++index == kValuesMax) out.most = read_distance(e, kPairFarthest);
}

}  // namespace

bool Near::is_name(std::string_view name) {
    return name == "$near" || name == "$nearSphere" || name == "$geoNear";
}

std::shared_ptr<const Near> Near::parse(Doc operators, Rules rules) {
    Parts parts;
    const Element operand = operators.first();
    if (!operand.is_object() && !operand.is_array())
        base::fail(base::kBadValue, "{} needs a point", operand.name());
    parts.spherical = operand.name() == "$nearSphere";
    const Element first = operand.as_doc().first();
    if (operand.is_object() && first.name().starts_with('$')) {
        const Element geometry = operand.as_doc()["$geometry"];
        if (!geometry.is_object() && !geometry.is_array())
            base::fail(base::kBadValue, "{} needs a $geometry", operand.name());
        for (const Element& e : operators)
            if (e.name() == "$maxDistance" || e.name() == "$minDistance")
                base::fail(base::kBadValue, "{} stands beside $geometry", e.name());
        parse_geometry(operand.as_doc(), rules, parts);
        return std::make_shared<const Near>(parts, rules);
    }
    parse_pair(operand, parts);
    for (const Element& e : operators) {
        if (e.name() == "$maxDistance") parts.most = read_distance(e, kPairFarthest);
        if (e.name() == "$minDistance") parts.least = read_distance(e, kPairNearest);
    }
    if (parts.spherical && !is_on_sphere(parts.centre))
        base::fail(17444, "Legacy point is out of bounds for spherical query");
    return std::make_shared<const Near>(parts, rules);
}

std::optional<Near::Found> Near::nearest(const Element& value, bool flat) const {
    std::optional<Found> best;
    const double from = flat && rules_ == Rules::old ? 0 : least();
    const auto take = [&](double distance, const Element& place) {
        if (distance >= from && distance <= most() && (!best || distance < best->distance))
            best = {distance, place};
    };
    const auto measure = [&](const Element& at, Point place) {
        sched::tick();
        take(parts_.spherical ? cosine_distance(parts_.centre, place)
                              : flat_distance(parts_.centre, place),
             at);
    };
    if (!value.is_object() && !value.is_array()) return best;
    if (flat) {
        if (const auto place = pair_of(value)) {
            measure(value, *place);
        } else {
            for (const Element& member : value.as_doc())
                if (const auto one = pair_of(member)) measure(member, *one);
        }
        return best;
    }
    std::string why;
    const auto read = read_on_sphere(value, rules_, why);
    if (!read) return best;
    if (read->kind == Kind::point) {
        take(angle_between(parts_.centre, read->parts.points.front()), value);
    } else if (const auto shape = make_shape(*read, why)) {
        take(shape->distance(parts_.centre), value);
    }
    return best;
}

}  // namespace geo

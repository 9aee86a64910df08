#include "query/plan/near_request.h"

#include <optional>

#include "base/error.h"
#include "query/match/path.h"

namespace query {

namespace {

// The path of the only usable index of a kind; empty: there is none. Throws base::Error `many`.
std::string path_of(const catalog::Collection& collection, geo::IndexKind kind,
                    std::string_view key, int many) {
    std::string path;
    for (const auto& index : collection.indexes()) {
        if (!index->ready || index->hidden || index->generator == nullptr ||
            index->generator->geo() != kind)
            continue;
        for (const bson::Element& field : index->key_pattern) {
            if (geo::index_kind(field) != kind) continue;
            if (!key.empty() && field.name() != key) continue;
            if (!path.empty() && path != field.name())
                base::fail(many, "more than one index of places, not sure which to run geoNear on");
            if (!path.empty() && key.empty() && kind == geo::IndexKind::flat)
                base::fail(many, "more than one 2d index, not sure which to run geoNear on");
            path = field.name();
        }
    }
    return path;
}

}  // namespace

bool NearRequest::read_near(const bson::Element& e) {
    if (!e.is_object() && !e.is_array()) return false;
    if (const auto place = geo::pair_of(e)) {
        near.centre = *place;
        return true;
    }
    std::string why;
    const auto read = geo::read_geojson(e, rules, why);
    if (!read || read->kind != geo::Kind::point) return false;
    near.centre = read->parts.points.front();
    near.geojson = true;
    return true;
}

void NearRequest::find_index(const catalog::Collection& collection) {
    const int none_or_many = rules == geo::Rules::today ? base::kIndexNotFound : base::kBadValue;
    path.clear();
    if (near.geojson) path = path_of(collection, geo::IndexKind::sphere, key, none_or_many);
    flat_ = false;
    if (path.empty()) {
        path = path_of(collection, geo::IndexKind::flat, key, none_or_many);
        flat_ = !path.empty();
    }
    if (path.empty()) path = path_of(collection, geo::IndexKind::sphere, key, none_or_many);
    if (path.empty()) base::fail(none_or_many, "no geo indices for geoNear");
    if (flat_ && near.geojson)
        base::fail(base::kBadValue, "a 2d index cannot be used with a GeoJSON point");
    if (flat_ && has_least && rules == geo::Rules::old)
        base::fail(17298, "minDistance doesn't work on 2d index");
    if (!flat_ && !near.spherical) base::fail(17301, "2dsphere index must have spherical: true");
}

void NearRequest::choose(const catalog::Collection& collection, FindQuery& query) {
    find_index(collection);
    if (near.spherical && !geo::is_on_sphere(near.centre))
        base::fail(17444, "Legacy point is out of bounds for spherical query");
    made = std::make_shared<const geo::Near>(near, rules);
    query.matcher->look_near(path, made);
    query.near_all = query.limit == 0;
}

// The old server measured in metres on the sphere, and made radians of them for pairs.
double NearRequest::shown(double distance) const {
    const bool from_metres = !flat_ && !near.geojson;
    return (from_metres ? distance * geo::kEarthMetres / geo::kEarthMetres
                        : made->shown(distance)) *
           multiplier;
}

bson::Element NearRequest::place_in(bson::Doc doc) const {
    std::optional<geo::Near::Found> best;
    visit_values(FieldPath(path, SIZE_MAX), doc, LeafArrays::keep, [&](const PathValue& value) {
        const auto found = made->nearest(value.value, flat_);
        if (found && (!best || found->distance < best->distance)) best = found;
        return false;
    });
    return best ? best->place : bson::Element();
}

}  // namespace query

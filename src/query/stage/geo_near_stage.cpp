#include "query/stage/geo_near_stage.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "dialect/pipelines.h"
#include "query/expression/expression.h"
#include "sched/interruption.h"

namespace query {

namespace {

constexpr int kFailed = 16604;
constexpr int64_t kDefaultLimit = 100;

using Path = std::span<const std::string>;

void append_at(bson::Builder& out, Path path, const bson::Element& value);

// Appends a document in which `value` stands at the path.
void append_changed(bson::Builder& out, bson::Doc doc, Path path, const bson::Element& value) {
    bool done = false;
    for (const bson::Element& e : doc) {
        if (e.name() != path.front() || done) {
            out.append(e);
            continue;
        }
        done = true;
        if (path.size() == 1) {
            out.append_as(e.name(), value);
        } else if (e.is_object()) {
            bson::Builder inner = out.sub_object(e.name());
            append_changed(inner, e.as_doc(), path.subspan(1), value);
        } else {
            append_at(out, path, value);
        }
    }
    if (!done) append_at(out, path, value);
}

void append_at(bson::Builder& out, Path path, const bson::Element& value) {
    if (path.size() == 1) {
        out.append_as(path.front(), value);
        return;
    }
    bson::Builder inner = out.sub_object(path.front());
    append_at(inner, path.subspan(1), value);
}

std::vector<std::string> read_path(const bson::Element& e, int code,
                                   const PipelineContext& context) {
    if (!e.is_string()) base::fail(code, "$geoNear requires '{}' as a text", e.name());
    return split_path(e.as_string(), context.dialect);
}

}  // namespace

GeoNearStage::GeoNearStage(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object() && !spec.is_array())
        base::fail(10065, "invalid parameter: expected an object ($geoNear)");
    const bson::Doc given = spec.as_doc();
    const bool today = context.dialect.has(dialect::kStagesOfToday);
    request_.rules = today ? geo::Rules::today : geo::Rules::old;
    const bson::Element near = given["near"];
    if (!near.is_object() && !near.is_array())
        base::fail(16605, "$geoNear requires a 'near' option as an Array");
    near_is_bad_ = !request_.read_near(near);
    distance_field_ = read_path(given["distanceField"], 16606, context);
    if (const bson::Element e = given["includeLocs"]) places_field_ = read_path(e, 16607, context);
    // To today's servers a point of GeoJSON is on the sphere, whatever else is said.
    request_.near.spherical = given["spherical"].truthy() || (today && request_.near.geojson);
    if (const bson::Element e = given["query"]; e.is_object()) filter_ = bson::Object(e.as_doc());
    constexpr int kNoLimit = 50858;
    constexpr int kNoNum = 50857;
    for (const char* name : {"limit", "num"}) {
        const bson::Element e = given[name];
        if (today && e)
            base::fail(std::string_view(name) == "num" ? kNoNum : kNoLimit,
                       "$geoNear has no option '{}': put a stage $limit behind it", name);
        if (!e.is_number()) continue;
        limit_ = e.to_int64();
        gives_none_ = limit_ == 0;
        if (limit_ < 0)
            base::fail(kFailed, "$geoNear: {} must be greater than or equal to 0", name);
    }
    if (limit_ == 0 && !gives_none_ && !today) limit_ = kDefaultLimit;
    // To old servers 0 was no limit.
    if (const bson::Element e = given["maxDistance"];
        e.is_number() && (e.to_double() > 0 || (today && e.to_double() == 0)))
        request_.near.most = e.to_double();
    if (const bson::Element e = given["minDistance"]; e.is_number()) {
        request_.has_least = true;
        request_.near.least = std::max(e.to_double(), 0.0);
    }
    if (const bson::Element e = given["distanceMultiplier"]; e.is_number()) {
        request_.multiplier = e.to_double();
        if (!(request_.multiplier >= 0))
            base::fail(kFailed, "$geoNear: distanceMultiplier must be non-negative");
    }
    if (const bson::Element e = given["key"]; e.is_string()) request_.key = e.as_string();
}

void GeoNearStage::add_needs(Needs& needs) const {
    needs.whole_document = true;
}

void GeoNearStage::choose(const catalog::Collection& collection, FindQuery& query) try {
    if (near_is_bad_) base::fail(17304, "'near' must be a point");
    request_.choose(collection, query);
} catch (const base::Error& error) {
    if (request_.rules == geo::Rules::today) throw;
    sched::fail_because(error, kFailed, "geoNear command failed: {}", error.what());
}

void GeoNearStage::write(bson::Doc doc, double distance, bson::Buffer& out) const {
    const bson::Object shown = bson::make("", request_.shown(distance));
    if (places_field_.empty()) {
        bson::Builder built(out);
        return append_changed(built, doc, distance_field_, shown.doc().first());
    }
    bson::Builder first;
    append_changed(first, doc, distance_field_, shown.doc().first());
    bson::Builder built(out);
    append_changed(built, first.doc(), places_field_, request_.place_in(doc));
}

}  // namespace query

// geoNear, geoSearch: what is near, and what is in the buckets around a place.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/milliseconds.h"
#include "bson/compare.h"
#include "bson/validate.h"
#include "command/commands/families.h"
#include "command/commands/request_expressions.h"
#include "command/context/default_collation.h"
#include "command/context/locks.h"
#include "command/context/scripts.h"
#include "command/cursor/query_cursors.h"
#include "command/request/fields_of_today.h"
#include "command/request/invocation.h"
#include "dialect/pipelines.h"
#include "geo/flat.h"
#include "geo/index_kind.h"
#include "geo/shape.h"
#include "query/match/path.h"
#include "query/plan/near_request.h"
#include "sched/tick.h"

namespace command {

namespace {

constexpr int64_t kNearDefault = 100;
constexpr int64_t kSearchDefault = 50;

// Throws base::Error of the first code for what is no number, of the second for one below 0.
double read_distance(const bson::Element& e, int no_number, int negative) {
    if (!e.is_number()) base::fail(no_number, "{} must be a number", e.name());
    if (!(e.to_double() >= 0)) base::fail(negative, "{} must be non-negative", e.name());
    return e.to_double();
}

void check_has_places(const catalog::Collection* collection) {
    if (collection == nullptr) base::fail(base::kNamespaceNotFound, "ns missing");
    for (const auto& index : collection->indexes())
        if (index->generator != nullptr && (index->generator->geo() == geo::IndexKind::flat ||
                                            index->generator->geo() == geo::IndexKind::sphere))
            return;
    base::fail(base::kBadValue, "no geo indices for geoNear");
}

// Whether and by which index, before the rest is read: so did the old server.
void read_place(const Invocation& invocation, const catalog::Collection& collection,
                query::NearRequest& request) {
    const bson::Doc given = invocation.body;
    if (invocation.dialect().has(dialect::kStagesOfToday)) request.rules = geo::Rules::today;
    if (given.has("start"))
        base::fail(base::kBadValue, "using deprecated 'start' argument to geoNear");
    if (!request.read_near(given["near"])) base::fail(17304, "'near' field must be point");
    request.near.spherical = given["spherical"].truthy();
    request.has_least = given.has("minDistance");
    request.find_index(collection);
}

// Returns the number of results.
int64_t read_rest(const Invocation& invocation, query::NearRequest& request) {
    const bson::Doc given = invocation.body;
    int64_t limit = kNearDefault;
    const bson::Element number = given.has("num") ? given["num"] : given["limit"];
    if (number) limit = static_cast<int64_t>(read_distance(number, 17303, 17302));
    if (const bson::Element e = given["distanceMultiplier"])
        request.multiplier = read_distance(e, 17296, 17297);
    if (const bson::Element e = given["minDistance"])
        request.near.least = read_distance(e, 17300, request.near.geojson ? 16898 : 16894);
    if (const bson::Element e = given["maxDistance"])
        request.near.most = read_distance(e, 17299, request.near.geojson ? 16900 : 16896);
    return limit;
}

void run_geo_near(Invocation& invocation) {
    const auto started = sched::Operation::Clock::now();
    const std::string ns = invocation.ns_or_none();
    query::NearRequest request;
    {
        CollectionLock lock(invocation.client, ns, false);
        check_has_places(lock.collection());
        read_place(invocation, *lock.collection(), request);
    }
    const int64_t limit = read_rest(invocation, request);
    const bson::Doc given = invocation.body;
    const bool wants_places = given["includeLocs"].truthy();
    query::FindQuery query;
    query::FindQuery::Parts parts;
    if (const bson::Element e = given["query"]; e.is_object()) parts.filter = e.as_doc();
    set_collation(invocation.client, ns, given["collation"], invocation.dialect(), query);
    const RequestExpressions expressions(invocation, query.collator);
    parts.expressions = expressions.get();
    const RequestScripts scripts(invocation.client, ns);
    parts.where = &scripts;
    query.canonicalise(parts);
    query.limit = limit;
    CollectionLock lock(invocation.client, ns, false);
    check_has_places(lock.collection());
    request.choose(*lock.collection(), query);
    const auto executor =
        query::make_executor(lock.collection(), std::move(query), execution_options(), &lock);
    double sum = 0;
    double most = 0;
    int64_t count = 0;
    {
        bson::Builder results = invocation.reply->sub_array("results");
        query::Row row;
        while (count < limit && executor->next(&row)) {
            const double distance = request.shown(executor->distance());
            bson::Builder result = results.sub_object(results.next().view());
            result.append("dis", distance);
            if (wants_places) result.append_as("loc", request.place_in(row.doc));
            result.append("obj", row.doc);
            result.finish();
            if (results.size() > static_cast<size_t>(bson::kDocumentBytesMax))
                base::fail(base::kBadValue, "geoNear: the results exceed 16 MB, ask for fewer");
            sum += distance;
            most = std::max(most, distance);
            ++count;
        }
    }
    const query::ExecutionStats done = executor->stats();
    report_query(invocation.client, *executor, {}, true);
    bson::Builder stats = invocation.reply->sub_object("stats");
    stats.append("nscanned", static_cast<int32_t>(done.keys_examined));
    stats.append("objectsLoaded", static_cast<int32_t>(done.docs_examined));
    stats.append("avgDistance", sum / static_cast<double>(count));
    stats.append("maxDistance", most);
    stats.append("time", static_cast<int32_t>(base::ms_since(started)));
}

// The only haystack index.
const catalog::Index& haystack_of(const catalog::Collection* collection) {
    if (collection == nullptr) base::fail(base::kNamespaceNotFound, "can't find ns");
    const catalog::Index* found = nullptr;
    for (const auto& index : collection->indexes()) {
        if (index->generator == nullptr || index->generator->geo() != geo::IndexKind::haystack)
            continue;
        if (found != nullptr) base::fail(base::kBadValue, "more than 1 geosearch index");
        found = index.get();
    }
    if (found == nullptr) base::fail(base::kBadValue, "no geoSearch index");
    return *found;
}

class HaystackSearch {
  public:
    HaystackSearch(catalog::Collection& collection, const catalog::Index& index, bson::Doc given)
        : collection_(collection), index_(index), haystack_(index.spec) {
        const bson::Element near = given["near"];
        if (!near.is_object() && !near.is_array()) base::fail(13318, "near needs to be an array");
        const bson::Element most = given["maxDistance"];
        if (!most.is_number()) base::fail(13319, "maxDistance needs a number");
        const bson::Element search = given["search"];
        if (!search.is_object()) base::fail(13320, "search needs to be an object");
        const auto place = geo::pair_of(near);
        if (!place) base::fail(16776, "near needs two numbers");
        near_ = *place;
        most_ = most.to_double();
        other_ = search.as_doc().at_path(haystack_.other);
        if (const bson::Element e = given["limit"]; e.is_number()) limit_ = e.to_int64();
    }

    // Bucket by bucket, x rising, then y.
    void run(bson::Builder& results) {
        const double steps = std::ceil(most_ / haystack_.bucket);
        constexpr double kStepsMax = 256;
        if (!(steps <= kStepsMax))
            base::fail(base::kBadValue, "maxDistance is more than {} buckets", kStepsMax);
        const int reach = static_cast<int>(steps);
        const int x = haystack_.number(near_.x);
        const int y = haystack_.number(near_.y);
        for (int a = -reach; a <= reach; ++a)
            for (int b = -reach; b <= reach; ++b) {
                if (found_ >= limit_) return;
                sched::tick();
                look_into(geo::Haystack::text(x + a, y + b), results);
            }
    }

    int64_t found() const { return found_; }
    int64_t matches() const { return matches_; }

  private:
    void look_into(const std::string& bucket, bson::Builder& results) {
        bson::Builder key;
        key.append("", bucket);
        if (other_)
            key.append_as("", other_);
        else
            key.append_null("");
        const bson::Object wanted = key.object();
        const auto cursor = index_.store->cursor(storage::Direction::forward);
        for (cursor->seek(wanted, false); !cursor->at_end() && found_ < limit_; cursor->next()) {
            if (bson::compare_docs(cursor->key(), wanted) != 0) return;
            sched::tick();
            ++matches_;
            const bson::Doc doc = collection_.records().get(cursor->id());
            const auto place = geo::pair_of(doc.at_path(haystack_.location));
            if (!place || geo::flat_distance(near_, *place) > most_) continue;
            results.push(doc);
            if (results.size() > static_cast<size_t>(bson::kDocumentBytesMax))
                base::fail(base::kBadValue, "geoSearch: the results exceed 16 MB, ask for fewer");
            ++found_;
        }
    }

    catalog::Collection& collection_;
    const catalog::Index& index_;
    const geo::Haystack haystack_;
    geo::Point near_;
    double most_ = 0;
    bson::Element other_;
    int64_t limit_ = kSearchDefault;
    int64_t found_ = 0;
    int64_t matches_ = 0;
};

void run_geo_search(Invocation& invocation) {
    const auto started = sched::Operation::Clock::now();
    CollectionLock lock(invocation.client, invocation.ns_or_none(), false);
    const catalog::Index& index = haystack_of(lock.collection());
    HaystackSearch search(*lock.collection(), index, invocation.body);
    {
        bson::Builder results = invocation.reply->sub_array("results");
        search.run(results);
    }
    bson::Builder stats = invocation.reply->sub_object("stats");
    stats.append("time", static_cast<int32_t>(base::ms_since(started)));
    stats.append("btreeMatches", static_cast<int32_t>(search.matches()));
    stats.append("n", static_cast<int32_t>(search.found()));
}

constexpr Field kNearFields[] = {
    {"near", types::any},        {"num", types::any},
    {"limit", types::any},       {"minDistance", types::any},
    {"maxDistance", types::any}, {"query", types::any},
    {"spherical", types::any},   {"uniqueDocs", types::any},
    {"includeLocs", types::any}, {"distanceMultiplier", types::any},
    {"start", types::any},       {"collation", types::object},
};

constexpr Field kSearchFields[] = {
    {"near", types::any},
    {"maxDistance", types::any},
    {"search", types::any},
    {"limit", types::any},
};

constexpr Command kCommands[] = {
    {"geoNear", "", 0, LockKind::read, "documents by their distance from a place", run_geo_near,
     needs::on_collection(auth::action::find), kNearFields},
    {"geoSearch", "", 0, LockKind::read, "documents in the buckets of a haystack around a place",
     run_geo_search, needs::on_collection(auth::action::find), kSearchFields},
};

}  // namespace

Family geo_commands() {
    return kCommands;
}

}  // namespace command

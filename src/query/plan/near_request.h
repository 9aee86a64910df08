// query/plan/near_request.h - the command geoNear and the stage $geoNear: what is near, by the
// index of places that a collection has, each with its distance.
#pragma once

#include <memory>
#include <string>

#include "bson/builder.h"
#include "catalog/collection.h"
#include "geo/near.h"
#include "query/plan/query.h"

namespace query {

struct NearRequest {
    geo::Near::Parts near;
    geo::Rules rules = geo::Rules::old;
    bool has_least = false;
    double multiplier = 1;
    std::string key;  // the path of the index; empty: that of the only one

    std::shared_ptr<const geo::Near> made;  // by choose()
    std::string path;

    // Reads `near`, a pair or a point. False: it is none.
    bool read_near(const bson::Element& e);
    // Finds the index. Throws base::Error 2 where there is none or are several (27 by the rules of
    // today), 17298, 17301.
    void find_index(const catalog::Collection& collection);
    // Makes the filter of `query` look for what is near, by the index that the collection has.
    // Throws what find_index() does.
    void choose(const catalog::Collection& collection, FindQuery& query);

    // What a client sees of a distance that an executor tells.
    double shown(double distance) const;
    // The place in a document that is nearest.
    bson::Element place_in(bson::Doc doc) const;

  private:
    bool flat_ = false;
};

}  // namespace query

// query/stage/geo_near_stage.h - $geoNear: the source of its pipeline gives what is near, with the
// distance in it.
#pragma once

#include <string>
#include <vector>

#include "query/plan/near_request.h"
#include "query/stage/stage.h"

namespace query {

class GeoNearStage final : public Stage {
  public:
    // Throws base::Error 10065, 15998, 16410, 16604 to 16607.
    GeoNearStage(const Value& spec, const PipelineContext& context);

    bool next(bson::Doc* out) override { return previous_->next(out); }
    void add_needs(Needs& needs) const override;

    // For the source.
    NearRequest& request() { return request_; }
    bson::Doc filter() const { return filter_; }
    int64_t limit() const { return limit_; }  // 0: none
    bool gives_none() const { return gives_none_; }
    // Throws base::Error 16604 for what cannot be found, whatever the cause.
    void choose(const catalog::Collection& collection, FindQuery& query);
    // Appends a document with its distance.
    void write(bson::Doc doc, double distance, bson::Buffer& out) const;

  private:
    NearRequest request_;
    bson::Object filter_;
    std::vector<std::string> distance_field_;
    std::vector<std::string> places_field_;  // empty: not wanted
    int64_t limit_ = 0;
    bool gives_none_ = false;
    bool near_is_bad_ = false;
};

}  // namespace query

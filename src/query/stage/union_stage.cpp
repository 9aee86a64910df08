// $unionWith: the documents of another collection behind those that come.

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "query/stage/foreign.h"
#include "query/stage/pipeline.h"
#include "query/stage/stage.h"
#include "sched/tick.h"

namespace query {

namespace {

class Union : public Stage {
  public:
    Union(std::string collection, bson::Doc stages, const PipelineContext& outer)
        : collection_(std::move(collection)), inner_(sub_pipeline_context(outer)) {
        DCHECK(inner_.foreign != nullptr);
        check_sub_pipeline(stages, outer, "$unionWith", 31441);
        // Refused before the first document, where something is wrong with it.
        pipeline_ = Pipeline::parse(stages, inner_);
    }

    bool next(bson::Doc* out) override {
        if (!at_other_ && previous_->next(out)) return true;
        if (!at_other_) {
            at_other_ = true;
            if (!pipeline_->has_own_source()) inner_.foreign->connect(collection_, *pipeline_);
        }
        return pipeline_->next(out);
    }
    void add_needs(Needs&) const override {}
    Needs input_needs(Needs later) const override { return later; }
    int further_levels() const override { return pipeline_->further_levels(); }

  private:
    const std::string collection_;
    const PipelineContext inner_;
    std::unique_ptr<Pipeline> pipeline_;
    bool at_other_ = false;
};

}  // namespace

StagePtr make_union(const Value& spec, const PipelineContext& context) {
    if (spec.is_string())
        return std::make_unique<Union>(foreign_name(spec, "$unionWith"), bson::Doc(), context);
    if (!spec.is_object())
        base::fail(base::kFailedToParse,
                   "the $unionWith stage specification must be an object or string, but found {}",
                   bson::name_of(spec.type()));
    Value collection;
    bson::Doc stages;
    for (const Value& e : spec.as_doc()) {
        if (e.name() == "coll") {
            collection = e;
        } else if (e.name() == "pipeline") {
            if (!e.is_array())
                base::fail(base::kTypeMismatch, "the pipeline of $unionWith must be an array");
            stages = e.as_doc();
        } else {
            base::fail(40415, "BSON field '$unionWith.{}' is an unknown field.", e.name());
        }
    }
    check_has_documents(!collection.missing(), stages, "$unionWith");
    return std::make_unique<Union>(collection ? foreign_name(collection, "$unionWith") : "", stages,
                                   context);
}

}  // namespace query

#include "query/stage/computed_projection.h"

#include <utility>

#include "base/dcheck.h"
#include "dialect/dialect.h"
#include "query/expression/pipeline_context.h"
#include "query/stage/stage.h"

namespace query {

namespace {

// The source of the stage: gives one document, then no other.
class OneDocument : public Stage {
  public:
    void set(bson::Doc doc) { doc_ = doc; }
    bool next(bson::Doc* out) override {
        *out = std::exchange(doc_, bson::Doc());
        return true;
    }
    void add_needs(Needs&) const override {}

  private:
    bson::Doc doc_;
};

class ComputedProjection : public Projection {
  public:
    ComputedProjection(bson::Doc spec, const std::shared_ptr<const LetVariables>& let,
                       const std::shared_ptr<const collation::Collator>& collator)
        : spec_(bson::make("$project", spec)), let_(let) {
        PipelineContext context;
        context.dialect = dialect::kToday;
        context.collator = collator;
        context.let = let;
        if (let != nullptr) context.variables = let->variables();
        stage_ = make_project(spec_.doc().first(), context);
        DCHECK(!stage_->holds_documents());  // each document gives one at once
        stage_->simplify_expressions();
        stage_->set_previous(&document_);
    }

    void apply(bson::Doc doc, const MatchDetails*, bson::Buffer& out) const override {
        document_.set(doc);
        bson::Doc result;
        stage_->next(&result);
        out.append(result.data(), static_cast<size_t>(result.size()));
    }
    bool needs_details() const override { return false; }
    bool covered_by(const std::vector<std::string>&) const override { return false; }
    bool takes(std::string_view) const override { return false; }

  private:
    const bson::Object spec_;
    const std::shared_ptr<const LetVariables> let_;
    mutable OneDocument document_;
    StagePtr stage_;
};

}  // namespace

std::unique_ptr<Projection> make_computed_projection(
    bson::Doc spec, const std::shared_ptr<const LetVariables>& let,
    const std::shared_ptr<const collation::Collator>& collator) {
    return std::make_unique<ComputedProjection>(spec, let, collator);
}

}  // namespace query

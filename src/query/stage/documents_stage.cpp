// $documents: a pipeline that begins with the documents of an expression instead of a collection's.

#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/expression/expression.h"
#include "query/stage/foreign.h"
#include "query/stage/stage.h"

namespace query {

namespace {

constexpr int kNoDocuments = 5858203;

// Computes them with the first one that is asked for: variables have their values then.
class Given {
  public:
    Given(const Value& spec, const PipelineContext& context) {
        Names names(context, dialect::kToday);
        list_ = parse_operand(spec, names);
        simplify(list_);
        scope_.prepare(names);
    }

    bool next(bson::Doc* out) {
        if (!computed_) compute();
        if (at_ == end_) return false;
        if (!at_->is_object())
            base::fail(kNoDocuments, "$documents needs documents, but one element is of type {}",
                       bson::name_of(at_->type()));
        *out = at_->as_doc();
        ++at_;
        return true;
    }

  private:
    void compute() {
        computed_ = true;
        scope_.set_root(bson::Doc());
        const Value list = list_->evaluate(scope_);
        if (!list.is_array())
            base::fail(kNoDocuments, "$documents needs an array of documents, but found {}",
                       bson::name_of(list.type()));
        at_ = list.as_doc().begin();
        end_ = list.as_doc().end();
    }

    ExpressionPtr list_;
    Arena arena_;
    Scope scope_{arena_};
    bool computed_ = false;
    bson::Doc::iterator at_ = bson::Doc().begin();
    bson::Doc::iterator end_ = bson::Doc().end();
};

}  // namespace

bool begins_with_documents(bson::Doc stages) {
    const Value first = stages.first();
    return first.is_object() && first.as_doc().first().name() == "$documents";
}

void check_has_documents(bool has_collection, bson::Doc stages, std::string_view stage) {
    const bool has_own = begins_with_documents(stages);
    if (has_collection && has_own)
        base::fail(base::kFailedToParse,
                   "{} reads a collection or $documents, which its pipeline begins with: not both",
                   stage);
    if (!has_collection && !has_own)
        base::fail(base::kFailedToParse,
                   "{} needs a collection, or a pipeline that begins with $documents", stage);
}

DocumentSource make_documents(const Value& spec, const PipelineContext& context) {
    const auto given = std::make_shared<Given>(spec, context);
    return [given](bson::Doc* out) { return given->next(out); };
}

}  // namespace query

// query/stage/pipeline.h - aggregation pipelines of 2.6 and a few later stages (wire
// spec 4.7, semantics 4).
//
// A Pipeline is parsed once per command and then pulled: each next() asks the last stage, which
// asks the one before it, down to the source that the command layer connects. The beginning of a
// pipeline that a query can do better ($match, $sort) is offered to the planner and dropped if
// taken.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "bson/view.h"
#include "collation/collator.h"
#include "query/expression/pipeline_context.h"

namespace query {

class ExpressionParser;
struct PipelineOutput;
class GeoNearStage;
struct Needs;
class SortPattern;

class Pipeline {
  public:
    // `stages` is the array of the command. Copies it. Throws base::Error with the codes of
    // semantics 4; constant parts of expressions are evaluated here and may fail too.
    static std::unique_ptr<Pipeline> parse(bson::Doc stages, const PipelineContext& context);
    virtual ~Pipeline() = default;

    // It begins with $text: its documents carry their score, as append_with_score() puts it
    // (query/plan/query.h).
    virtual bool has_scores() const = 0;
    // Brings its own documents (PipelineContext::find_first_stage): connect no source.
    virtual bool has_own_source() const = 0;
    // The filter of the $match the pipeline starts with, {} if none. Once the source applies it,
    // drop it.
    virtual bson::Doc leading_match() const = 0;
    virtual void drop_leading_match() = 0;
    // The $geoNear the pipeline starts with; null: it starts otherwise. It stays, and the source
    // gives what it asks for.
    virtual GeoNearStage* leading_near() const = 0;
    // Reads $expr in it; null: there is no such operator. Lives as long as the pipeline.
    virtual const ExpressionParser* expressions() const = 0;
    // Returns the collation under which it compares texts; null: by their bytes.
    virtual const std::shared_ptr<const collation::Collator>& collator() const = 0;
    // The $sort that comes first (after the $match), {} if none. Drop it if the source delivers in
    // that order; leading_limit() then tells after how many documents nothing more is read (0: no
    // such limit; a $skip in between is counted in).
    virtual bson::Doc leading_sort() const = 0;
    virtual void drop_leading_sort() = 0;
    virtual int64_t leading_limit() const = 0;
    // Gives a leading sort that stays, and orders as find does, its pattern: `pattern` knows the
    // source's filter, which decides the elements of arrays that count. The filter must live as
    // long as next().
    virtual void order_leading_sort(std::shared_ptr<const SortPattern> pattern) = 0;
    // Returns what $out or $merge at the end asks for; null without. The caller stores the results.
    virtual const PipelineOutput* output() const = 0;
    // How many levels its results may be deeper than the documents of its source are.
    virtual int further_levels() const = 0;
    // The stages as given (without $out, $merge and what was dropped), for explain.
    virtual std::vector<bson::Object> describe() const = 0;

    // Adds what is read of the documents of its source.
    virtual void add_needs(Needs& needs) const = 0;
    // Returns these fields as a projection; {}: the whole documents.
    virtual bson::Object fields() const = 0;

    virtual void set_source(DocumentSource source) = 0;
    // Instead: one that reads several documents at a time, so that it needs its lock for those only
    // and not while the stages work.
    virtual void set_source(BatchSource source) = 0;
    // The next result, valid until the next call; false at the end. Throws base::Error.
    virtual bool next(bson::Doc* out) = 0;
};

}  // namespace query

// query/aggregation/pipeline.h - aggregation pipelines of 2.6 and a few later stages (wire
// spec 4.7, semantics 4).
//
// A Pipeline is parsed once per command and then pulled: each next() asks the last stage, which
// asks the one before it, down to the source that the command layer connects. The beginning of a
// pipeline that a query can do better ($match, $sort) is offered to the planner and dropped if
// taken.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "bson/view.h"

namespace query {

// Gives the next document, valid until the next call; false at the end.
using DocumentSource = std::function<bool(bson::Doc*)>;
// Makes the documents that a stage asks for; empty: there is no such stage.
using FirstStage = std::function<DocumentSource(const bson::Element& spec)>;

struct PipelineContext {
    // $group, $sort, $sortByCount and $facet then write what they cannot hold to files in
    // `scratch_directory` (spill/run.h); results and their order are the same. Without it they
    // throw base::Error 16945, 16819 and 16820 above kStageMemoryBytes.
    bool allow_disk_use = false;
    std::string scratch_directory;  // empty: the system's
    // Called for a stage that this room does not know, e.g. $collStats: what makes the documents it
    // starts the pipeline with, or nothing if the command layer does not know it either (error
    // 16436). Such a stage has to be the first one (error 40602), and not in a $facet (error
    // 40600). May be empty.
    std::function<FirstStage(std::string_view stage)> find_first_stage;
};

constexpr int64_t kStageMemoryBytes = 100 * 1024 * 1024;

class Pipeline {
  public:
    // `stages` is the array of the command. Copies it. Throws base::Error with the codes of
    // semantics 4; constant parts of expressions are evaluated here and may fail too.
    static std::unique_ptr<Pipeline> parse(bson::Doc stages, const PipelineContext& context);
    virtual ~Pipeline() = default;

    // Brings its own documents (PipelineContext::find_first_stage): connect no source.
    virtual bool has_own_source() const = 0;
    // The filter of the $match the pipeline starts with, {} if none. Once the source applies it,
    // drop it.
    virtual bson::Doc leading_match() const = 0;
    virtual void drop_leading_match() = 0;
    // The $sort that comes first (after the $match), {} if none. Drop it if the source delivers in
    // that order; leading_limit() then tells after how many documents nothing more is read (0: no
    // such limit; a $skip in between is counted in).
    virtual bson::Doc leading_sort() const = 0;
    virtual void drop_leading_sort() = 0;
    virtual int64_t leading_limit() const = 0;
    // The collection that $out at the end names; empty without $out. Storing is up to the caller.
    virtual const std::string& out_collection() const = 0;
    // The stages as given (without $out and what was dropped), for explain.
    virtual std::vector<bson::Object> describe() const = 0;

    virtual void set_source(DocumentSource source) = 0;
    // The next result, valid until the next call; false at the end. Throws base::Error.
    virtual bool next(bson::Doc* out) = 0;
};

}  // namespace query

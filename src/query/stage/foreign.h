// query/stage/foreign.h - collections that stages read besides the one that their pipeline
// runs over.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "query/expression/pipeline_context.h"
#include "query/value/value.h"

namespace query {

class Pipeline;

// The command layer implements this: it decides on locks, yields and whether the client may read.
class ForeignCollections {
  public:
    virtual ~ForeignCollections() = default;
    // Called before `stages` are pulled: gives them the documents of a collection of the pipeline's
    // database; none if there is no collection of that name. Takes from the beginning of `stages`
    // as much as a query can do better. The operation of the pipeline pulls them too, and they end
    // before it.
    virtual void connect(std::string_view collection, Pipeline& stages) = 0;
};

// More pipelines in each other than these are refused.
constexpr int kSubPipelinesMax = 20;

// The collection that a stage names. Throws base::Error 9 unless it is a string, and 73 unless that
// may be a name.
std::string foreign_name(const Value& from, std::string_view stage);

// Whether a pipeline brings its documents itself, by $documents.
bool begins_with_documents(bson::Doc stages);
// Throws base::Error 9 where a pipeline of a stage has both, a collection and documents of its own,
// or none.
void check_has_documents(bool has_collection, bson::Doc stages, std::string_view stage);

// Returns the context of a pipeline inside of a stage. Throws base::Error 232 beyond
// kSubPipelinesMax.
PipelineContext sub_pipeline_context(const PipelineContext& outer);
// Returns such a pipeline, {p: [...]}, which begins with the filter, unless that is empty,
// or with $documents and then the filter.
bson::Object sub_pipeline(bson::Doc filter, bson::Doc stages);
// Throws base::Error `code` for stages that such a pipeline cannot have because they write, or tell
// of the server.
void check_sub_pipeline(bson::Doc stages, const PipelineContext& outer, std::string_view stage,
                        int code);

// Appends the values that a path leads to, those of arrays one by one; a number in it may be a
// position. Nothing for a missing one.
void append_values_at(bson::Doc doc, std::span<const std::string> path,
                      sched::Vector<Value>& values);

// A filter: `path` has one of the values, which there is at least one of. Missing and undefined
// count as null, and a regular expression as itself.
bson::Object one_of(std::string_view path, std::span<const Value> values);

// Appends `doc` with `value` at a path, in the place of what is there; what is no document on the
// way to it becomes one.
void write_with(bson::Doc doc, std::span<const std::string> path, const Value& value,
                bson::Buffer& out);

}  // namespace query

// query/stage/output.h - where the results of a pipeline go that ends with $out or $merge. The
// command layer decides what is stored, and how.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bson/builder.h"
#include "query/expression/pipeline_context.h"
#include "query/stage/merge_spec.h"

namespace query {

struct OutputTarget {
    std::string db;  // empty: that of the pipeline
    std::string collection;
};

// Returns the target of a stage; nothing if it is neither $out nor $merge, or names no collection.
std::optional<OutputTarget> output_target(bson::Doc stage);

struct PipelineOutput {
    OutputTarget target;
    std::unique_ptr<MergeSpec> merge;  // null: $out

    // The stage with everything in it that it may leave out, for explain; `db`: of the pipeline.
    bson::Object describe(std::string_view db) const;
};

inline bool is_output_stage(std::string_view name) {
    return name == "$out" || name == "$merge";
}

// `stage`: {$out: ..} or {$merge: ..}, which lives longer. Throws base::Error 16990, 40413 to
// 40415, 14, 72, and what MergeSpec does; by the old messages $out takes a string only.
std::unique_ptr<PipelineOutput> make_output(bson::Doc stage, const PipelineContext& context);

}  // namespace query

// command/commands/aggregate.h - running aggregation pipelines over collections (wire
// spec 3.7, 4.7).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "collation/collator.h"
#include "command/commands/explain.h"
#include "command/cursor/batch.h"
#include "command/request/invocation.h"
#include "command/write/write_ops.h"
#include "query/expression/let_variables.h"

namespace command {

struct PipelineRequest {
    std::string ns;         // of the reply; "db.$cmd.aggregate" for { aggregate: 1 }
    std::string source_ns;  // of the collection that is read: another one where `ns` is a view
    bool whole_database = false;
    bson::Object stages;                  // an array; with those of the view
    std::vector<std::string> foreign_ns;  // of other collections that the client asks for
    std::optional<Verbosity> explain;     // instead of the results
    bool as_cursor = false;
    bool single_batch = false;  // no cursor stays
    int64_t batch_size = kFirstBatchDocuments;
    bool allow_disk_use = false;
    bson::Element hint;
    bson::Element collation;                                   // as asked for
    bson::Element let_given;                                   // likewise
    std::shared_ptr<const query::LetVariables> let;            // null: none
    std::shared_ptr<const collation::Collator> collator = {};  // null: texts by their bytes
    Validation validation = Validation::asked;                 // of what $out and $merge write
    bson::Doc projection;  // of a find: how it shows the results; not positional
};
// Replies with the results, or how they would be found. REQUIRES: source_ns is no view, or was none
// when it was looked for.
void run_pipeline(Invocation& invocation, const PipelineRequest& request);
// Calls `use` with each result, without a lock. REQUIRES: the same, and no $out.
void each_result(Invocation& invocation, const PipelineRequest& request,
                 const std::function<void(bson::Doc)>& use);

// Replies how an aggregate command (in invocation.body) would be executed.
void explain_aggregate(Invocation& invocation, Verbosity verbosity);

}  // namespace command

// query/stage/update_pipeline.h - updates by a pipeline, as later servers have them: what its
// stages make of a document takes the place of that document, `_id` stays.
#pragma once

#include <memory>

#include "query/expression/let_variables.h"
#include "query/update/update.h"

namespace query {

// Throws base::Error 40324 for a stage that today's servers do not know at all. It fails a command
// with many updates as a whole; what else is wrong with one of them fails that one.
void check_stage_names(bson::Doc stages);

// `update`: the stages, where it is an array. They are $set, $addFields, $unset, $project,
// $replaceRoot and $replaceWith, each of which makes one document of one. Throws base::Error 72 for
// others, 9 beside arrayFilters, and what Pipeline::parse and Update::parse throw. `let`: variables
// of the stages; null: none.
std::unique_ptr<Update> parse_update(bson::Doc update, bool is_pipeline,
                                     const Update::Options& options,
                                     std::shared_ptr<const LetVariables> let);

}  // namespace query

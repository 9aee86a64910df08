// command/commands/server_stages.h - the stages that ask the server instead of a collection:
// $collStats, $indexStats, $currentOp (wire spec 2.4), $listLocalSessions (wire spec 2.6).
#pragma once

#include <string>
#include <string_view>

#include "command/request/invocation.h"
#include "query/expression/pipeline_context.h"

namespace command {

// Returns what makes the documents of such a stage, while the invocation and `ns` live; empty if
// the name is not one of them. Making them throws base::Error 26, 14, 9.
query::FirstStage find_first_stage(Invocation& invocation, const std::string& ns,
                                   std::string_view stage);

}  // namespace command

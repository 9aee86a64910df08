// command/commands/explain.h - what the explanations of queries and of pipelines have in common.
#pragma once

#include <string_view>

#include "bson/builder.h"
#include "command/request/invocation.h"
#include "command/request/server_context.h"

namespace command {

enum class Verbosity { query_planner, execution_stats, all_plans };

// Appends serverInfo.
void append_server(bson::Builder& reply, const ServerContext& context);

// command: what was explained, without what any command may carry to its session.
void append_explained(bson::Builder& reply, const Invocation& explained);

}  // namespace command

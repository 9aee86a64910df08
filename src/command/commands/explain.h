// command/commands/explain.h - what the explanations of queries and of pipelines have in common.
#pragma once

#include <string_view>

#include "bson/builder.h"
#include "command/request/server_context.h"

namespace command {

enum class Verbosity { query_planner, execution_stats, all_plans };

// serverInfo.
void append_server(bson::Builder& reply, const ServerContext& context);

}  // namespace command

// command/families/server_stages.h - the stages that ask the server instead of a collection:
// $collStats, $indexStats, $currentOp (wire spec 2.4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "command/invocation.h"
#include "query/aggregation/pipeline.h"

namespace command {

// The documents of such a stage; nothing if the name is not one of them. Throws base::Error 26, 9.
std::optional<query::DocumentSource> first_stage(Invocation& invocation, const std::string& ns,
                                                 std::string_view stage, const bson::Element& spec);

// Whether the last stage is $out.
bool has_out_stage(bson::Doc stages);

}  // namespace command

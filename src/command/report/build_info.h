// command/report/build_info.h - what this program is: the fields of buildInfo.
#pragma once

#include "bson/builder.h"
#include "storage/engine.h"

namespace command {

struct ServerContext;

void append_build_info(const ServerContext& context, const storage::Engine& engine,
                       bson::Builder& out);

}  // namespace command

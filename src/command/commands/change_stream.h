// command/commands/change_stream.h - aggregations that begin with $changeStream, and what their
// replies say.
#pragma once

#include <cstdint>
#include <memory>

#include "bson/builder.h"
#include "command/commands/aggregate.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "query/stage/pipeline.h"

namespace command {

// Whether the client, whose messages say so, asks for a change stream.
bool is_change_stream(const Invocation& invocation, bson::Doc stages);
// Throws base::Error 40573 outside of a set, 72 for explain; checks the stages behind the first
// one.
void check_change_stream(const Invocation& invocation, const PipelineRequest& request);
// Replies with a cursor. `stages`: those behind the first one.
void run_change_stream(Invocation& invocation, const PipelineRequest& request,
                       std::shared_ptr<query::Pipeline> stages);
// Whether the client may see all that the stage asks for.
bool may_follow(const Invocation& invocation, const Rights& rights, const bson::Element& spec);

// Appends the place behind a batch of the cursor to the reply; this leaves once a majority has what
// the batch tells of. Does nothing for an empty token.
void append_stream_place(Invocation& invocation, const bson::Object& token, int64_t cursor,
                         bson::Builder& reply);

}  // namespace command

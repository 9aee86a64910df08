// command/commands/views.h - what is asked of a view, as a pipeline over the collection that it
// stands on.
//
// Only OP_MSG may do that: the old messages are refused a view, since what it stands for may have
// stages that they do not know.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bson/builder.h"
#include "collation/collator.h"
#include "command/commands/aggregate.h"
#include "command/commands/find.h"
#include "command/pipeline/resolved_view.h"
#include "command/request/invocation.h"

namespace command {

// Returns the view that find_view finds for a request; nothing for one by the old messages, whose
// lock refuses views.
std::optional<ResolvedView> view_of(const Invocation& invocation, std::string_view ns);

// The collation of a view. Throws base::Error 167 where `asked`, the field of a command, which may
// be missing, asks for another one, and what collation::Collator::make does.
std::shared_ptr<const collation::Collator> collator_in(const ResolvedView& view,
                                                       const bson::Element& asked);

// Return the pipeline for a find, for a count (its result is a document {n}) and for the query of a
// distinct. Throws base::Error 168 for what a pipeline cannot do. `find` has the same lifetime as
// the result.
PipelineRequest find_in_view(const ResolvedView& view, std::string_view ns, const FindRequest& find,
                             std::shared_ptr<const query::LetVariables> let);
PipelineRequest count_in_view(const ResolvedView& view, std::string_view ns, bson::Doc query,
                              int64_t skip, int64_t limit, const bson::Element& hint);
PipelineRequest query_in_view(const ResolvedView& view, std::string_view ns, bson::Doc query,
                              const bson::Element& hint);

// create { viewOn, pipeline } and collMod of a view. REQUIRES: no lock is held: the pipeline is
// parsed before they take one. Throws base::Error 2, 5, 14, 48, 72, 73, 165, 167, and what is wrong
// with the pipeline.
void create_view(Invocation& invocation, const std::string& ns);
void change_view(Invocation& invocation, const std::string& ns);

}  // namespace command

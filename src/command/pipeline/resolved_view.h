// command/pipeline/resolved_view.h - a view down to the collection that it stands on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bson/builder.h"
#include "collation/collator.h"
#include "command/context/operation_context.h"

namespace command {

// Views on views, one behind another.
constexpr int kViewDepthMax = 20;
// Throws base::Error 165.
[[noreturn]] void fail_too_deep();

// A pipeline over what is no view.
struct ResolvedView {
    std::string ns;       // full name of that collection, which may not exist
    bson::Object stages;  // an array
    std::shared_ptr<const collation::Collator> collator = {};  // null: texts by their bytes
};
// Returns nothing where `ns` is no view; to know that costs a lock only where there are views.
// Throws base::Error 165 for views on more views than kViewDepthMax. REQUIRES: no lock is held.
std::optional<ResolvedView> find_view(OperationContext& context, std::string_view ns);

// The stages of a view, and others behind them. Filters that meet are one, so that the query can
// choose which part of it an index serves.
bson::Object stages_behind(const ResolvedView& view, bson::Doc stages);

}  // namespace command

// command/context/default_collation.h - the collation of a collection, which what is asked of it
// has where it names none.
#pragma once

#include <memory>
#include <string_view>

#include "collation/collator.h"
#include "command/context/operation_context.h"
#include "query/plan/query.h"

namespace command {

// Null: texts are compared by their bytes, or there is no such collection. Costs a lock only where
// there are collections with one. Throws what catalog::Collection::collator() does. REQUIRES: no
// lock is held.
std::shared_ptr<const collation::Collator> default_collator(OperationContext& context,
                                                            std::string_view ns);
// The same for a query that is not canonicalised yet, and names none. Should the collection have
// become one of another collation when it is planned, it is refused then.
void inherit_collation(OperationContext& context, std::string_view ns, query::FindQuery& query);

}  // namespace command

#include "command/context/default_collation.h"

#include "base/dcheck.h"
#include "catalog/catalog.h"
#include "storage/lock.h"

namespace command {

std::shared_ptr<const collation::Collator> default_collator(OperationContext& context,
                                                            std::string_view ns) {
    DCHECK(storage::LockManager::database().empty());
    if (!catalog::Collection::may_have_collators() || ns.empty()) return nullptr;
    const storage::DatabaseLock lock(context.locks(), catalog::split(ns).db, false);
    const catalog::Collection* const collection = context.catalog().collection(ns);
    return collection == nullptr ? nullptr : collection->collator();
}

void inherit_collation(OperationContext& context, std::string_view ns, query::FindQuery& query) {
    query.collator = default_collator(context, ns);
    query.inherits_collation = true;
}

}  // namespace command

#include "command/request/fields_of_today.h"

#include "base/error.h"
#include "command/context/default_collation.h"
#include "command/request/fields.h"
#include "dialect/collections.h"
#include "dialect/dialect.h"
#include "dialect/updates.h"

namespace command {

bool names_collation(const bson::Element& spec, dialect::Dialect dialect) {
    return dialect.has(dialect::kCollations) && spec.is_object() && !spec.as_doc().empty();
}

std::optional<std::shared_ptr<const collation::Collator>> named_collator(const bson::Element& spec,
                                                                         dialect::Dialect dialect) {
    if (!names_collation(spec, dialect)) return std::nullopt;
    return collator_of(spec, dialect);
}

void set_collation(OperationContext& context, std::string_view ns, const bson::Element& spec,
                   dialect::Dialect dialect, query::FindQuery& query) {
    if (names_collation(spec, dialect))
        query.collator = collator_of(spec, dialect);
    else
        inherit_collation(context, ns, query);
}

std::shared_ptr<const collation::Collator> collator_of(const bson::Element& spec,
                                                       dialect::Dialect dialect) {
    if (!names_collation(spec, dialect)) return nullptr;
    return collation::Collator::make(spec.as_doc());
}

void refuse_pipeline(const bson::Element& update, dialect::Dialect dialect) {
    if (update.is_array() && !dialect.has(dialect::kUpdatesByPipeline))
        base::fail(base::kFailedToParse,
                   "updates by a pipeline are not supported by the old messages");
}

bson::Element read_array_filters(const bson::Element& filters, dialect::Dialect dialect) {
    if (is_absent(filters, dialect::kToday)) return {};
    if (dialect.has(dialect::kArrayFilters)) return filters;
    const bool asks = filters.is_array() ? !filters.as_doc().empty() : filters.truthy();
    if (asks)
        base::fail(base::kInvalidOptions, "'arrayFilters' is not supported by the old messages");
    return {};
}

}  // namespace command

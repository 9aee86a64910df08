#include "command/request/newer_fields.h"

#include "base/error.h"
#include "command/context/default_collation.h"
#include "command/request/fields.h"

namespace command {

bool names_collation(const bson::Element& spec, bool over_msg) {
    return over_msg && spec.is_object() && !spec.as_doc().empty();
}

std::optional<std::shared_ptr<const collation::Collator>> collator_of(bson::Doc fields,
                                                                      bool over_msg) {
    const bson::Element spec = fields[kCollation.name];
    if (!names_collation(spec, over_msg)) return std::nullopt;
    return collator_of(spec, over_msg);
}

void set_collation(OperationContext& context, std::string_view ns, const bson::Element& spec,
                   bool over_msg, query::FindQuery& query) {
    if (names_collation(spec, over_msg))
        query.collator = collator_of(spec, over_msg);
    else
        inherit_collation(context, ns, query);
}

std::shared_ptr<const collation::Collator> collator_of(const bson::Element& spec, bool over_msg) {
    if (!names_collation(spec, over_msg)) return nullptr;
    return collation::Collator::make(spec.as_doc());
}

void refuse_pipeline(const bson::Element& update, bool over_msg) {
    if (update.is_array() && !over_msg)
        base::fail(base::kFailedToParse,
                   "updates by a pipeline are not supported by the old messages");
}

bson::Element array_filters_of(bson::Doc update, bool over_msg) {
    const bson::Element filters = update["arrayFilters"];
    if (is_absent(filters, true)) return {};
    if (over_msg) return filters;
    const bool asks = filters.is_array() ? !filters.as_doc().empty() : filters.truthy();
    if (asks)
        base::fail(base::kInvalidOptions, "'arrayFilters' is not supported by the old messages");
    return {};
}

}  // namespace command

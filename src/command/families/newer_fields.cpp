#include "command/families/newer_fields.h"

#include <algorithm>

#include "base/error.h"
#include "catalog/collation.h"

namespace command {

void refuse_newer_fields(bson::Doc request, std::initializer_list<std::string_view> fields) {
    for (const bson::Element& e : request) {
        if (std::ranges::find(fields, e.name()) == fields.end()) continue;
        if (e.type() == bson::Type::null) continue;
        if ((e.is_object() || e.is_array()) && e.as_doc().empty()) continue;
        if (e.name() == "collation" && e.is_object() && !catalog::asks_for_collation(e)) continue;
        base::fail(base::kInvalidOptions, "'{}' is not supported by this server", e.name());
    }
}

void refuse_if_asked(bson::Doc request, std::initializer_list<std::string_view> fields) {
    for (const std::string_view field : fields) {
        if (request[field].truthy())
            base::fail(base::kInvalidOptions, "'{}' is not supported by this server", field);
    }
}

void refuse_pipeline(const bson::Element& update) {
    if (update.is_array())
        base::fail(base::kFailedToParse, "updates by a pipeline are not supported by this server");
}

void refuse_computed_fields(bson::Doc projection) {
    constexpr std::string_view kOperators[] = {"$slice", "$elemMatch", "$meta"};
    for (const bson::Element& e : projection) {
        const bool plain = e.is_number() || e.type() == bson::Type::boolean;
        const bool known =
            e.is_object() &&
            std::ranges::find(kOperators, e.as_doc().first().name()) != std::end(kOperators);
        if (plain ? !e.name().starts_with('$') : known) continue;
        base::fail(base::kBadValue,
                   "the projection of '{}' is not supported by this server: it has to be 0, 1, "
                   "true, false, $slice, $elemMatch or $meta. $project in a pipeline computes "
                   "fields",
                   e.name());
    }
}

void refuse_newer_item_fields(bson::Doc item) {
    refuse_newer_fields(item, {"arrayFilters", "collation", "sort", "c"});
}

}  // namespace command

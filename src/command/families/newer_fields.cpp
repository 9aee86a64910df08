#include "command/families/newer_fields.h"

#include "base/error.h"
#include "catalog/collation.h"

namespace command {

void refuse_newer_fields(bson::Doc request, std::initializer_list<std::string_view> fields) {
    for (const std::string_view field : fields) {
        const bson::Element e = request[field];
        if (e.missing() || e.type() == bson::Type::null) continue;
        if ((e.is_object() || e.is_array()) && e.as_doc().empty()) continue;
        if (field == "collation" && e.is_object() && !catalog::asks_for_collation(e)) continue;
        base::fail(base::kInvalidOptions, "'{}' is not supported by this server", field);
    }
}

void refuse_pipeline(const bson::Element& update) {
    if (update.is_array())
        base::fail(base::kFailedToParse, "updates by a pipeline are not supported by this server");
}

void refuse_newer_item_fields(bson::Doc item) {
    refuse_newer_fields(item, {"arrayFilters", "collation", "sort", "c"});
}

}  // namespace command

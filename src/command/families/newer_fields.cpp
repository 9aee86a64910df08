#include "command/families/newer_fields.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "base/operation.h"
#include "bson/field_path.h"
#include "catalog/collation.h"

namespace command {

namespace {

// The paths of one projection. Each may be there once, and none inside another: the last one won,
// by the order of the fields.
class ProjectedPaths {
  public:
    void add(std::string_view path) {
        bson::check_path_parts(path);
        if (path.ends_with(".$")) path.remove_suffix(2);
        for (size_t dot = path.find('.'); dot != std::string_view::npos;
             dot = path.find('.', dot + 1)) {
            base::Operation::tick();
            const std::string_view above = path.substr(0, dot);
            if (paths_.contains(above))
                base::fail(31249, "Path collision at {} remaining portion {}", path,
                           path.substr(dot + 1));
            above_.insert(above);
        }
        if (above_.contains(path) || !paths_.insert(path).second)
            base::fail(31250, "Path collision at {}", path);
    }

  private:
    std::unordered_set<std::string_view> paths_;
    std::unordered_set<std::string_view> above_;  // that lead to one of them
};

}  // namespace

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

void check_newer_projection(bson::Doc projection) {
    ProjectedPaths paths;
    constexpr std::string_view kOperators[] = {"$slice", "$elemMatch", "$meta"};
    for (const bson::Element& e : projection) {
        const bool plain = e.is_number() || e.type() == bson::Type::boolean;
        const bool known =
            e.is_object() &&
            std::ranges::find(kOperators, e.as_doc().first().name()) != std::end(kOperators);
        if (plain ? !e.name().starts_with('$') : known) {
            paths.add(e.name());
            continue;
        }
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

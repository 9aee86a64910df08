#include "command/commands/newer_fields.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bson/builder.h"
#include "command/context/default_collation.h"
#include "command/request/fields.h"
#include "query/match/regex_flags.h"
#include "sched/tick.h"

namespace command {

namespace {

struct ProjectedPath {
    std::string_view text;
    size_t at = 0;  // in the specification
};

// Each path may be there once, and none inside another: the last one won, by the order of the
// fields.
void refuse_collisions(std::vector<ProjectedPath> paths) {
    // A dot comes before any other character, so what is inside of a path right behind it.
    const auto key = [](char c) { return c == '.' ? 0 : static_cast<unsigned char>(c); };
    std::ranges::sort(paths, [&](const ProjectedPath& a, const ProjectedPath& b) {
        sched::tick();
        return std::ranges::lexicographical_compare(a.text, b.text, {}, key, key);
    });
    for (size_t i = 1; i < paths.size(); ++i) {
        const ProjectedPath& around = paths[i - 1];
        const ProjectedPath& path = paths[i];
        if (!path.text.starts_with(around.text)) continue;
        const std::string_view rest = path.text.substr(around.text.size());
        if (!rest.empty() && rest.front() != '.') continue;
        if (rest.empty() || path.at < around.at)
            base::fail(31250, "Path collision at {}", around.text);
        base::fail(31249, "Path collision at {} remaining portion {}", path.text, rest.substr(1));
    }
}

}  // namespace

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

void check_newer_projection(bson::Doc projection) {
    std::vector<ProjectedPath> paths;
    constexpr std::string_view kOperators[] = {"$slice", "$elemMatch", "$meta"};
    for (const bson::Element& e : projection) {
        const bool plain = e.is_number() || e.type() == bson::Type::boolean;
        const bool known =
            e.is_object() &&
            std::ranges::find(kOperators, e.as_doc().first().name()) != std::end(kOperators);
        if (known && e.as_doc().first().name() == "$elemMatch") {
            bson::Builder condition;
            condition.append(e);
            query::refuse_odd_flags(
                *query::Matcher::parse(condition.doc(), &query::kNoExpressionsHere));
        }
        if (plain ? !e.name().starts_with('$') : known) {
            std::string_view path = e.name();
            if (path.ends_with(".$")) path.remove_suffix(2);
            paths.push_back({path, paths.size()});
            continue;
        }
        base::fail(base::kBadValue,
                   "the projection of '{}' is not supported by this server: it has to be 0, 1, "
                   "true, false, $slice, $elemMatch or $meta. $project in a pipeline computes "
                   "fields",
                   e.name());
    }
    refuse_collisions(std::move(paths));
}

}  // namespace command

#include "command/pipeline/resolved_view.h"

#include <algorithm>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "catalog/catalog.h"
#include "sched/tick.h"
#include "storage/lock.h"

namespace command {

namespace {

// Returns the filter of a stage that is nothing but a $match; missing: it is another one.
bson::Element filter_of(const bson::Element& stage) {
    if (!stage.is_object() || stage.as_doc().field_count() != 1) return {};
    const bson::Element first = stage.as_doc().first();
    return first.name() == "$match" && first.is_object() ? first : bson::Element();
}

void append_match(bson::Builder& list, const std::vector<bson::Doc>& filters) {
    if (filters.empty()) return;
    bson::Builder stage = list.sub_object(list.next().view());
    if (filters.size() == 1) {
        stage.append("$match", filters.front());
        return;
    }
    bson::Builder match = stage.sub_object("$match");
    bson::Builder parts = match.sub_array("$and");
    for (const bson::Doc filter : filters)
        parts.push(filter);
}

bson::Object joined(const std::vector<bson::Doc>& lists) {
    bson::Builder out;
    std::vector<bson::Doc> filters;  // one behind another, that have met
    for (const bson::Doc list : lists) {
        for (const bson::Element& stage : sched::ticked(list)) {
            if (const bson::Element filter = filter_of(stage)) {
                filters.push_back(filter.as_doc());
                continue;
            }
            append_match(out, filters);
            filters.clear();
            out.push_element(stage);
        }
    }
    append_match(out, filters);
    return out.object();
}

std::optional<ResolvedView> resolve(const catalog::Database& db, std::string_view ns) {
    const catalog::View* view = db.view(ns);
    if (view == nullptr) return std::nullopt;
    ResolvedView resolved;
    resolved.collator = view->collator;
    std::vector<bson::Doc> lists;
    for (; view != nullptr; view = db.view(resolved.ns)) {
        if (lists.size() == static_cast<size_t>(kViewDepthMax)) fail_too_deep();
        lists.push_back(view->pipeline);
        resolved.ns = view->on;
    }
    std::ranges::reverse(lists);
    resolved.stages = joined(lists);
    return resolved;
}

}  // namespace

void fail_too_deep() {
    base::fail(base::kViewDepthLimitExceeded,
               "View depth too deep or view cycle detected; maximum depth is {}", kViewDepthMax);
}

std::optional<ResolvedView> find_view(OperationContext& context, std::string_view ns) {
    DCHECK(storage::LockManager::database().empty());
    if (!context.catalog().may_have_views()) return std::nullopt;
    const std::string_view name = catalog::split(ns).db;
    const storage::DatabaseLock lock(context.locks(), name, false);
    const catalog::Database* db = context.catalog().database(name);
    return db == nullptr ? std::nullopt : resolve(*db, ns);
}

bson::Object stages_behind(const ResolvedView& view, bson::Doc stages) {
    return joined({view.stages.doc(), stages});
}

}  // namespace command

#include "command/commands/views.h"

#include <algorithm>
#include <set>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/commands/server_stages.h"
#include "command/context/locks.h"
#include "command/pipeline/foreign_reader.h"
#include "command/request/authorization.h"
#include "command/request/fields_of_today.h"
#include "dialect/collections.h"
#include "dialect/dialect.h"
#include "query/stage/output.h"
#include "query/stage/pipeline.h"
#include "sched/tick.h"

namespace command {

namespace {

// Stages that are asked of a view.
class Stages {
  public:
    template <typename Spec>
    Stages& add(std::string_view name, const Spec& spec) {
        bson::Builder stage = list_.sub_object(list_.next().view());
        stage.append(name, spec);
        return *this;
    }
    Stages& match(bson::Doc filter) { return filter.empty() ? *this : add("$match", filter); }
    bson::Object behind(const ResolvedView& view) { return stages_behind(view, list_.doc()); }

  private:
    bson::Builder list_;
};

PipelineRequest request_on(const ResolvedView& view, std::string_view ns) {
    DCHECK(view.ns != ns);
    PipelineRequest request;
    request.ns = ns;
    request.source_ns = view.ns;
    request.collator = view.collator;
    request.as_cursor = true;
    return request;
}

[[noreturn]] void refuse_option(std::string_view name) {
    base::fail(base::kInvalidPipelineOperator, "Option {} not supported in aggregation.", name);
}

void check_options(const FindRequest& find) {
    const query::FindQuery& query = find.query;
    if (query.tailable) refuse_option("tailable");
    if (query.show_record_id) refuse_option("showRecordId");
    if (query.return_key) refuse_option("returnKey");
    if (!query.min.empty()) refuse_option("min");
    if (!query.max.empty()) refuse_option("max");
    if (query.snapshot) refuse_option("snapshot");
    if (query.max_scan != 0) refuse_option("maxScan");
    for (const bson::Element& e : find.computes ? bson::Doc() : find.parts.projection)
        if (e.is_object() || e.name().ends_with(".$"))
            base::fail(base::kInvalidPipelineOperator,
                       "the projection of '{}' is not supported on a view", e.name());
}

// Returns the collections and views that a view reads, as full names.
std::set<std::string> references(const catalog::View& view) {
    std::set<std::string> found{view.on};
    all_foreign(view.pipeline, [&](std::string_view name) {
        found.insert(fmt::format("{}.{}", catalog::split(view.on).db, name));
        return true;
    });
    return found;
}

[[noreturn]] void fail_in_cycle(std::string_view ns) {
    base::fail(base::kGraphContainsCycle, "View cycle detected: {} stands on itself", ns);
}

// The views that a view stands on, when it is about to be stored, through their pipelines, too.
class ViewGraph {
  public:
    ViewGraph(const catalog::Database& db, std::string_view ns, const catalog::View& view)
        : db_(db), ns_(ns), view_(view) {}

    // Throws base::Error 5 where it would stand on itself, 165 where views stand on too many.
    void check() {
        const int longest = below(ns_) + above() - 1;
        DCHECK(way_.empty() && longest >= 1);
        if (longest > kViewDepthMax) fail_too_deep();
    }

  private:
    const catalog::View* view(std::string_view ns) const {
        return ns == ns_ ? &view_ : db_.view(ns);
    }
    // Views on the longest way down, this one included.
    int below(const std::string& ns) {
        const catalog::View* found = view(ns);
        if (found == nullptr) return 0;
        if (const auto known = depth_.find(ns); known != depth_.end()) return known->second;
        if (static_cast<int>(way_.size()) > kViewDepthMax) fail_too_deep();
        way_.push_back(ns);
        int deepest = 0;
        for (const std::string& next : sched::ticked(references(*found))) {
            if (std::ranges::find(way_, next) != way_.end()) fail_in_cycle(next);
            deepest = std::max(deepest, below(next));
        }
        way_.pop_back();
        depth_[ns] = deepest + 1;
        return deepest + 1;
    }

    // Views on the longest way from one that stands on nothing but it, it included.
    int above() {
        int highest = 1;
        const int own = below(ns_);
        for (const std::string& other : db_.view_names()) {
            const int height = above(other, own);
            highest = std::max(highest, height);
        }
        return highest;
    }
    // Returns the number of views on the longest way from `from` to this view, both included; 0:
    // there is none.
    int above(const std::string& from, int own) {
        DCHECK(own == depth_.at(ns_));
        if (from == ns_) return 1;
        if (const auto known = height_.find(from); known != height_.end()) return known->second;
        const catalog::View* found = view(from);
        int height = 0;
        // A view that is not deeper cannot stand on it.
        if (found != nullptr && below(from) > own)
            for (const std::string& next : references(*found))
                if (const int rest = above(next, own); rest > 0)
                    height = std::max(height, rest + 1);
        height_[from] = height;
        return height;
    }

    const catalog::Database& db_;
    const std::string ns_;
    const catalog::View& view_;
    std::vector<std::string> way_;
    std::map<std::string, int> depth_;
    std::map<std::string, int> height_;
};

void check_stages(const Invocation& invocation, bson::Doc pipeline,
                  const std::shared_ptr<const collation::Collator>& collator) {
    for (const bson::Element& stage : pipeline) {
        if (!stage.is_object())
            base::fail(base::kTypeMismatch, "each stage of a pipeline must be an object");
        const std::string_view name = stage.as_doc().first().name();
        if (query::is_output_stage(name) || name == "$changeStream" || name == "$documents")
            base::fail(base::kOptionNotSupportedOnView, "{} cannot be in the pipeline of a view",
                       name);
    }
    query::PipelineContext context;
    context.dialect = dialect::kToday;
    context.collator = collator;
    context.reads_collection = true;
    context.foreign = std::make_shared<ForeignReader>(invocation.db, std::string());
    query::Pipeline::parse(pipeline, context);
}

// Views stand on views of their own collation.
void check_collations(const catalog::Database& db, const catalog::View& view) {
    for (const std::string& ns : references(view)) {
        const catalog::View* const below = db.view(ns);
        if (below != nullptr && !collation::is_same(below->collator.get(), view.collator.get()))
            base::fail(base::kOptionNotSupportedOnView,
                       "a view cannot stand on {}, a view of another collation", ns);
    }
}

// Checks the rights of the client: the maker of a view may read what it shows.
void check_rights(const Invocation& invocation, const catalog::View& view) {
    if (!invocation.client.access_control().enabled) return;
    const Rights rights(invocation.client);
    for (const std::string& ns : references(view))
        if (!rights.on(ns, auth::action::find))
            base::fail(base::kUnauthorized, "not authorized on {} to make a view of it", ns);
}

catalog::View parse_view(const Invocation& invocation, const std::string& ns,
                         const std::shared_ptr<const collation::Collator>& collator) {
    const bson::Element on = invocation.field("viewOn");
    const bson::Element pipeline = invocation.field("pipeline");
    if (!on.is_string()) base::fail(base::kTypeMismatch, "'viewOn' must be a string");
    if (pipeline && !pipeline.is_array())
        base::fail(base::kTypeMismatch, "'pipeline' must be an array");
    const std::string_view name = invocation.name_in(on);
    if (name.empty()) base::fail(base::kBadValue, "'viewOn' cannot be empty");
    if (!catalog::valid_collection_name(invocation.db, name, invocation.client.name_limits()))
        base::fail(base::kInvalidNamespace, "Invalid namespace specified '{}.{}'", invocation.db,
                   name);
    catalog::View view{fmt::format("{}.{}", invocation.db, name),
                       pipeline ? bson::Object(pipeline.as_doc()) : bson::Object(), collator};
    check_stages(invocation, view.pipeline, collator);
    check_rights(invocation, view);
    if (references(view).contains(ns)) fail_in_cycle(ns);
    return view;
}

}  // namespace

std::optional<ResolvedView> view_of(const Invocation& invocation, std::string_view ns) {
    return invocation.dialect().has(dialect::kViews) ? find_view(invocation.client, ns)
                                                     : std::nullopt;
}

std::shared_ptr<const collation::Collator> collator_in(const ResolvedView& view,
                                                       const bson::Element& asked) {
    const bool asks = asked.is_object() && !asked.as_doc().empty();
    if (asks && !collation::is_same(collator_of(asked, dialect::kToday).get(), view.collator.get()))
        base::fail(base::kOptionNotSupportedOnView, "Cannot override a view's default collation");
    return view.collator;
}

PipelineRequest find_in_view(const ResolvedView& view, std::string_view ns, const FindRequest& find,
                             std::shared_ptr<const query::LetVariables> let) {
    DCHECK(find.query.skip >= 0 && find.batch_size >= -1);
    check_options(find);
    PipelineRequest request = request_on(view, ns);
    request.let = std::move(let);
    Stages stages;
    stages.match(find.parts.filter);
    if (!find.parts.sort.empty()) stages.add("$sort", find.parts.sort);
    if (find.query.skip != 0) stages.add("$skip", find.query.skip);
    if (find.query.limit != 0) stages.add("$limit", std::abs(find.query.limit));
    if (find.computes) stages.add("$project", find.parts.projection);
    request.stages = stages.behind(view);
    if (!find.computes) request.projection = find.parts.projection;
    request.allow_disk_use = find.query.allow_disk_use;
    request.hint = find.parts.hint;
    request.single_batch = find.single_batch;
    if (find.batch_size >= 0) request.batch_size = find.batch_size;
    return request;
}

PipelineRequest count_in_view(const ResolvedView& view, std::string_view ns, bson::Doc query,
                              int64_t skip, int64_t limit, const bson::Element& hint) {
    DCHECK(skip >= 0 && limit >= 0);
    PipelineRequest request = request_on(view, ns);
    Stages stages;
    stages.match(query);
    if (skip != 0) stages.add("$skip", skip);
    if (limit != 0) stages.add("$limit", limit);
    bson::Builder group;
    group.append_null("_id").append("n", bson::make("$sum", 1));
    request.stages = stages.add("$group", group.doc()).behind(view);
    request.hint = hint;
    return request;
}

PipelineRequest query_in_view(const ResolvedView& view, std::string_view ns, bson::Doc query,
                              const bson::Element& hint) {
    PipelineRequest request = request_on(view, ns);
    request.hint = hint;
    request.stages = Stages().match(query).behind(view);
    return request;
}

void create_view(Invocation& invocation, const std::string& ns) {
    DCHECK(storage::LockManager::database().empty());
    const auto [db_name, name] = catalog::split(ns);
    if (catalog::is_system(name))
        base::fail(base::kInvalidNamespace,
                   "a view cannot have the name of a system collection: {}", ns);
    const catalog::View view = parse_view(
        invocation, ns, collator_of(invocation.field(kCollation.name), invocation.dialect()));
    CollectionLock lock(invocation.client, ns, true, CollectionLock::Views::taken);
    catalog::Database& db = lock.make_database();
    if (lock.collection() != nullptr || db.view(ns) != nullptr)
        base::fail(base::kNamespaceExists, "Collection {} already exists.", ns);
    check_collations(db, view);
    ViewGraph(db, ns, view).check();
    invocation.service.catalog().put_view(db, ns, view);
}

void change_view(Invocation& invocation, const std::string& ns) {
    DCHECK(storage::LockManager::database().empty());
    if (invocation.field("viewOn").missing() || invocation.field("pipeline").missing())
        base::fail(base::kInvalidOptions, "collMod of a view needs both 'viewOn' and 'pipeline'");
    const auto before = find_view(invocation.client, ns);
    catalog::View view = parse_view(invocation, ns, before ? before->collator : nullptr);
    CollectionLock lock(invocation.client, ns, true, CollectionLock::Views::taken);
    catalog::Database* db = lock.database();
    if (lock.collection() != nullptr)
        base::fail(base::kInvalidOptions, "{} is a collection, and stands on nothing", ns);
    if (db == nullptr || db->view(ns) == nullptr)
        base::fail(base::kNamespaceNotFound, "ns does not exist");
    view.collator = db->view(ns)->collator;
    check_collations(*db, view);
    ViewGraph(*db, ns, view).check();
    invocation.service.catalog().put_view(*db, ns, view);
}

}  // namespace command

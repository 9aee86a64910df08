#include "command/pipeline/foreign_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/context/locks.h"
#include "command/cursor/query_cursors.h"
#include "command/pipeline/pipeline_query.h"
#include "dialect/dialect.h"
#include "query/match/text_clause.h"
#include "sched/tick.h"

namespace command {

namespace {

// A collection that is not there when this is planned has no documents.
class ForeignSource {
  public:
    // Plans before the stages are pulled, since they lose some of theirs.
    ForeignSource(OperationContext& context, std::string ns, query::Pipeline& stages)
        : ns_(std::move(ns)), query_(stages, bson::Element()) {
        CollectionLock lock(context, ns_, false);
        incarnation_ = lock.incarnation();
        under_lock([&] { query_.plan(lock); });
    }

    void read(OperationContext& context, query::DocumentBatch& batch) {
        if (incarnation_ == kNoCollection || query_.all_read()) return;
        CollectionLock lock(context, ns_, false);
        under_lock([&] {
            if (lock.incarnation() != incarnation_) query::throw_dropped(ns_);
            query_.set_lock(&lock);
            query_.fill(batch);
        });
        report(context);
    }

  private:
    static constexpr uint64_t kNoCollection = 0;

    // A part of the work, behind which the lock can be given up.
    template <typename Part>
    void under_lock(Part&& part) {
        try {
            part();
            query_.save();
        } catch (...) {
            query_.drop();
            throw;
        }
        query_.set_lock(nullptr);
    }

    // Its plan is not that of the request, but what it looks at counts there.
    void report(OperationContext& context) {
        query::ExecutionStats now = query_.executor()->stats();
        now.id_hack = now.scan_and_order = false;
        report_scan(context, before_, now);
        before_ = now;
    }

    const std::string ns_;
    PipelineQuery query_;
    uint64_t incarnation_ = kNoCollection;
    query::ExecutionStats before_;
};

using Holds = std::function<bool(std::string_view)>;

// Every field of a name counts: which one of several is taken is up to the stage.
bool all_in_spec(const bson::Element& spec, std::string_view name_field, const Holds& holds) {
    if (!spec.is_object()) return true;
    for (const bson::Element& e : spec.as_doc()) {
        if (e.name() == name_field && e.is_string() && !holds(e.as_string())) return false;
        if (e.name() == "pipeline" && e.is_array() && !all_foreign(e.as_doc(), holds)) return false;
    }
    return true;
}

bool all_in_facets(const bson::Element& facets, const Holds& holds) {
    if (!facets.is_object()) return true;
    for (const bson::Element& e : facets.as_doc())
        if (e.is_array() && !all_foreign(e.as_doc(), holds)) return false;
    return true;
}

bool all_in_stage(bson::Doc stage, const Holds& holds) {
    for (const bson::Element& e : stage) {
        const std::string_view name = e.name();
        if ((name == "$lookup" || name == "$graphLookup") && !all_in_spec(e, "from", holds))
            return false;
        if (name == "$unionWith" && e.is_string() && !holds(e.as_string())) return false;
        if (name == "$unionWith" && !all_in_spec(e, "coll", holds)) return false;
        if (name == "$facet" && !all_in_facets(e, holds)) return false;
    }
    return true;
}

bool has_expression(const bson::Element& e) {
    if (e.name() == "$expr") return true;
    if (!e.is_object() && !e.is_array()) return false;
    sched::tick();
    for (const bson::Element& inner : e.as_doc())
        if (has_expression(inner)) return true;
    return false;
}

// The parts of a filter that need no variables of those who ask.
void append_plain_parts(bson::Doc filter, bson::Builder& parts) {
    for (const bson::Element& e : filter) {
        if (e.name() == "$and" && e.is_array()) {
            for (const bson::Element& part : e.as_doc())
                if (part.is_object()) append_plain_parts(part.as_doc(), parts);
        } else if (!has_expression(e)) {
            bson::Builder part = parts.sub_object(parts.next().view());
            part.append(e);
        }
    }
}

// Returns the parts of the filter that stages begin with which can be asked behind others as well:
// [{$match}], or nothing.
bson::Object early_filter(bson::Doc filter) {
    bson::Builder parts;
    append_plain_parts(filter, parts);
    bson::Builder stages;
    if (!parts.doc().empty()) {
        bson::Builder stage = stages.sub_object("0");
        bson::Builder match = stage.sub_object("$match");
        match.append_array("$and", parts.doc());
    }
    return stages.object();
}

}  // namespace

void ForeignReader::connect(std::string_view collection, query::Pipeline& stages) {
    DCHECK(*context_ != nullptr);
    const std::string ns = fmt::format("{}.{}", db_, collection);
    if (const auto view = find_view(**context_, ns)) return connect_view(*view, stages);
    connect_source(ns, stages);
}

void ForeignReader::connect_source(const std::string& ns, query::Pipeline& stages) {
    const auto source = std::make_shared<ForeignSource>(**context_, ns, stages);
    stages.set_source([context = context_, source](query::DocumentBatch& batch) {
        source->read(**context, batch);
    });
}

// The first filter of `stages` is asked of the view's own, too, where an index may serve it.
void ForeignReader::connect_view(const ResolvedView& view, query::Pipeline& stages) {
    DCHECK(views_ >= 0 && views_ <= kViewDepthMax);
    if (views_ == kViewDepthMax) fail_too_deep();
    if (!collation::is_same(stages.collator().get(), view.collator.get()))
        base::fail(base::kOptionNotSupportedOnView,
                   "a pipeline cannot read a view of another collation than its own");
    // Such stages are the first ones of a pipeline, and there are others before them.
    if (stages.leading_near() != nullptr && !view.stages.empty())
        base::fail(16602, "$geoNear is only valid as the first stage in a pipeline.");
    if (query::asks_for_text(stages.leading_match()) && !view.stages.empty())
        base::fail(17313, "$match with $text is only allowed as the first pipeline stage");
    if (view.stages.empty()) return connect_source(view.ns, stages);
    query::PipelineContext context;
    context.dialect = dialect::kToday;
    context.reads_collection = true;
    context.collator = view.collator;
    context.allow_disk_use = !scratch_.empty();
    context.scratch_directory = scratch_;
    context.foreign =
        std::shared_ptr<ForeignReader>(new ForeignReader(db_, scratch_, context_, views_ + 1));
    const std::shared_ptr<query::Pipeline> below =
        query::Pipeline::parse(stages_behind(view, early_filter(stages.leading_match())), context);
    connect_source(view.ns, *below);
    stages.set_source([below](bson::Doc* doc) { return below->next(doc); });
}

bool all_foreign(bson::Doc stages, const Holds& holds) {
    for (const bson::Element& stage : sched::ticked(stages)) {
        if (stage.is_object() && !all_in_stage(stage.as_doc(), holds)) return false;
    }
    return true;
}

bool reads_others(bson::Doc stages) {
    return !all_foreign(stages, [](std::string_view) { return false; });
}

}  // namespace command

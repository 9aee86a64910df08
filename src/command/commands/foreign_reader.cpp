#include "command/commands/foreign_reader.h"

#include <fmt/core.h>

#include <memory>

#include "command/commands/pipeline_query.h"
#include "command/context/locks.h"
#include "command/cursor/query_cursors.h"
#include "sched/tick.h"

namespace command {

namespace {

// Where there is no such collection when it is planned, it has no documents.
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
        if (name == "$facet" && !all_in_facets(e, holds)) return false;
    }
    return true;
}

}  // namespace

void ForeignReader::connect(std::string_view collection, query::Pipeline& stages) {
    const auto source =
        std::make_shared<ForeignSource>(*context_, fmt::format("{}.{}", db_, collection), stages);
    stages.set_source(
        [this, source](query::DocumentBatch& batch) { source->read(*context_, batch); });
}

bool all_foreign(bson::Doc stages, const Holds& holds) {
    for (const bson::Element& stage : stages) {
        sched::tick();
        if (stage.is_object() && !all_in_stage(stage.as_doc(), holds)) return false;
    }
    return true;
}

}  // namespace command

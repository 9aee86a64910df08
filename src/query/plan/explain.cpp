#include "query/plan/explain.h"

namespace query {

namespace {

void append_scan_stage(bson::Builder& out, const ScanPlan& scan) {
    out.append("stage", "IXSCAN");
    out.append("keyPattern", scan.index->key_pattern);
    out.append("indexName", scan.index->name);
    out.append("isMultiKey", scan.index->multikey);
    out.append("isPartial", scan.index->generator->filter() != nullptr);
    out.append("direction", scan.backward ? "backward" : "forward");
    append_bounds(out, scan);
}

// The access below sort, skip and limit.
void append_access(bson::Builder& out, const Plan& plan) {
    if (plan.scans.empty()) {
        out.append("stage", "COLLSCAN");
        out.append("direction", plan.backward ? "backward" : "forward");
        return;
    }
    if (plan.scans.size() == 1) {
        if (plan.covered) {
            append_scan_stage(out, plan.scans[0]);
            return;
        }
        out.append("stage", "FETCH");
        bson::Builder input = out.sub_object("inputStage");
        append_scan_stage(input, plan.scans[0]);
        return;
    }
    out.append("stage", plan.merge ? "SORT_MERGE" : "OR");
    bson::Builder inputs = out.sub_array("inputStages");
    for (const ScanPlan& scan : plan.scans) {
        const bson::IndexName name = inputs.next();
        bson::Builder input = inputs.sub_object(name.view());
        append_scan_stage(input, scan);
    }
}

void append_sorted(bson::Builder& out, const ExplainReport& report) {
    if (!report.plan->blocking_sort) {
        append_access(out, *report.plan);
        return;
    }
    out.append("stage", "SORT");
    out.append("sortPattern", report.query.sort);
    bson::Builder input = out.sub_object("inputStage");
    append_access(input, *report.plan);
}

void append_skipped(bson::Builder& out, const ExplainReport& report) {
    if (report.query.skip == 0) {
        append_sorted(out, report);
        return;
    }
    out.append("stage", "SKIP");
    out.append("skipAmount", report.query.skip);
    bson::Builder input = out.sub_object("inputStage");
    append_sorted(input, report);
}

void append_limited(bson::Builder& out, const ExplainReport& report) {
    if (report.query.limit == 0) {
        append_skipped(out, report);
        return;
    }
    out.append("stage", "LIMIT");
    out.append("limitAmount", report.query.limit);
    bson::Builder input = out.sub_object("inputStage");
    append_skipped(input, report);
}

void append_stages(bson::Builder& out, const ExplainReport& report) {
    if (report.stats.id_hack) {
        out.append("stage", "IDHACK");
        return;
    }
    if (report.plan == nullptr) {
        out.append("stage", "EOF");
        return;
    }
    if (report.query.projection == nullptr) {
        append_limited(out, report);
        return;
    }
    out.append("stage", "PROJECTION");
    bson::Builder input = out.sub_object("inputStage");
    append_limited(input, report);
}

void append_execution(bson::Builder& out, const ExplainReport& report, const TopStage& top,
                      std::string_view time, int64_t millis) {
    const int64_t returned = top.name.empty() || top.passes_on ? report.stats.returned : 0;
    out.append_number("nReturned", returned);
    out.append(time, static_cast<int32_t>(millis));
    out.append_number("totalKeysExamined", report.plan != nullptr && report.plan->scans.empty()
                                               ? int64_t{0}
                                               : report.stats.keys_examined);
    out.append_number("totalDocsExamined", report.stats.docs_examined);
    bson::Builder stages = out.sub_object("executionStages");
    if (top.name.empty()) return append_stages(stages, report);
    stages.append("stage", top.name);
    stages.append_number("nReturned", returned);
    stages.append_number(top.counts, report.stats.returned);
    if (top.would) {
        stages.append_number("nWouldModify", top.would->modified);
        stages.append_number("nWouldUpsert", top.would->upserted);
    }
    bson::Builder input = stages.sub_object("inputStage");
    append_stages(input, report);
}

void append_plan_below(bson::Builder& out, const ExplainReport& report, const TopStage& top) {
    if (top.name.empty()) return append_stages(out, report);
    out.append("stage", top.name);
    bson::Builder input = out.sub_object("inputStage");
    append_stages(input, report);
}

}  // namespace

void append_bounds(bson::Builder& out, const ScanPlan& scan) {
    bson::Builder bounds = out.sub_object("indexBounds");
    if (scan.by_range) return;
    ValueArena arena;
    size_t i = 0;
    for (const std::string& field : scan.index->generator->fields())
        append_intervals(bounds, field, readable(scan.bounds[i++], *scan.index, arena));
}

void append_explain(bson::Builder& out, const ExplainReport& report, const CommandExplain& how) {
    if (how.of_today) return append_explain_of_today(out, report, how);
    {
        bson::Builder planner = out.sub_object("queryPlanner");
        planner.append("plannerVersion", 1);
        planner.append("namespace", how.ns);
        planner.append("indexFilterSet", false);
        planner.append("parsedQuery", report.query.matcher->filter());
        {
            bson::Builder winning = planner.sub_object("winningPlan");
            append_plan_below(winning, report, how.top);
        }
        bson::Builder rejected = planner.sub_array("rejectedPlans");
        for (const ExplainReport& other : report.rejected) {
            bson::Builder plan = rejected.sub_object(rejected.next().view());
            append_plan_below(plan, other, how.top);
        }
    }
    if (!how.execution_stats) return;
    bson::Builder stats = out.sub_object("executionStats");
    stats.append("executionSuccess", true);
    append_execution(stats, report, how.top, "executionTimeMillis", how.millis);
    if (!how.all_plans) return;
    bson::Builder all = stats.sub_array("allPlansExecution");
    for (const ExplainReport& other : report.rejected) {
        bson::Builder plan = all.sub_object(all.next().view());
        append_execution(plan, other, {}, "executionTimeMillisEstimate", 0);
    }
}

IntervalList readable(IntervalList list, const catalog::Index& index, ValueArena& arena) {
    if (index.generator->collator() == nullptr) return list;
    const auto show = [&arena](bson::Element& end) {
        if (!collation::has_text(end)) return;
        bson::Builder shown;
        collation::append_readable("", end, shown);
        end = arena.keep(shown.object());
    };
    for (Interval& interval : list) {
        show(interval.low);
        show(interval.high);
    }
    return list;
}

}  // namespace query

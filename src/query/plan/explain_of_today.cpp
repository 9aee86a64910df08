// explain as today's servers show it: bounds as texts, the filter of each stage that has one,
// parsedQuery with every condition spelt out, stages by the names of today.

#include <algorithm>

#include "base/dcheck.h"
#include "query/plan/explain.h"
#include "query/plan/place_bounds.h"

namespace query {

namespace {

using bson::Element;
using bson::Type;

// ---- filters, with every condition spelt out ----

bool is_logical(std::string_view name) {
    return name == "$and" || name == "$or" || name == "$nor";
}

bson::Object spelt(bson::Doc filter);

bson::Object spelt_list(const Element& list) {
    bson::Builder holder;
    {
        bson::Builder out = holder.sub_array(list.name());
        for (const Element& each : list.as_doc()) {
            if (each.is_object())
                out.push(spelt(each.as_doc()).doc());
            else
                out.push_element(each);
        }
    }
    return holder.object();
}

bson::Object condition(std::string_view path, const Element& operation) {
    bson::Builder out;
    {
        bson::Builder inner = out.sub_object(path);
        inner.append(operation);
    }
    return out.object();
}

bson::Object regex_condition(std::string_view path, const Element& regex) {
    bson::Builder out;
    {
        bson::Builder inner = out.sub_object(path);
        inner.append("$regex", regex.regex_pattern());
        if (!regex.regex_flags().empty()) inner.append("$options", regex.regex_flags());
    }
    return out.object();
}

// The conditions of one field of a filter, each by itself.
void append_conditions(const Element& e, std::vector<bson::Object>& out) {
    const std::string_view path = e.name();
    if (path == "$comment") return;
    if (is_logical(path) && e.is_array()) return out.push_back(spelt_list(e));
    if (path.starts_with('$')) {
        bson::Builder whole;
        return out.push_back(whole.append(e).object());
    }
    if (e.type() == Type::regex) return out.push_back(regex_condition(path, e));
    const bool has_operators = e.is_object() && e.as_doc().first().name().starts_with('$') &&
                               e.as_doc().first().name() != "$ref" &&
                               e.as_doc().first().name() != "$id";
    if (!has_operators) {
        bson::Builder equal;
        equal.append_as("$eq", e);
        return out.push_back(condition(path, equal.doc().first()));
    }
    const bool has_options = e.as_doc().has("$options");
    for (const Element& operation : e.as_doc()) {
        if (operation.name() == "$options") continue;
        if (operation.name() == "$regex" && has_options) {
            bson::Builder both;
            {
                bson::Builder inner = both.sub_object(path);
                inner.append(operation);
                inner.append(e.as_doc()["$options"]);
            }
            out.push_back(both.object());
            continue;
        }
        out.push_back(condition(path, operation));
    }
}

bson::Object spelt(bson::Doc filter) {
    std::vector<bson::Object> conditions;
    for (const Element& e : filter)
        append_conditions(e, conditions);
    if (conditions.empty()) return {};
    if (conditions.size() == 1) return std::move(conditions.front());
    bson::Builder out;
    {
        bson::Builder all = out.sub_array("$and");
        for (const bson::Object& each : conditions)
            all.push(each.doc());
    }
    return out.object();
}

// ---- stages ----

class Stages {
  public:
    Stages(const ExplainReport& report, const CommandExplain& how, bool with_counts)
        : report_(report),
          how_(how),
          with_counts_(with_counts),
          filter_(spelt(report.query.matcher->filter())) {}

    void append(bson::Builder& out) const {
        if (report_.stats.id_hack) {
            out.append("stage", "IDHACK");
            return append_counts(out, true, true);
        }
        if (report_.plan == nullptr) return void(out.append("stage", "EOF"));
        if (how_.skips_keys) return append_skipping(out);
        append_projected(out);
    }

  private:
    const Plan& plan() const { return *report_.plan; }

    // What the scans of the plan did; a plan that has lost did it during the trial.
    void append_counts(bson::Builder& out, bool keys, bool docs) const {
        if (!with_counts_) return;
        if (keys) out.append_number("keysExamined", report_.stats.keys_examined);
        if (docs) out.append_number("docsExamined", report_.stats.docs_examined);
    }

    // An index that holds elements of arrays leads to the documents; and so do the keys of another
    // one that are null, which docsExamined tells.
    void append_skipping(bson::Builder& out) const {
        DCHECK(plan().scans.size() == 1);
        const bool fetches = plan().scans[0].index->multikey;
        out.append("stage", fetches ? "FETCH" : "PROJECTION_COVERED");
        if (!fetches) out.append("transformBy", how_.projection);
        append_counts(out, false, true);
        bson::Builder input = out.sub_object("inputStage");
        append_scan(input, plan().scans[0], "DISTINCT_SCAN");
        append_counts(input, true, false);
    }

    void append_projected(bson::Builder& out) const {
        if (report_.query.projection == nullptr) return append_limited(out);
        out.append("stage", projection_stage());
        if (!how_.projection.empty()) out.append("transformBy", how_.projection);
        bson::Builder input = out.sub_object("inputStage");
        append_limited(input);
    }
    std::string_view projection_stage() const {
        if (plan().covered) return "PROJECTION_COVERED";
        bool is_simple = true;
        for (const Element& e : how_.projection)
            is_simple = is_simple && (e.is_number() || e.type() == Type::boolean) &&
                        e.name().find('.') == std::string_view::npos;
        return is_simple ? "PROJECTION_SIMPLE" : "PROJECTION_DEFAULT";
    }

    void append_limited(bson::Builder& out) const {
        if (report_.query.limit == 0) return append_skipped(out);
        out.append("stage", "LIMIT");
        out.append("limitAmount", report_.query.limit);
        bson::Builder input = out.sub_object("inputStage");
        append_skipped(input);
    }
    void append_skipped(bson::Builder& out) const {
        if (report_.query.skip == 0) return append_sorted(out);
        out.append("stage", "SKIP");
        out.append("skipAmount", report_.query.skip);
        bson::Builder input = out.sub_object("inputStage");
        append_sorted(input);
    }
    void append_sorted(bson::Builder& out) const {
        if (!plan().blocking_sort) return append_access(out);
        out.append("stage", "SORT");
        out.append("sortPattern", report_.query.sort);
        bson::Builder input = out.sub_object("inputStage");
        append_access(input);
    }

    void append_filter(bson::Builder& out) const {
        if (!filter_.doc().empty()) out.append("filter", filter_);
    }

    // What looks for the nearest, or scores texts, stands above the scans that it makes.
    void append_access(bson::Builder& out) const {
        if (plan().near == nullptr && !plan().text) return append_fetch(out);
        const auto of_text = std::ranges::find_if(plan().scans, [](const ScanPlan& scan) {
            return scan.index->generator->text() != nullptr;
        });
        const catalog::Index& index =
            plan().near != nullptr ? *plan().scans.front().index : *of_text->index;
        if (plan().near == nullptr)
            out.append("stage", "TEXT_MATCH");
        else if (place_kind(index, plan().near_field) == geo::IndexKind::flat)
            out.append("stage", "GEO_NEAR_2D");
        else
            out.append("stage", "GEO_NEAR_2DSPHERE");
        if (plan().near != nullptr) out.append("keyPattern", index.key_pattern);
        out.append("indexName", index.name);
        bson::Builder input = out.sub_object("inputStage");
        append_fetch(input);
    }

    void append_fetch(bson::Builder& out) const {
        if (plan().scans.empty()) {
            out.append("stage", "COLLSCAN");
            append_filter(out);
            append_counts(out, false, true);
            out.append("direction", plan().backward ? "backward" : "forward");
            return;
        }
        const bool counts_keys =
            how_.counts_keys && !plan().check_document && plan().scans.size() == 1;
        if (counts_keys && has_one_range(plan().scans[0]))
            return append_count_scan(out, plan().scans[0]);
        if (plan().covered || counts_keys) return append_scans(out);
        out.append("stage", "FETCH");
        if (plan().check_document) append_filter(out);
        append_counts(out, false, true);
        bson::Builder input = out.sub_object("inputStage");
        append_scans(input);
    }

    void append_scans(bson::Builder& out) const {
        if (plan().scans.size() == 1) {
            append_scan(out, plan().scans[0], "IXSCAN");
            return append_counts(out, true, false);
        }
        out.append("stage", plan().merge ? "SORT_MERGE" : "OR");
        append_counts(out, true, false);
        bson::Builder inputs = out.sub_array("inputStages");
        for (const ScanPlan& scan : plan().scans) {
            bson::Builder input = inputs.sub_object(inputs.next().view());
            append_scan(input, scan, "IXSCAN");
        }
    }

    static void append_index(bson::Builder& out, const ScanPlan& scan, std::string_view stage) {
        constexpr int32_t kVersion = 2;  // as listIndexes says by OP_MSG
        out.append("stage", stage);
        out.append("keyPattern", scan.index->key_pattern);
        out.append("indexName", scan.index->name);
        out.append("isMultiKey", scan.index->multikey);
        out.append("isUnique", scan.index->unique);
        out.append("isSparse", scan.index->sparse);
        out.append("isPartial", scan.index->generator->filter() != nullptr);
        out.append("indexVersion", kVersion);
    }
    static void append_scan(bson::Builder& out, const ScanPlan& scan, std::string_view stage) {
        append_index(out, scan, stage);
        out.append("direction", scan.backward ? "backward" : "forward");
        bson::Builder bounds = out.sub_object("indexBounds");
        if (scan.by_range) return;
        ValueArena arena;
        size_t i = 0;
        for (const std::string& field : scan.index->generator->fields())
            append_interval_texts(bounds, field, readable(scan.bounds[i++], *scan.index, arena));
    }

    static bool has_one_range(const ScanPlan& scan) {
        return !scan.by_range && std::ranges::all_of(scan.bounds, [](const IntervalList& field) {
            return field.size() == 1;
        });
    }
    void append_count_scan(bson::Builder& out, const ScanPlan& scan) const {
        append_index(out, scan, "COUNT_SCAN");
        append_counts(out, true, false);
        bson::Builder bounds = out.sub_object("indexBounds");
        ValueArena arena;
        bson::Builder low;
        bson::Builder high;
        bool low_inclusive = true;
        bool high_inclusive = true;
        for (size_t i = 0; i < scan.bounds.size(); ++i) {
            const IntervalList field = readable(scan.bounds[i], *scan.index, arena);
            const std::string& name = scan.index->generator->fields()[i];
            low.append_as(name, field.front().low);
            high.append_as(name, field.front().high);
            low_inclusive = low_inclusive && field.front().low_inclusive;
            high_inclusive = high_inclusive && field.front().high_inclusive;
        }
        bounds.append("startKey", low.doc()).append("startKeyInclusive", low_inclusive);
        bounds.append("endKey", high.doc()).append("endKeyInclusive", high_inclusive);
    }

    const ExplainReport& report_;
    const CommandExplain& how_;
    const bool with_counts_;
    const bson::Object filter_;
};

void append_plan(bson::Builder& out, const ExplainReport& report, const CommandExplain& how) {
    const Stages stages(report, how, false);
    if (how.top.name.empty()) return stages.append(out);
    out.append("stage", how.top.name);
    bson::Builder input = out.sub_object("inputStage");
    stages.append(input);
}

void append_execution(bson::Builder& out, const ExplainReport& report, const CommandExplain& how,
                      const TopStage& top, std::string_view time, int64_t millis) {
    const int64_t returned = top.name.empty() || top.passes_on ? report.stats.returned : 0;
    out.append_number("nReturned", returned);
    out.append(time, static_cast<int32_t>(millis));
    const bool scans_all = report.plan != nullptr && report.plan->scans.empty();
    out.append_number("totalKeysExamined", scans_all ? 0 : report.stats.keys_examined);
    out.append_number("totalDocsExamined", report.stats.docs_examined);
    bson::Builder stages = out.sub_object("executionStages");
    const Stages shown(report, how, true);
    if (top.name.empty()) {
        shown.append(stages);
        stages.append_number("nReturned", returned);
        return;
    }
    stages.append("stage", top.name);
    stages.append_number("nReturned", returned);
    stages.append_number(top.counts, report.stats.returned);
    if (top.would) {
        stages.append_number("nWouldModify", top.would->modified);
        stages.append_number("nWouldUpsert", top.would->upserted);
    }
    bson::Builder input = stages.sub_object("inputStage");
    shown.append(input);
}

}  // namespace

void append_explain_of_today(bson::Builder& out, const ExplainReport& report,
                             const CommandExplain& how) {
    DCHECK(how.of_today);
    {
        bson::Builder planner = out.sub_object("queryPlanner");
        planner.append("namespace", how.ns);
        planner.append("indexFilterSet", false);
        planner.append("parsedQuery", spelt(report.query.matcher->filter()));
        {
            bson::Builder winning = planner.sub_object("winningPlan");
            append_plan(winning, report, how);
        }
        bson::Builder rejected = planner.sub_array("rejectedPlans");
        for (const ExplainReport& other : report.rejected) {
            bson::Builder plan = rejected.sub_object(rejected.next().view());
            append_plan(plan, other, how);
        }
    }
    if (!how.execution_stats) return;
    bson::Builder stats = out.sub_object("executionStats");
    stats.append("executionSuccess", true);
    append_execution(stats, report, how, how.top, "executionTimeMillis", how.millis);
    if (!how.all_plans) return;
    bson::Builder all = stats.sub_array("allPlansExecution");
    for (const ExplainReport& other : report.rejected) {
        bson::Builder plan = all.sub_object(all.next().view());
        append_execution(plan, other, how, {}, "executionTimeMillisEstimate", 0);
    }
}

}  // namespace query

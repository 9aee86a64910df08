// explain in the form of 2.6: cursor, counts, clauses, allPlans (wire spec 3.7).

#include <algorithm>

#include "query/plan/explain.h"

namespace query {

namespace {

// `near`: what the plan looks for around a place.
std::string cursor_name(const ScanPlan& scan, bool near = false) {
    const bool flat = scan.index->generator->geo() == geo::IndexKind::flat;
    if (near) return flat ? "GeoSearchCursor" : "S2NearCursor";
    if (flat && scan.place != nullptr)
        return std::string("GeoBrowse-") + scan.place->geo->flat()->name();
    return "BtreeCursor " + scan.index->name + (scan.backward ? " reverse" : "");
}

void append_counts(bson::Builder& out, int64_t n, int64_t objects, int64_t scanned) {
    out.append_number("n", n);
    out.append_number("nscannedObjects", objects);
    out.append_number("nscanned", scanned);
}

// Appends the counts of one plan alone.
void append_all_plans(bson::Builder& out, int64_t objects, int64_t scanned) {
    out.append_number("nscannedObjectsAllPlans", objects);
    out.append_number("nscannedAllPlans", scanned);
}

// Appends the counts with those of the other plans until they lost.
void append_all_plans(bson::Builder& out, const ExplainReport& report, int64_t objects,
                      int64_t scanned) {
    for (const ExplainReport& other : report.rejected) {
        objects += other.stats.docs_examined;
        scanned += other.stats.keys_examined;
    }
    append_all_plans(out, objects, scanned);
}

void append_tail(bson::Builder& out, int64_t yields, int64_t millis) {
    out.append_number("nYields", yields);
    out.append("nChunkSkips", 0);
    out.append_number("millis", millis);
}

// `began`: whether it was run at all.
void append_clause(bson::Builder& out, const ScanPlan* scan, const PlanRun::BranchStats& stats,
                   bool sorted_in_memory, bool covered, bool began = true) {
    constexpr const char* kNone = "BtreeCursor ";
    const std::string cursor = scan == nullptr ? "BasicCursor" : began ? cursor_name(*scan) : kNone;
    out.append("cursor", cursor);
    out.append("isMultiKey", scan != nullptr && began && scan->index->multikey);
    append_counts(out, stats.returned, stats.docs_examined, stats.keys_examined);
    append_all_plans(out, stats.docs_examined, stats.keys_examined);
    out.append("scanAndOrder", sorted_in_memory);
    out.append("indexOnly", covered);
    append_tail(out, 0, 0);
    if (scan != nullptr) append_bounds(out, *scan);
}

PlanRun::BranchStats sum(const std::vector<PlanRun::BranchStats>& branches) {
    PlanRun::BranchStats all;
    for (const PlanRun::BranchStats& branch : branches) {
        all.keys_examined += branch.keys_examined;
        all.docs_examined += branch.docs_examined;
        all.returned += branch.returned;
    }
    return all;
}

// A sort with a limit was run by the old server as two alternatives, the top few first and, if the
// caller asked on, the whole sort; explain shows both as clauses.
struct SortLimit {
    explicit SortLimit(const ExplainReport& report) : top(sum(report.branches)) {
        if (!report.top.empty()) {
            const PlanRun::BranchStats both = top;
            top = sum(report.top);
            again.returned = both.returned - top.returned;
            again.keys_examined = both.keys_examined - top.keys_examined;
            again.docs_examined = both.docs_examined - top.docs_examined;
            has_both = true;
        } else if (!report.has_lost &&
                   (report.query.limit == 0 || report.stats.returned < report.query.limit)) {
            again = top;  // the whole sort would find the same once more
            has_both = true;
        }
        top.returned = std::min(top.returned, report.query.sorted_rows());
    }

    PlanRun::BranchStats top;
    PlanRun::BranchStats again;
    bool has_both = false;
};

bool is_sort_limit(const ExplainReport& report) {
    return report.plan != nullptr && report.plan->blocking_sort && report.query.sorted_rows() > 0;
}

void append_sort_clauses(bson::Builder& out, const ExplainReport& report, const SortLimit& sorts) {
    const ScanPlan* const scan = report.plan->scans.empty() ? nullptr : &report.plan->scans.front();
    bson::Builder clauses = out.sub_array("clauses");
    for (const bool first : {true, false}) {
        const bson::IndexName name = clauses.next();
        bson::Builder clause = clauses.sub_object(name.view());
        append_clause(clause, scan, first ? sorts.top : sorts.again, true, false,
                      first || sorts.has_both);
    }
}

void append_clauses(bson::Builder& out, const ExplainReport& report) {
    bson::Builder clauses = out.sub_array("clauses");
    for (size_t i = 0; i < report.plan->scans.size(); ++i) {
        const bson::IndexName name = clauses.next();
        bson::Builder clause = clauses.sub_object(name.view());
        append_clause(clause, &report.plan->scans[i], report.branches[i], false,
                      report.plan->covered);
    }
}

// Appends a plan with clauses, by itself or (no `millis`) as one of allPlans.
void append_disjunction(bson::Builder& out, const ExplainReport& report, const int64_t* millis) {
    const bool sorts = is_sort_limit(report);
    int64_t objects = report.stats.docs_examined;
    int64_t scanned = report.stats.keys_examined;
    if (sorts) {
        const SortLimit both(report);
        append_sort_clauses(out, report, both);
        objects = both.top.docs_examined + both.again.docs_examined;
        scanned = both.top.keys_examined + both.again.keys_examined;
    } else {
        append_clauses(out, report);
    }
    out.append("cursor", "QueryOptimizerCursor");
    append_counts(out, report.stats.returned, objects, scanned);
    if (millis != nullptr) append_all_plans(out, report, objects, scanned);
    out.append("scanAndOrder", report.plan->blocking_sort && !sorts);
    if (millis != nullptr)
        append_tail(out, report.stats.yields, *millis);
    else
        out.append("nChunkSkips", 0);
}

bool is_text(const ExplainReport& report) {
    return report.plan != nullptr && report.plan->text;
}

// Whether it shows as clauses.
bool has_clauses(const ExplainReport& report) {
    if (is_text(report)) return false;
    return is_sort_limit(report) || (report.plan != nullptr && report.plan->scans.size() > 1);
}

// Null: the documents are read without an index.
const ScanPlan* first_scan(const ExplainReport& report) {
    const bool by_index =
        report.plan != nullptr && !report.plan->scans.empty() && !report.plan->text;
    return by_index ? &report.plan->scans.front() : nullptr;
}

std::string cursor_name(const ExplainReport& report, const ScanPlan* scan) {
    if (scan != nullptr) return cursor_name(*scan, report.plan->near != nullptr);
    if (is_text(report)) return "TextCursor";
    const bool reverse =
        report.plan != nullptr && report.plan->backward && !report.query.natural_by_hint;
    return reverse ? "ReverseCursor" : "BasicCursor";
}

// A plan by itself, or (no `millis`) as one of allPlans.
void append_simple(bson::Builder& out, const ExplainReport& report, const int64_t* millis) {
    const ScanPlan* scan = first_scan(report);
    out.append("cursor", cursor_name(report, scan));
    // The cursors of 2d indexes did not say that of theirs.
    const bool near = report.plan != nullptr && report.plan->near != nullptr;
    const bool flat = scan != nullptr && (near || scan->place != nullptr) &&
                      scan->index->generator->geo() == geo::IndexKind::flat;
    out.append("isMultiKey", scan != nullptr && scan->index->multikey && !flat);
    append_counts(out, report.stats.returned, report.stats.docs_examined,
                  report.stats.keys_examined);
    if (millis != nullptr)
        append_all_plans(out, report, report.stats.docs_examined, report.stats.keys_examined);
    out.append("scanAndOrder", report.stats.scan_and_order);
    out.append("indexOnly", report.stats.index_only);
    if (millis != nullptr) {
        append_tail(out, report.stats.yields, *millis);
    } else {
        out.append("nChunkSkips", 0);
    }
    if (flat && near)
        out.append("indexBounds", bson::Object());
    else if (scan != nullptr)
        append_bounds(out, *scan);
}

// One of allPlans.
void append_candidate(bson::Builder& list, const ExplainReport& report) {
    const bson::IndexName name = list.next();
    bson::Builder plan = list.sub_object(name.view());
    if (has_clauses(report)) return append_disjunction(plan, report, nullptr);
    append_simple(plan, report, nullptr);
}

// Appends the plan of a query whose collection is not there.
void append_no_plan(bson::Builder& list) {
    bson::Builder plan = list.sub_object(list.next().view());
    plan.append("cursor", "BasicCursor");
    append_counts(plan, 0, 0, 0);
}

void append_id_bounds(bson::Builder& out, const ExplainReport& report) {
    const bson::Element id = report.query.matcher->filter().first();
    bson::Builder bounds = out.sub_object("indexBounds");
    append_intervals(bounds, "_id", {point(id)});
}

void append_id_look_up(bson::Builder& out, const ExplainReport& report, int64_t millis) {
    out.append("cursor", "IDCursor");
    append_counts(out, report.stats.returned, report.stats.docs_examined,
                  report.stats.keys_examined);
    out.append("indexOnly", report.stats.index_only);
    out.append_number("millis", millis);
    append_id_bounds(out, report);
}

// One way to the documents, without counts.
void append_access_of(bson::Builder& out, const ExplainReport& report, const ScanPlan* scan) {
    out.append("cursor", cursor_name(report, scan));
    out.append("isMultiKey", scan != nullptr && scan->index->multikey);
    out.append("scanAndOrder", report.stats.scan_and_order);
    if (scan != nullptr) append_bounds(out, *scan);
}

void append_plan_of(bson::Builder& out, const ExplainReport& report) {
    if (report.plan == nullptr || report.plan->scans.size() < 2 || report.plan->text) {
        append_access_of(out, report, first_scan(report));
        return;
    }
    out.append("cursor", "QueryOptimizerCursor");
    out.append("scanAndOrder", report.stats.scan_and_order);
    bson::Builder clauses = out.sub_array("clauses");
    for (const ScanPlan& scan : report.plan->scans) {
        bson::Builder clause = clauses.sub_object(clauses.next().view());
        append_access_of(clause, report, &scan);
    }
}

}  // namespace

void append_explain_v26(bson::Builder& out, const ExplainReport& report, const ExplainV26& how) {
    if (report.stats.id_hack) {
        append_id_look_up(out, report, how.millis);
    } else if (has_clauses(report)) {
        append_disjunction(out, report, &how.millis);
    } else {
        append_simple(out, report, &how.millis);
    }
    const bool verbose = how.verbose && !report.stats.id_hack;
    if (verbose) {
        bson::Builder all = out.sub_array("allPlans");
        if (report.has_collection)
            append_candidate(all, report);
        else
            append_no_plan(all);
        for (const ExplainReport& other : report.rejected)
            append_candidate(all, other);
    }
    if (!how.server.empty()) out.append("server", how.server);
    if (!verbose || !report.has_collection) return;
    out.append("filterSet", false);
    bson::Builder stats = out.sub_object("stats");
    append_stage_counts(stats, report);
}

std::optional<ExecutionStats> sort_with_limit(const ExplainReport& report, bool wants_more) {
    if (report.plan == nullptr || !report.plan->blocking_sort || report.query.sorted_rows() <= 0)
        return std::nullopt;
    ExecutionStats stats = report.stats;
    if (wants_more && report.top.empty()) {  // the whole sort finds the same once more
        stats.keys_examined *= 2;
        stats.docs_examined *= 2;
    }
    return stats;
}

void append_plan_v26(bson::Builder& out, const ExplainReport& report) {
    if (report.stats.id_hack) {
        out.append("cursor", "IDCursor");
        append_id_bounds(out, report);
        return;
    }
    append_plan_of(out, report);
    bson::Builder all = out.sub_array("allPlans");
    const auto append_one = [&all](const ExplainReport& one) {
        bson::Builder plan = all.sub_object(all.next().view());
        append_plan_of(plan, one);
    };
    append_one(report);
    for (const ExplainReport& other : report.rejected)
        append_one(other);
}

}  // namespace query

// The stages of an execution with the counters that the old server kept for each. This one runs no
// such stages; what they would have counted follows from how many keys and documents were looked
// at, since every stage asks the one below it for one result at a time.

#include <algorithm>
#include <cmath>
#include <functional>

#include "bson/json.h"
#include "query/plan/explain.h"
#include "sched/tick.h"

namespace query {

namespace {

// Beside each document in memory the old server kept its place.
constexpr int64_t kPlaceBytes = 8;
// What it costs to write one down (sched/tick.h).
constexpr int64_t kTicksPerInterval = 4;

struct Counts {
    int64_t works = 0;     // results asked for
    int64_t advanced = 0;  // results given
    int64_t need_time = 0;
    bool more = false;  // not at the end
};

void append_counts(bson::Builder& out, const char* type, const Counts& counts) {
    out.append("type", type);
    out.append_number("works", counts.works);
    out.append("yields", 0).append("unyields", 0).append("invalidates", 0);
    out.append_number("advanced", counts.advanced);
    out.append_number("needTime", counts.need_time);
    out.append("needFetch", 0).append("isEOF", counts.more ? 0 : 1);
}

std::string end_text(const bson::Element& value) {
    if (value.type() == bson::Type::number_double && std::isinf(value.as_double()))
        return value.as_double() < 0 ? "-inf.0" : "inf.0";
    return bson::to_text(value);
}

// "field #0['a']: [1, 1], [5, 7)".
std::string bounds_text(const ScanPlan& scan) {
    if (scan.by_range)
        return "[" + bson::to_text(catalog::readable_key(scan.range_min, *scan.index->generator)) +
               ", " + bson::to_text(catalog::readable_key(scan.range_max, *scan.index->generator)) +
               ")";
    ValueArena arena;
    std::string text;
    size_t i = 0;
    for (const std::string& field : scan.index->generator->fields()) {
        if (i > 0) text += ", ";
        text += "field #" + std::to_string(i) + "['" + field + "']: ";
        const char* separator = "";
        for (const Interval& interval : readable(scan.bounds[i], *scan.index, arena)) {
            sched::tick(kTicksPerInterval);
            text += separator;
            text += interval.low_inclusive ? "[" : "(";
            text += end_text(interval.low) + ", " + end_text(interval.high);
            text += interval.high_inclusive ? "]" : ")";
            separator = ", ";
        }
        ++i;
    }
    return text;
}

class Stages {
  public:
    explicit Stages(const ExplainReport& report) : report_(report), plan_(*report.plan) {}

    void append(bson::Builder& out) {
        if (report_.query.projection != nullptr && !plan_.covered) {
            stacked(out, "PROJECTION", limited(), [this](bson::Builder& b) { append_limit(b); });
        } else {
            append_limit(out);
        }
    }

  private:
    using Below = std::function<void(bson::Builder&)>;

    // A stage that passes on what it gets.
    static void stacked(bson::Builder& out, const char* type, const Counts& counts,
                        const Below& below) {
        append_counts(out, type, counts);
        append_child(out, below);
    }
    static void append_child(bson::Builder& out, const Below& below) {
        bson::Builder children = out.sub_array("children");
        const bson::IndexName name = children.next();
        bson::Builder child = children.sub_object(name.view());
        below(child);
    }

    bool cut() const {
        return report_.query.limit > 0 && report_.stats.returned >= report_.query.limit;
    }
    Counts limited() const {
        Counts counts = skipped();
        counts.more = false;
        return counts;
    }
    void append_limit(bson::Builder& out) const {
        if (!cut()) return append_skip(out);
        stacked(out, "LIMIT", limited(), [this](bson::Builder& b) { append_skip(b); });
    }

    Counts skipped() const {
        Counts counts = sorted();
        const int64_t left_out = std::min(report_.query.skip, counts.advanced);
        counts.advanced -= left_out;
        counts.need_time += left_out;
        return counts;
    }
    void append_skip(bson::Builder& out) const {
        if (report_.query.skip == 0) return append_sort(out);
        stacked(out, "SKIP", skipped(), [this](bson::Builder& b) { append_sort(b); });
    }

    // One call to begin, one for each result below and its end, then one for each document, and the
    // end.
    Counts sorted() const {
        Counts counts = accessed();
        if (!plan_.blocking_sort) return counts;
        counts.need_time = counts.works;
        counts.works += counts.advanced + 2;
        return counts;
    }
    void append_sort(bson::Builder& out) const {
        if (!plan_.blocking_sort) return append_kept(out);
        append_counts(out, "SORT", sorted());
        out.append("forcedFetches", 0);
        out.append_number("memUsage", report_.sort_bytes + kPlaceBytes * accessed().advanced);
        out.append("memLimit", static_cast<int32_t>(DocumentSorter::kBytesMax));
        append_child(out, [this](bson::Builder& b) { append_kept(b); });
    }

    // Kept what changed under a fetch with a filter or before a sort.
    void append_kept(bson::Builder& out) const {
        const bool fetches = !plan_.scans.empty() && !plan_.covered;
        const bool ordered_by_index = !report_.query.sort.empty() && !plan_.blocking_sort;
        const bool keeps =
            fetches && !ordered_by_index && (plan_.check_document || plan_.blocking_sort);
        if (!keeps) return append_access(out);
        stacked(out, "KEEP_MUTATIONS", accessed(), [this](bson::Builder& b) { append_access(b); });
    }

    Counts accessed() const {
        Counts counts;
        counts.more = cut();
        if (plan_.scans.empty()) {
            const PlanRun::BranchStats& scan = report_.branches.front();
            counts.works = scan.docs_examined + (counts.more ? 1 : 2);
            counts.advanced = scan.returned;
            counts.need_time = 1 + scan.docs_examined - scan.returned;
            return counts;
        }
        if (plan_.covered) return of_scan(0);
        for (const PlanRun::BranchStats& branch : report_.branches) {
            counts.works += branch.keys_examined;
            counts.advanced += branch.returned;
        }
        counts.need_time = counts.works - counts.advanced;
        if (!counts.more) ++counts.works;
        return counts;
    }
    void append_access(bson::Builder& out) const {
        if (plan_.scans.empty()) {
            append_counts(out, "COLLSCAN", accessed());
            out.append_number("docsTested", report_.branches.front().docs_examined);
            out.sub_array("children").finish();
            return;
        }
        if (plan_.covered) return append_scan(out, 0);
        append_counts(out, "FETCH", accessed());
        out.append("alreadyHasObj", 0).append("forcedFetches", 0);
        out.append_number("matchTested", plan_.check_document ? accessed().advanced : 0);
        append_child(out, [this](bson::Builder& b) { append_scans(b); });
    }

    void append_scans(bson::Builder& out) const {
        if (plan_.scans.size() == 1) return append_scan(out, 0);
        Counts all;
        for (size_t i = 0; i < plan_.scans.size(); ++i) {
            all.works += of_scan(i).works;
            all.advanced += of_scan(i).advanced;
        }
        all.need_time = all.works - all.advanced;
        append_counts(out, plan_.merge ? "SORT_MERGE" : "OR", all);
        out.append_number("dupsTested", all.advanced);
        out.append_number("dupsDropped", 0);
        bson::Builder children = out.sub_array("children");
        for (size_t i = 0; i < plan_.scans.size(); ++i) {
            const bson::IndexName name = children.next();
            bson::Builder child = children.sub_object(name.view());
            append_scan(child, i);
        }
    }

    // Knows its end as soon as it stands behind its last key.
    Counts of_scan(size_t i) const {
        const PlanRun::BranchStats& branch = report_.branches[i];
        Counts counts;
        counts.works = std::max<int64_t>(branch.keys_examined, 1);
        counts.advanced = plan_.covered ? branch.returned : branch.docs_examined;
        counts.need_time = branch.keys_examined - counts.advanced;
        counts.more = cut();
        return counts;
    }
    void append_scan(bson::Builder& out, size_t i) const {
        const ScanPlan& scan = plan_.scans[i];
        const Counts counts = of_scan(i);
        const bool multikey = scan.index->multikey;
        append_counts(out, "IXSCAN", counts);
        out.append("keyPattern", bson::to_text(scan.index->key_pattern));
        out.append("boundsVerbose", bounds_text(scan));
        out.append("isMultiKey", multikey ? 1 : 0).append("yieldMovedCursor", 0);
        out.append_number("dupsTested", multikey ? counts.advanced + counts.need_time : 0);
        out.append_number("dupsDropped", multikey ? counts.need_time : 0);
        out.append("seenInvalidated", 0);
        out.append_number("matchTested", scan.key_filter.empty() ? 0 : counts.advanced);
        out.append_number("keysExamined", report_.branches[i].keys_examined);
        out.sub_array("children").finish();
    }

    const ExplainReport& report_;
    const Plan& plan_;
};

}  // namespace

void append_stage_counts(bson::Builder& out, const ExplainReport& report) {
    if (report.plan == nullptr) {
        append_counts(out, "EOF", {1, 0, 0, false});
        out.sub_array("children").finish();
        return;
    }
    Stages(report).append(out);
}

}  // namespace query

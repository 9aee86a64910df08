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

// The old server kept the place of each document in memory beside it.
constexpr int64_t kPlaceBytes = 8;
// The cost of writing one interval down (sched/tick.h).
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
        for (const Interval& interval :
             sched::ticked(readable(scan.bounds[i], *scan.index, arena), kTicksPerInterval)) {
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

    void append(bson::Builder& out) const { append_limit(out); }

  private:
    using Below = std::function<void(bson::Builder&)>;
    using End = IndexScan::End;

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
    // A sort has its limit in itself.
    bool has_limit() const { return report_.query.limit > 0 && !plan_.blocking_sort; }
    bool has_projection() const {
        return report_.query.projection != nullptr || report_.query.return_key;
    }
    bool sorts_twice() const { return plan_.blocking_sort && report_.query.sorted_rows() > 0; }

    // The stage on top was asked for its end once more, after the plans had competed, and those
    // that only pass on what they get asked the one below.
    Counts asked_again(Counts counts) const {
        if (report_.ended_in_trial && !cut()) ++counts.works;
        return counts;
    }
    void append_limit(bson::Builder& out) const {
        if (!has_limit()) return append_skip(out, true);
        Counts counts = skipped();
        counts.more = false;
        stacked(out, "LIMIT", counts, [this](bson::Builder& b) { append_skip(b, false); });
    }

    Counts skipped() const {
        Counts counts = sorted();
        const int64_t left_out = std::min(report_.query.skip, counts.advanced);
        counts.advanced -= left_out;
        counts.need_time += left_out;
        return counts;
    }
    void append_skip(bson::Builder& out, bool on_top) const {
        if (report_.query.skip == 0) return append_projection(out, on_top);
        stacked(out, "SKIP", on_top ? asked_again(skipped()) : skipped(),
                [this](bson::Builder& b) { append_projection(b, false); });
    }
    void append_projection(bson::Builder& out, bool on_top) const {
        if (!has_projection()) return append_sort(out, on_top);
        stacked(out, "PROJECTION", on_top ? asked_again(sorted()) : sorted(),
                [=, this](bson::Builder& b) { append_sort(b, on_top); });
    }

    // One call to begin, one for each result below and its end, then one for each document, and the
    // end.
    static Counts sorted(Counts below, int64_t rows, bool at_limit) {
        Counts counts;
        counts.works = below.works + rows + (at_limit ? 1 : 2);
        counts.need_time = below.works + 1;
        counts.advanced = rows;
        counts.more = at_limit;
        return counts;
    }
    // Counts two sorts, of which the second gives what the first has not.
    Counts sorted_twice() const {
        const std::vector<PlanRun::BranchStats>& first =
            report_.top.empty() ? report_.branches : report_.top;
        const int64_t rows = accessed(first).advanced;
        const bool at_limit = cut();
        const int64_t limit = report_.query.sorted_rows();
        Counts counts = sorted(accessed(first), std::min(rows, limit), at_limit);
        if (at_limit) return counts;
        const Counts second = sorted(accessed(first), rows, false);
        counts.works += second.works;
        counts.advanced = rows;
        counts.need_time = counts.works - rows;
        return counts;
    }
    Counts sorted() const {
        if (!plan_.blocking_sort) return accessed();
        if (sorts_twice()) return sorted_twice();
        return sorted(accessed(), accessed().advanced, false);
    }
    void append_one_sort(bson::Builder& out, const Counts& counts, bool keeps) const {
        append_counts(out, "SORT", counts);
        out.append("forcedFetches", 0);
        out.append_number("memUsage", report_.sort_bytes + kPlaceBytes * accessed().advanced);
        out.append("memLimit", static_cast<int32_t>(report_.query.sort_pattern->bytes_max()));
        append_child(out, [=, this](bson::Builder& b) {
            if (keeps)
                append_kept(b, false);
            else
                append_access(b, false);
        });
    }
    void append_sort(bson::Builder& out, bool on_top) const {
        if (!plan_.blocking_sort) return append_kept(out, on_top);
        const Counts counts = on_top ? asked_again(sorted()) : sorted();
        if (!sorts_twice()) return append_one_sort(out, counts, true);
        if (plan_.scans.empty()) return append_two_sorts(out, counts);
        stacked(out, "KEEP_MUTATIONS", counts,
                [this](bson::Builder& b) { append_two_sorts(b, sorted()); });
    }
    static void append_or_tail(bson::Builder& out, size_t children) {
        out.append("locsForgotten", 0);
        for (size_t i = 0; i < children; ++i)
            out.append("matchTested_" + std::to_string(i), 0);
    }
    void append_two_sorts(bson::Builder& out, const Counts& counts) const {
        append_counts(out, "OR", counts);
        out.append_number("dupsTested", counts.advanced).append_number("dupsDropped", 0);
        append_or_tail(out, 2);
        bson::Builder children = out.sub_array("children");
        const Counts below = accessed(report_.top.empty() ? report_.branches : report_.top);
        const int64_t top = std::min(below.advanced, report_.query.sorted_rows());
        for (const bool first : {true, false}) {
            const bson::IndexName name = children.next();
            bson::Builder child = children.sub_object(name.view());
            const Counts whole = sorted(below, first ? top : below.advanced, first && cut());
            append_one_sort(child, first || !cut() ? whole : Counts(), false);
        }
    }

    // Kept what changed under a fetch with a filter or before a sort.
    void append_kept(bson::Builder& out, bool on_top) const {
        const bool fetches = !plan_.scans.empty() && !plan_.covered;
        const bool ordered_by_index = !report_.query.sort.empty() && !plan_.blocking_sort;
        const bool keeps =
            fetches && !ordered_by_index && (plan_.check_document || plan_.blocking_sort);
        if (!keeps) return append_access(out, on_top);
        stacked(out, "KEEP_MUTATIONS", on_top ? asked_again(accessed()) : accessed(),
                [this](bson::Builder& b) { append_access(b, false); });
    }

    int64_t keys(const std::vector<PlanRun::BranchStats>& branches, size_t i) const {
        return branches[i].keys_examined - (plan_.scans[i].by_range ? 1 : 0);
    }

    // A scan was asked once for each of its keys. A key behind its bounds was one more; behind the
    // last key of the index it knew its end by itself, but a projection asked for it all the same.
    int64_t scan_works(const std::vector<PlanRun::BranchStats>& branches, size_t i) const {
        const End end = is_cut_at(i) ? End::none : end_of(branches[i]);
        const bool asked = end == End::at_key || (end == End::at_index && plan_.covered);
        return std::max<int64_t>(keys(branches, i) + (asked ? 1 : 0), 1);
    }
    // $maxScan stops a scan, which came to no end.
    End end_of(const PlanRun::BranchStats& branch) const {
        const int64_t most = report_.query.max_scan;
        return most > 0 && branch.keys_examined >= most ? End::none : branch.end;
    }
    bool is_cut_at(size_t i) const { return cut() && i + 1 == plan_.scans.size(); }

    Counts accessed() const { return accessed(report_.branches); }
    Counts accessed(const std::vector<PlanRun::BranchStats>& branches) const {
        Counts counts;
        counts.more = cut() && !plan_.blocking_sort;
        if (plan_.scans.empty()) {
            const PlanRun::BranchStats& scan = branches.front();
            counts.works = scan.docs_examined + (counts.more ? 1 : 2);
            counts.advanced = scan.returned;
            counts.need_time = 1 + scan.docs_examined - scan.returned;
            return counts;
        }
        if (plan_.covered && plan_.scans.size() == 1) return of_scan(0);
        const size_t last = plan_.scans.size() - 1;
        for (size_t i = 0; i < last; ++i)
            counts.works += scan_works(branches, i);
        // If a jump led behind the last key, that was the answer.
        const End end = counts.more ? End::none : end_of(branches[last]);
        const bool asked = end == End::at_key || end == End::at_index;
        counts.works += std::max<int64_t>(keys(branches, last) + (asked ? 1 : 0), 1);
        for (const PlanRun::BranchStats& branch : branches)
            counts.advanced += branch.returned;
        counts.advanced -= report_.dropped;
        counts.need_time = counts.works - counts.advanced;
        return counts;
    }
    void append_access(bson::Builder& out, bool on_top) const {
        const Counts counts = on_top ? asked_again(accessed()) : accessed();
        if (plan_.scans.empty()) {
            append_counts(out, "COLLSCAN", counts);
            out.append_number("docsTested", report_.branches.front().docs_examined);
            out.sub_array("children").finish();
            return;
        }
        if (plan_.covered) return append_scans(out);
        append_counts(out, "FETCH", counts);
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
        all.advanced -= report_.dropped;
        all.need_time = all.works - all.advanced;
        append_counts(out, plan_.merge ? "SORT_MERGE" : "OR", all);
        out.append_number("dupsTested", all.advanced + report_.dropped);
        out.append_number("dupsDropped", report_.dropped);
        if (!plan_.merge) append_or_tail(out, plan_.scans.size());
        bson::Builder children = out.sub_array("children");
        for (size_t i = 0; i < plan_.scans.size(); ++i) {
            const bson::IndexName name = children.next();
            bson::Builder child = children.sub_object(name.view());
            append_scan(child, i);
        }
    }

    Counts of_scan(size_t i) const {
        const PlanRun::BranchStats& branch = report_.branches[i];
        Counts counts;
        counts.works = scan_works(report_.branches, i);
        counts.advanced = plan_.covered ? branch.returned : branch.docs_examined;
        counts.need_time = branch.keys_examined - counts.advanced;
        counts.more = is_cut_at(i);
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

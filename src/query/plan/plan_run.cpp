#include "query/plan/plan_run.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/nan.h"
#include "query/plan/index_bounds.h"
#include "sched/work_limit.h"

namespace query {

namespace {
constexpr const char* kSorting = "finding what one document is sorted by";
}  // namespace

PlanRun::PlanRun(catalog::Collection& collection, const FindQuery& query,
                 const ExecutorOptions& options, Plan plan, Detaching& detaching)
    : collection_(collection), query_(query), options_(options), plan_(std::move(plan)) {
    DCHECK(is_consistent(plan_, query));
    want_details_ =
        query.want_details || (query.projection != nullptr && query.projection->needs_details());
    if (query.matcher->runs_scripts())
        detached_ = std::make_unique<DetachedMatch>(collection, *query.matcher, detaching);
    if (plan_.blocking_sort) {
        sorter_ =
            std::make_unique<DocumentSorter>(*query.sort_pattern, query.sorted_rows(), disk());
        top_only_ = query.limit == 0 && query.top != 0;
    }
    start();
}

void PlanRun::start() {
    branches_.clear();
    branches_.resize(std::max<size_t>(plan_.scans.size(), 1));
    if (plan_.near != nullptr) {
        near_ = std::make_unique<NearScan>(collection_, query_, plan_, detached_.get());
        return;
    }
    if (plan_.text) text_scores_.emplace(plan_, *query_.matcher->text());
    for (size_t i = 0; i < plan_.scans.size(); ++i) {
        branches_[i].scan = std::make_unique<IndexScan>(plan_.scans[i]);
        branches_[i].scan->let_yield();
        branches_[i].was_multikey = plan_.scans[i].index->multikey;
    }
    if (!plan_.scans.empty()) return;
    const auto ts = plan_.backward ? std::nullopt : first_ts_wanted(collection_, query_);
    if (ts) {
        ring_start_ = std::make_unique<RingStart>(collection_, *ts);
    } else {
        records_ = collection_.records().cursor(plan_.backward ? storage::Direction::backward
                                                               : storage::Direction::forward);
    }
}

void PlanRun::look_for_start() {
    records_ = ring_start_->take_scan();
    if (records_ != nullptr) return ring_start_.reset();
    ++branches_[0].stats.keys_examined;
    ++branches_[0].stats.docs_examined;
    ring_start_->step();
}

bool PlanRun::key_passes(Branch& branch) {
    const ScanPlan& scan = branch.scan->plan();
    document_matched_ = false;
    if (scan.key_filter.empty()) return true;
    for (const KeyPredicate& predicate : scan.key_filter) {
        if (predicate.node->kind == MatchKind::text) {
            if (!looked_at_.insert(branch.scan->id())) return false;
            text_score_ = text_scores_->at(*branch.scan);
            continue;
        }
        auto value = branch.scan->key().begin();
        for (size_t i = 0; i < predicate.field; ++i)
            ++value;
        // It may stand for other elements of an array that equal it and differ.
        if (bson::is_large_number(*value)) {
            const sched::WorkLimit limit(kMatchWork);
            document_matched_ =
                query_.matcher->matches(collection_.records().get(branch.scan->id()));
            return document_matched_;
        }
        if (!key_matches(*predicate.node, *value, key_document_)) return false;
    }
    return true;
}

bool PlanRun::must_check_all(const Branch& branch) {
    return branch.scan->plan().index->multikey && !branch.was_multikey;
}

bool PlanRun::document_passes(Row* row, bool check_all) {
    row->details = MatchDetails{};
    row->details.want_index = want_details_;
    const bool must_check = (plan_.check_document || check_all) && !document_matched_;
    if (!must_check && !want_details_) return true;
    std::optional<TextClause::Known> known;
    if (plan_.text) known.emplace(*query_.matcher->text(), text_score_);
    if (detached_ != nullptr) {
        row->outlives_save = true;
        return detached_->passes(row->id, &row->doc, &row->details);
    }
    const sched::WorkLimit limit(kMatchWork);
    return query_.matcher->matches(row->doc, &row->details);
}

// returnKey where no index was used.
void PlanRun::show_no_key(Row* row) {
    covered_.clear();
    row->doc = bson::Builder(covered_).doc();
    row->projected = true;
}

PlanRun::Work PlanRun::produce_from_collection(Row* row) {
    if (ring_start_ != nullptr) look_for_start();
    if (records_ == nullptr) return Work::need_more;
    BranchStats& stats = branches_[0].stats;
    if (query_.max_scan > 0 && stats.docs_examined >= query_.max_scan) return Work::end;
    const auto record = records_->next();
    if (!record) return Work::end;
    ++stats.keys_examined;
    ++stats.docs_examined;
    row->doc = record->doc;
    row->id = record->id;
    row->projected = false;
    if (options_.for_write && seen_.contains(row->id)) return Work::need_more;
    if (!document_passes(row, false)) return Work::need_more;
    ++stats.returned;
    if (query_.return_key && !plan_.blocking_sort) show_no_key(row);
    return Work::advanced;
}

// Whether a document that a NaN led to has its place in the order of the scan further on: an array
// with NaN in it is sorted by its other elements, if the filter takes one of them in.
bool PlanRun::comes_later(const Branch& branch) {
    const catalog::Index& index = *branch.scan->plan().index;
    if (query_.sort.empty() || plan_.blocking_sort || !index.multikey) return false;
    auto name = index.key_pattern.begin();
    for (const bson::Element& value : branch.scan->key()) {
        const std::string_view field = name->name();
        ++name;
        if (!bson::is_nan(value)) continue;
        key_document_.clear();
        const sched::WorkLimit limit(kSorting);
        query_.sort_pattern->append_key(collection_.records().get(branch.scan->id()),
                                        key_document_);
        auto place = bson::Doc(key_document_.data()).begin();
        for (const bson::Element& sorted : query_.sort) {
            if (sorted.name() == field && !bson::equal_values(*place, value)) return true;
            ++place;
        }
    }
    return false;
}

void PlanRun::show_key(const Branch& branch) {
    covered_.clear();
    bson::Builder b(covered_);
    if (plan_.text) return;  // a document has several keys there
    const catalog::Index& index = *branch.scan->plan().index;
    auto name = index.key_pattern.begin();
    for (const bson::Element& value : catalog::readable_key(branch.scan->key(), *index.generator)) {
        b.append_as(name->name(), value);
        ++name;
    }
}

// Writes the fields in the order of the index. A key does not tell 5 from [5], nor null from a
// missing field: but for an _id, which is no array, the document tells.
void PlanRun::show_covered(const Branch& branch) {
    DCHECK(plan_.covered && query_.projection != nullptr);
    covered_.clear();
    bson::Builder b(covered_);
    bson::Doc doc;
    bool fetched = false;
    auto value = branch.scan->key().begin();
    for (const bson::Element& field : branch.scan->plan().index->key_pattern) {
        const bson::Element key = *value;
        ++value;
        if (!query_.projection->takes(field.name())) continue;
        const bool told = field.name() == "_id" && key.type() != bson::Type::null;
        if (!told && !std::exchange(fetched, true))
            doc = collection_.records().get(branch.scan->id());
        const bson::Element shown = told ? key : doc[field.name()];
        if (shown) b.append_as(field.name(), shown);
    }
}

// Whether another scan has given that record before.
bool PlanRun::drops(storage::RecordId id) {
    if (plan_.scans.size() < 2 || seen_.insert(id)) return false;
    ++dropped_;
    return true;
}

PlanRun::Work PlanRun::produce_from_scan(Branch& branch, Row* row) {
    const int64_t before = branch.scan->examined();
    const bool found = branch.scan->next();
    const bool is_unit = found || branch.scan->end() == IndexScan::End::by_jump;
    passed_keys_ += std::max<int64_t>(branch.scan->examined() - before - (is_unit ? 1 : 0), 0);
    if (!found) return branch.scan->wants_yield() ? Work::need_more : Work::end;
    // The old server counted the key that it stood on already when it gave the one before.
    if (query_.max_scan > 0 && branch.scan->examined() >= query_.max_scan) {
        branch.scan->stop();
        return Work::end;
    }
    row->id = branch.scan->id();
    const bool multikey = branch.scan->plan().index->multikey || options_.for_write;
    if (comes_later(branch)) return Work::need_more;
    if (multikey && plan_.scans.size() == 1 && !seen_.insert(row->id)) {
        // A record that the caller has moved ahead. The old server looked at it.
        if (!branch.scan->plan().index->multikey && key_passes(branch))
            ++branch.stats.docs_examined;
        return Work::need_more;
    }
    if (!key_passes(branch)) return Work::need_more;
    row->projected = false;
    if (query_.return_key) show_key(branch);
    const bool check_all = must_check_all(branch);
    if (plan_.covered) {
        if (check_all) {
            row->doc = collection_.records().get(row->id);
            if (!document_passes(row, true)) return Work::need_more;
        }
        ++branch.stats.returned;
        if (drops(row->id)) return Work::need_more;
        if (!query_.return_key) show_covered(branch);
        row->doc = bson::Doc(covered_.data());
        row->projected = true;
        return Work::advanced;
    }
    if (options_.count_only && !plan_.check_document && !check_all && plan_.scans.size() == 1) {
        ++branch.stats.returned;
        return Work::advanced;
    }
    row->doc = collection_.records().get(row->id);
    ++branch.stats.docs_examined;
    if (!document_passes(row, check_all)) return Work::need_more;
    ++branch.stats.returned;
    if (drops(row->id)) return Work::need_more;
    if (query_.return_key) {
        row->doc = bson::Doc(covered_.data());
        row->projected = true;
    }
    return Work::advanced;
}

PlanRun::Work PlanRun::produce_merged(Row* row) {
    for (Branch& branch : branches_) {
        if (branch.has_row || branch.ended) continue;
        const Work work = produce_from_scan(branch, row);
        if (work == Work::end) {
            branch.ended = true;
        } else if (work == Work::advanced) {
            branch.has_row = true;
            branch.id = row->id;
            branch.sort_key.clear();
            const sched::WorkLimit limit(kSorting);
            query_.sort_pattern->append_key(row->doc, branch.sort_key);
        }
        return Work::need_more;
    }
    Branch* best = nullptr;
    for (Branch& branch : branches_) {
        if (!branch.has_row) continue;
        if (best == nullptr || query_.sort_pattern->compare(bson::Doc(branch.sort_key.data()),
                                                            bson::Doc(best->sort_key.data())) < 0)
            best = &branch;
    }
    if (best == nullptr) return Work::end;
    best->has_row = false;
    row->id = best->id;
    current_branch_ = static_cast<size_t>(best - branches_.data());
    row->doc = collection_.records().get(best->id);
    row->projected = false;
    row->outlives_save = false;
    const bool is_read_again = want_details_ || (detached_ != nullptr && options_.for_write);
    if (is_read_again && !document_passes(row, false)) return Work::need_more;
    return Work::advanced;
}

PlanRun::Work PlanRun::produce_near(Row* row) {
    switch (near_->work(row, options_.for_write ? &seen_ : nullptr)) {
        case NearScan::Work::advanced:
            return Work::advanced;
        case NearScan::Work::need_more:
            return Work::need_more;
        default:
            return Work::end;
    }
}

PlanRun::Work PlanRun::produce(Row* row) {
    if (near_ != nullptr) return produce_near(row);
    if (plan_.scans.empty()) return produce_from_collection(row);
    if (plan_.merge) return produce_merged(row);
    DCHECK(current_branch_ < branches_.size());
    const Work work = produce_from_scan(branches_[current_branch_], row);
    // Behind the last one it stays there: a tailable query asks again.
    if (work != Work::end || current_branch_ + 1 == branches_.size()) return work;
    ++current_branch_;
    return Work::need_more;
}

// The limit of one document's work holds for making its key, not for placing it or writing files.
void PlanRun::add_to_sort(const Row& row) {
    DCHECK(!sorting_done_);
    {
        const sched::WorkLimit limit(kSorting);
        if (query_.sorts_by_score) {
            scored_.clear();
            append_with_score(row.doc, row.details.score, scored_);
            sorter_->make_key(bson::Doc(scored_.data()));
        } else {
            sorter_->make_key(row.doc);
        }
    }
    sorter_->add_by_key(row.doc, row.id.value, row.details);
}

PlanRun::Work PlanRun::produce_sorted(Row* row) {
    if (!sorting_done_) {
        const Work work = produce(row);
        if (work == Work::advanced) {
            add_to_sort(*row);
        } else if (work == Work::end) {
            sorter_->finish();
            sorting_done_ = true;
        }
        return Work::need_more;
    }
    if (!sorter_->next(&row->doc, &row->id.value, &row->details)) {
        if (!must_sort_again()) return Work::end;
        sort_again();
        return Work::need_more;
    }
    if (top_only_) {
        top_.insert(row->id);
    } else if (top_.contains(row->id)) {
        return Work::need_more;
    }
    row->projected = false;
    row->outlives_save = true;
    if (query_.return_key && plan_.scans.empty()) show_no_key(row);
    return Work::advanced;
}

const std::string* PlanRun::disk() const {
    return query_.allow_disk_use ? &options_.scratch_directory : nullptr;
}

bool PlanRun::must_sort_again() const {
    return gives_top_rows() && sorter_->has_left_out();
}

// Everything is read once more and sorted whole, as it is by now.
void PlanRun::sort_again() {
    DCHECK(top_only_ && top_stats_.empty() && !ended_);
    for (size_t i = 0; i < branches_.size(); ++i)
        top_stats_.push_back(final_branch_stats(i));
    top_only_ = false;
    sorting_done_ = false;
    current_branch_ = 0;
    seen_.clear();
    looked_at_.clear();
    dropped_ = 0;
    sorter_ = std::make_unique<DocumentSorter>(*query_.sort_pattern, 0, disk());
    start();
}

PlanRun::Work PlanRun::work(Row* row) {
    DCHECK(!ended_ || query_.tailable);
    ++works_;
    const Work work = plan_.blocking_sort ? produce_sorted(row) : produce(row);
    if (work == Work::advanced) {
        ++advanced_;
        last_row_ = row->id;
    }
    if (work == Work::end) ended_ = true;
    return work;
}

void PlanRun::put_back(Branch& branch, storage::RecordId id) {
    DCHECK(id && branch.stats.returned > 0);
    seen_.erase(id);
    looked_at_.erase(id);
    --branch.stats.returned;
    if (branch.scan == nullptr) {
        records_->seek(id);
        --branch.stats.keys_examined;
        --branch.stats.docs_examined;
        return;
    }
    branch.scan->step_back();
    if (!plan_.covered) --branch.stats.docs_examined;
}

void PlanRun::put_back() {
    DCHECK(advanced_ > 0 && (!ended_ || query_.tailable));
    if (plan_.blocking_sort) {
        sorter_->put_back();
    } else if (near_ != nullptr) {
        near_->put_back();
    } else {
        put_back(branches_[current_branch_], last_row_);
    }
}

void PlanRun::step_ahead() {
    for (Branch& branch : branches_)
        if (branch.scan != nullptr && !branch.has_row) branch.scan->step_ahead();
}

void PlanRun::save() {
    if (detached_ != nullptr) detached_->save();
    if (near_ != nullptr) near_->save();
    if (text_scores_) text_scores_->forget();
    if (ring_start_ != nullptr) ring_start_->save();
    if (records_ != nullptr) records_->save();
    for (Branch& branch : branches_) {
        // A row that waits to be merged is looked up again: it may change while the lock is given
        // up.
        DCHECK(!branch.has_row || plan_.merge);
        if (branch.has_row) put_back(branch, branch.id);
        branch.has_row = false;
        if (branch.scan != nullptr) branch.scan->save();
    }
}

void PlanRun::restore() {
    if (detached_ != nullptr) detached_->restore();
    if (near_ != nullptr) near_->restore();
    if (ring_start_ != nullptr) ring_start_->restore();
    if (records_ != nullptr && !records_->restore()) throw PositionLost();
    for (Branch& branch : branches_)
        if (branch.scan != nullptr) branch.scan->restore();
}

PlanRun::BranchStats PlanRun::branch_stats(size_t i) const {
    DCHECK(i < branches_.size());
    const Branch& branch = branches_[i];
    BranchStats stats = branch.stats;
    if (near_ != nullptr) {
        stats.returned = near_->returned();
        stats.keys_examined = near_->keys_examined();
        stats.docs_examined = near_->docs_examined();
    }
    if (branch.scan != nullptr) {
        stats.keys_examined = branch.scan->examined();
        stats.end = branch.scan->end();
    }
    if (i < top_stats_.size()) {
        stats.returned += top_stats_[i].returned;
        stats.keys_examined += top_stats_[i].keys_examined;
        stats.docs_examined += top_stats_[i].docs_examined;
    }
    return stats;
}

PlanRun::BranchStats PlanRun::final_branch_stats(size_t i) {
    if (branches_[i].scan != nullptr) branches_[i].scan->examine_ahead();
    return branch_stats(i);
}

}  // namespace query

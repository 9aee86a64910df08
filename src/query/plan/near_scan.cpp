#include "query/plan/near_scan.h"

#include <algorithm>

#include "base/dcheck.h"
#include "query/match/path.h"
#include "query/plan/place_bounds.h"
#include "sched/tick.h"
#include "sched/work_limit.h"

namespace query {

namespace {

// Documents of a ring before it is begun again as a narrower one: several times those that are
// wanted, and as many as were given, so that rings far out are not many and thin.
constexpr int64_t kManyInRingMin = 256;
constexpr int64_t kManyInRingMax = 32768;
constexpr int64_t kManyForOneWanted = 4;
constexpr double kNarrower = 0.25;
constexpr int64_t kFlatDefault = 100;  // as many as old servers gave where no number was given

}  // namespace

NearScan::NearScan(catalog::Collection& collection, const FindQuery& query, const Plan& plan,
                   DetachedMatch* detached)
    : collection_(collection),
      query_(query),
      plan_(plan),
      detached_(detached),
      near_(*plan.near->near),
      path_(plan.near->path, SIZE_MAX),
      flat_(plan.scans.front().index->generator->geo() == geo::IndexKind::flat),
      end_(std::min(near_.most(), farthest(near_, *plan.scans.front().index))) {
    want_details_ =
        query.want_details || (query.projection != nullptr && query.projection->needs_details());
    if (flat_ && !query.near_all && near_.rules() == geo::Rules::old)
        wanted_ = query.limit != 0 ? query.sorted_rows() : kFlatDefault;
    likely_ = query.limit != 0 ? query.sorted_rows() : kFlatDefault;
    inner_ = flat_ ? 0 : std::min(near_.least(), end_);
    begin_ring(inner_ + likely_reach(near_, *plan.scans.front().index, likely_,
                                     collection.records().count()));
}

void NearScan::begin_ring(double outer) {
    outer_ = std::min(outer, end_);
    arena_ = std::make_unique<ValueArena>();
    scan_plan_ = plan_.scans.front();
    // The first ring is mostly the last one, and where fields stand before the place a look is
    // not one key.
    HasKeys asked;
    if (scan_ != nullptr && plan_.near_field == 0)
        asked = [this](const IntervalList& intervals) { return has_keys(intervals); };
    scan_plan_.bounds[plan_.near_field] =
        ring_bounds(near_, *scan_plan_.index, inner_, outer_, asked, *arena_);
    if (scan_ != nullptr) earlier_keys_ += scan_->examined();
    scan_ = std::make_unique<IndexScan>(scan_plan_);
    scan_->let_yield();
    found_.clear();
    refused_.clear();
    met_.clear();
    next_ = next_refused_ = 0;
    ring_done_ = was_saved_ = false;
}

size_t NearScan::many_in_ring() const {
    const int64_t wanted =
        std::min(likely_, kManyInRingMax / kManyForOneWanted) * kManyForOneWanted;
    return static_cast<size_t>(
        std::clamp(std::max(wanted, given_), kManyInRingMin, kManyInRingMax));
}

bool NearScan::has_keys(const IntervalList& intervals) {
    if (probe_.index == nullptr) probe_ = whole_index(*scan_plan_.index, false);
    probe_.bounds[0] = intervals;
    IndexScan scan(probe_);
    const bool found = scan.next();
    earlier_keys_ += scan.examined();
    return found;
}

void NearScan::begin_next_ring() {
    const double width = outer_ - inner_;
    const bool had_few = found_.size() + refused_.size() < many_in_ring() / 8;
    inner_ = outer_;
    begin_ring(inner_ + width * (had_few ? 2 : 1));
}

std::optional<double> NearScan::distance_of(bson::Doc doc) const {
    std::optional<double> least;
    visit_values(path_, doc, LeafArrays::keep, [&](const PathValue& value) {
        const auto found = near_.nearest(value.value, flat_);
        if (found && (!least || found->distance < *least)) least = found->distance;
        return false;
    });
    return least;
}

void NearScan::look_at(storage::RecordId id) {
    bson::Doc doc = collection_.records().get(id);
    std::optional<double> distance;
    {
        const sched::WorkLimit limit(kMatchWork);
        distance = distance_of(doc);
    }
    const bool is_last = outer_ >= end_;
    if (!distance || *distance < inner_ || (*distance >= outer_ && !is_last)) return;
    if (matches(id, &doc, nullptr))
        found_.push_back({*distance, id});
    else
        refused_.push_back(*distance);
}

bool NearScan::matches(storage::RecordId id, bson::Doc* doc, MatchDetails* details) {
    if (detached_ != nullptr) return detached_->passes(id, doc, details);
    const sched::WorkLimit limit(kMatchWork);
    return query_.matcher->matches(*doc, details);
}

// The old server counted those that it had passed on the way.
void NearScan::pass_over(double distance) {
    while (next_refused_ < refused_.size() && refused_[next_refused_] <= distance) {
        ++next_refused_;
        ++passed_;
    }
}

bool NearScan::gives(const Found& found, Row* row) {
    pass_over(found.distance);
    ++passed_;
    if (!was_saved_) {
        row->doc = collection_.records().get(found.id);
    } else {
        // Others may have changed it, or it is another one.
        const storage::HeldCursor cursor =
            collection_.records().cursor(storage::Direction::forward);
        cursor->seek(found.id);
        const auto record = cursor->next();
        if (!record || record->id != found.id) return false;
        row->doc = collection_.records().get(found.id);
        const auto distance = distance_of(row->doc);
        if (!distance || *distance < inner_ || *distance > outer_) return false;
    }
    row->id = found.id;
    row->projected = false;
    row->details = MatchDetails{};
    row->details.want_index = want_details_;
    row->outlives_save = false;
    if (was_saved_ || want_details_) {
        row->outlives_save = detached_ != nullptr;
        if (!matches(found.id, &row->doc, &row->details)) return false;
    }
    given_distance_ = found.distance;
    ++given_;
    return true;
}

NearScan::Work NearScan::work(Row* row, storage::RecordIdSet* skipped) {
    if (wanted_ != 0 && given_ >= wanted_) return Work::end;
    if (ring_done_) {
        if (next_ < found_.size()) {
            const Found found = found_[next_++];
            if (skipped != nullptr && skipped->contains(found.id)) return Work::need_more;
            return gives(found, row) ? Work::advanced : Work::need_more;
        }
        pass_over(outer_);
        passed_ += static_cast<int64_t>(refused_.size() - next_refused_);
        next_refused_ = refused_.size();
        if (outer_ >= end_) return Work::end;
        begin_next_ring();
        return Work::need_more;
    }
    if (!scan_->next()) {
        if (scan_->wants_yield()) return Work::need_more;
        std::ranges::sort(found_, sched::ticking([](const Found& a, const Found& b) {
                              return a.distance != b.distance ? a.distance < b.distance
                                                              : a.id < b.id;
                          }));
        std::ranges::sort(refused_);
        ring_done_ = true;
        return Work::need_more;
    }
    if (met_.insert(scan_->id())) look_at(scan_->id());
    const double narrower = inner_ + (outer_ - inner_) * kNarrower;
    if (found_.size() + refused_.size() > many_in_ring() && narrower > inner_ &&
        narrower < outer_ && outer_ - inner_ > end_ * 1e-9)
        begin_ring(narrower);
    return Work::need_more;
}

void NearScan::put_back() {
    DCHECK(given_ > 0 && next_ > 0);
    --next_;
    --given_;
    --passed_;
}

void NearScan::save() {
    if (!ring_done_) scan_->save();
    was_saved_ = true;
}

void NearScan::restore() {
    if (!ring_done_) scan_->restore();
}

int64_t NearScan::keys_examined() const {
    return earlier_keys_ + scan_->examined();
}

}  // namespace query

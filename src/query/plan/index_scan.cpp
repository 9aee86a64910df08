#include "query/plan/index_scan.h"

#include <algorithm>

#include "base/dcheck.h"
#include "bson/compare.h"
#include "sched/tick.h"

namespace query {

namespace {

using bson::compare_values;
using bson::Element;

// The place of a value in a list of intervals that run in scan order.
struct IntervalPosition {
    bool inside = false;
    size_t interval =
        0;  // inside: which; else the next one ahead, or the list's size when past all
};

IntervalPosition locate(const IntervalList& list, const Element& value, int direction) {
    // Few intervals are the rule; many ($in) pay for the search by halves.
    size_t low = 0;
    size_t high = list.size();
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const Interval& interval = list[middle];
        const int c = compare_values(value, interval.high) * direction;
        if (c > 0 || (c == 0 && !interval.high_inclusive)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == list.size()) return {false, low};
    const int c = compare_values(value, list[low].low) * direction;
    return {c > 0 || (c == 0 && list[low].low_inclusive), low};
}

// Large numbers as doubles: beyond 2^53, too, this never leads in a circle, as the order of keys
// may (bson/compare.h).
int compare_as_doubles(const Element& a, const Element& b) {
    const bool large = is_beyond_doubles(a) || is_beyond_doubles(b);
    if (!large || !a.is_number() || !b.is_number()) return compare_values(a, b);
    const double da = a.to_double();
    const double db = b.to_double();
    return da < db ? -1 : (da > db ? 1 : 0);
}

// The bounds, or a wider copy in `wider`, whose made-up ends are in `arena`.
const IndexBounds& scanned_bounds(const IndexBounds& bounds, uint32_t descending,
                                  IndexBounds& wider, ValueArena& arena) {
    if (std::ranges::none_of(bounds, has_long_end)) return bounds;
    wider = bounds;
    for (IntervalList& list : wider) {
        round_long_ends(list, (descending & 1) != 0 ? -1 : 1, arena);
        descending >>= 1;
    }
    return wider;
}

}  // namespace

IndexScan::IndexScan(const ScanPlan& plan)
    : plan_(plan),
      descending_(plan.backward ? ~plan.index->generator->descending_bits()
                                : plan.index->generator->descending_bits()),
      bounds_(scanned_bounds(plan.bounds, descending_, wider_bounds_, arena_)),
      cursor_(plan.index->store->cursor(plan.backward ? storage::Direction::backward
                                                      : storage::Direction::forward)) {
    DCHECK(bounds_.size() == (plan.by_range ? 0 : plan.index->generator->fields().size()));
    size_t i = 0;
    while (i < bounds_.size() && bounds_[i].size() == 1 && bounds_[i][0].is_point() &&
           !bson::is_large_number(bounds_[i][0].low))
        ++i;
    if (i < bounds_.size() && bounds_[i].size() == 1) ++i;
    simple_ = true;
    for (size_t field = 0; field < bounds_.size(); ++field)
        DCHECK(are_in_order(bounds_[field], direction(field)));
    for (; i < bounds_.size(); ++i) {
        const IntervalList& list = bounds_[i];
        Interval whole = list.empty() ? Interval{} : list[0];
        if (descending_ >> i & 1) std::swap(whole.low, whole.high);
        if (list.size() != 1 || !whole.is_all()) simple_ = false;
    }
}

void IndexScan::seek_first() {
    if (plan_.by_range) {
        ++examined_;
        const bson::Object& from = plan_.backward ? plan_.range_max : plan_.range_min;
        if (from.empty()) {
            cursor_->seek_to_start();
        } else {
            cursor_->seek(from, plan_.backward);
        }
        return;
    }
    seek_to(bson::Doc(), 0, 0);
}

void IndexScan::seek_to(bson::Doc key, size_t prefix, size_t interval) {
    DCHECK(prefix < bounds_.size() && interval <= bounds_[prefix].size());
    seek_key_.clear();
    bson::Builder b(seek_key_);
    auto it = key.begin();
    for (size_t i = 0; i < prefix; ++i, ++it) {
        if (bson::is_large_number(*it)) {
            cursor_->next();
            return;
        }
        b.append_as("", *it);
    }
    bool past = false;
    if (interval == bounds_[prefix].size()) {
        past = true;  // nothing more below this prefix
    } else {
        for (size_t i = prefix; i < bounds_.size() && !past; ++i) {
            const Interval& from = bounds_[i][i == prefix ? interval : 0];
            b.append_as("", from.low);
            past = !from.low_inclusive;
            if (bson::is_large_number(from.low)) break;
        }
    }
    const bson::Doc target = b.doc();
    if (!last_target_.empty() && !beyond_last_target(target, past)) {
        cursor_->next();
        return;
    }
    last_target_.assign(target.data(), target.data() + target.size());
    last_target_past_ = past;
    cursor_->seek(target, past);
}

bool IndexScan::beyond_last_target(bson::Doc target, bool past) const {
    const bson::Doc last(last_target_.data());
    auto a = target.begin();
    auto b = last.begin();
    for (size_t i = 0; a != target.end() && b != last.end(); ++i, ++a, ++b) {
        const int c = compare_as_doubles(*a, *b) * direction(i);
        if (c != 0) return c > 0;
    }
    // If two keys begin alike, the one that leaves out more is further on.
    if (b != last.end()) return past;
    return a == target.end() && past && !last_target_past_;
}

IndexScan::Verdict IndexScan::check(bson::Doc key) {
    auto it = key.begin();
    for (size_t i = 0; i < bounds_.size(); ++i, ++it) {
        const IntervalPosition place = locate(bounds_[i], *it, direction(i));
        if (place.inside) continue;
        if (place.interval == bounds_[i].size() && i == 0) return Verdict::past_end;
        return jump(key, i, place.interval);
    }
    return Verdict::inside;
}

// Jumps to interval `interval` of field `field`, or behind all keys that share the fields before
// it. In the second case fields that stand at the very end of their bounds cannot grow either.
IndexScan::Verdict IndexScan::jump(bson::Doc key, size_t field, size_t interval) {
    DCHECK(field < bounds_.size() && interval <= bounds_[field].size());
    if (interval == bounds_[field].size()) {
        for (;; --field) {
            if (field == 0) return Verdict::past_end;
            auto it = key.begin();
            for (size_t i = 0; i + 1 < field; ++i)
                ++it;
            if (bson::is_large_number(*it)) break;
            if (compare_values(*it, bounds_[field - 1].back().high) != 0) break;
        }
        interval = bounds_[field].size();
    }
    ++examined_;
    seek_to(key, field, interval);
    return Verdict::jump;
}

bool IndexScan::check_range(bson::Doc key) const {
    const bson::Object& to = plan_.backward ? plan_.range_min : plan_.range_max;
    if (to.empty()) return true;
    const int order = bson::compare_keys(key, to, plan_.index->generator->descending_bits());
    return plan_.backward ? order >= 0 : order < 0;
}

bool IndexScan::settle() {
    end_ = End::at_index;
    while (!cursor_->at_end()) {
        const bson::Doc key = cursor_->key();
        if (plan_.by_range) {
            if (!check_range(key)) {
                end_ = End::at_key;
                break;
            }
            ++examined_;
            return true;
        }
        const int64_t before = examined_;
        const Verdict verdict = check(key);
        if (verdict == Verdict::inside) {
            ++examined_;
            return true;
        }
        // A simple range ends at its first key outside, which does not count.
        if (verdict == Verdict::past_end || simple_) {
            examined_ = before;
            end_ = End::at_key;
            break;
        }
        end_ = End::by_jump;
        sched::tick();
        if (may_yield_ && sched::slice_over() && !cursor_->at_end()) {
            wants_yield_ = true;
            return false;
        }
    }
    done_ = true;
    return false;
}

bool IndexScan::next() {
    if (done_) return false;
    if (wants_yield_) {
        wants_yield_ = restored_on_next_ = false;
        return settle();
    }
    if (!started_) {
        started_ = true;
        for (const IntervalList& list : bounds_) {
            if (list.empty()) {
                done_ = true;
                return false;
            }
        }
        seek_first();
    } else if (restored_on_next_) {
        restored_on_next_ = false;
    } else {
        cursor_->next();
    }
    return settle();
}

bool IndexScan::next_value() {
    DCHECK(started_ && !done_ && !wants_yield_);
    if (restored_on_next_) return next();
    const Element value = cursor_->key().first();
    if (bson::is_large_number(value)) {
        cursor_->next();
    } else {
        bson::Builder reached;
        reached.append_as("", value);
        cursor_->seek(reached.doc(), true);
    }
    return settle();
}

void IndexScan::step_back() {
    DCHECK(started_ && !done_ && !wants_yield_ && !restored_on_next_);
    DCHECK(examined_ > 0);
    restored_on_next_ = true;
    --examined_;
}

void IndexScan::step_ahead() {
    if (!started_ || done_ || wants_yield_ || restored_on_next_ || cursor_->at_end()) return;
    cursor_->next();
    restored_on_next_ = true;
}

void IndexScan::examine_ahead() {
    if (!started_ || done_) return;
    while (!next() && wants_yield_) {
    }
}

void IndexScan::save() {
    if (started_ && !done_) cursor_->save();
}

void IndexScan::restore() {
    if (!started_ || done_) return;
    if (!cursor_->restore()) restored_on_next_ = true;
}

}  // namespace query

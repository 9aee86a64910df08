#include "catalog/ring_marks.h"

#include <algorithm>

namespace catalog {

std::optional<uint64_t> RingMarks::ts_of(bson::Doc doc) {
    const bson::Element ts = doc["ts"];
    if (ts.missing() || ts.type() != bson::Type::timestamp) return std::nullopt;
    return ts.as_timestamp();
}

RingMarks::Start RingMarks::find(uint64_t wanted) {
    const std::lock_guard guard(mutex_);
    wanted_.store(true, std::memory_order_relaxed);
    if (!ordered_) return {};
    const auto behind = std::ranges::lower_bound(marks_, wanted, {}, &Mark::ts);
    if (behind != marks_.begin()) return {Start::From::mark, std::prev(behind)->id};
    if (all_walked_) return {};
    return {Start::From::walk, marks_.empty() ? storage::RecordId() : marks_.front().id};
}

// Several readers may walk at the same time: what another one has marked already is left out.
void RingMarks::add_older(uint64_t ts, storage::RecordId id) {
    const std::lock_guard guard(mutex_);
    if (!marks_.empty() && ts >= marks_.front().ts) return;
    if (marks_.empty()) newest_ts_ = std::max(newest_ts_, ts);
    marks_.push_front({ts, id});
}

void RingMarks::note_all_walked() {
    const std::lock_guard guard(mutex_);
    all_walked_ = true;
}

void RingMarks::note_disorder() {
    const std::lock_guard guard(mutex_);
    ordered_ = false;
    marks_.clear();
}

void RingMarks::inserted(const storage::Record& record) {
    if (!wanted_.load(std::memory_order_relaxed)) return;
    const std::lock_guard guard(mutex_);
    if (!ordered_) return;
    const std::optional<uint64_t> ts = ts_of(record.doc);
    if (!ts || *ts < newest_ts_) {
        ordered_ = false;
        marks_.clear();
        return;
    }
    newest_ts_ = *ts;
    bytes_since_ += record.doc.size();
    if (!marks_.empty() && bytes_since_ < kBytesApart) return;
    marks_.push_back({*ts, record.id});
    bytes_since_ = 0;
}

void RingMarks::removed(const storage::Record& record) {
    const std::lock_guard guard(mutex_);
    if (marks_.empty()) return;
    const std::optional<uint64_t> ts = ts_of(record.doc);
    if (!ts || *ts < marks_.front().ts) return;
    // The end goes, and what comes next may be older than it.
    if (*ts == newest_ts_) return forget_marks();
    for (auto at = std::ranges::lower_bound(marks_, *ts, {}, &Mark::ts);
         at != marks_.end() && at->ts == *ts; ++at) {
        if (at->id != record.id) continue;
        marks_.erase(at);
        return;
    }
}

void RingMarks::forget() {
    const std::lock_guard guard(mutex_);
    forget_marks();
}

void RingMarks::forget_marks() {
    marks_.clear();
    newest_ts_ = 0;
    bytes_since_ = 0;
    all_walked_ = false;
}

}  // namespace catalog

#include "query/plan/ring_start.h"

#include <algorithm>

#include "base/dcheck.h"
#include "catalog/names.h"

namespace query {

namespace {

// The latest lower end that a filter has for `ts`. An $and at the top is the top.
std::optional<uint64_t> lower_end(bson::Doc filter) {
    std::optional<uint64_t> lower;
    const auto note = [&lower](const bson::Element& e) {
        if (e.type() == bson::Type::timestamp)
            lower = std::max(lower.value_or(0), e.as_timestamp());
    };
    for (const bson::Element& e : filter) {
        if (e.name() == "ts" && e.is_object()) {
            for (const bson::Element& condition : e.as_doc())
                if (condition.name() == "$gte" || condition.name() == "$gt" ||
                    condition.name() == "$eq")
                    note(condition);
        } else if (e.name() == "ts") {
            note(e);
        } else if (e.name() == "$and" && e.is_array()) {
            for (const bson::Element& part : e.as_doc()) {
                if (!part.is_object()) continue;
                if (const auto end = lower_end(part.as_doc()))
                    lower = std::max(lower.value_or(0), *end);
            }
        }
    }
    return lower;
}

}  // namespace

std::optional<uint64_t> first_ts_wanted(const catalog::Collection& collection,
                                        const FindQuery& query) {
    if (!collection.capped()) return std::nullopt;
    if (!query.oplog_replay && !catalog::is_oplog(collection.ns())) return std::nullopt;
    if (query.max_scan > 0) return std::nullopt;  // counts from the oldest document on
    return lower_end(query.matcher->filter());
}

RingStart::RingStart(catalog::Collection& collection, uint64_t wanted)
    : collection_(collection), wanted_(wanted) {
    look();
}

void RingStart::look() {
    using From = catalog::RingMarks::Start::From;
    const catalog::RingMarks::Start place = collection_.marks().find(wanted_);
    if (place.from != From::walk) return scan_from(place.id);
    if (walk_ != nullptr) return;
    walk_ = collection_.records().cursor(storage::Direction::backward);
    if (place.id) walk_->seek(place.id);
}

// Null: the oldest document.
void RingStart::scan_from(storage::RecordId id) {
    walk_.reset();
    scan_ = collection_.records().cursor(storage::Direction::forward);
    if (id) scan_->seek(id);
}

void RingStart::step() {
    DCHECK(walk_ != nullptr);
    catalog::RingMarks& marks = collection_.marks();
    const auto record = walk_->next();
    if (!record) {
        marks.note_all_walked();
        return scan_from({});
    }
    const std::optional<uint64_t> ts = catalog::RingMarks::ts_of(record->doc);
    if (!ts || (last_ts_ && *ts > *last_ts_)) {
        marks.note_disorder();
        return scan_from({});
    }
    const bool first = !last_ts_;
    last_ts_ = ts;
    bytes_ += record->doc.size();
    if (first || bytes_ >= catalog::RingMarks::kBytesApart) {
        marks.add_older(*ts, record->id);
        bytes_ = 0;
    }
    if (*ts < wanted_) return scan_from(record->id);
    if (bytes_ == 0) look();  // another reader may have come further
}

void RingStart::save() {
    if (walk_ != nullptr) walk_->save();
    if (scan_ != nullptr) scan_->save();
}

void RingStart::restore() {
    // The ring has overtaken the walk: all that is left is newer than what the walk has seen.
    if (walk_ != nullptr && !walk_->restore()) scan_from({});
    if (scan_ != nullptr && !scan_->restore()) scan_from({});
}

}  // namespace query

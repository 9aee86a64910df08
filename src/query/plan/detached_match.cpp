#include "query/plan/detached_match.h"

#include <algorithm>
#include <utility>

#include "sched/work_limit.h"

namespace query {

namespace {
// A document that others change each time is matched without the lock so often. Then the lock is
// kept, and the script has a limit.
constexpr int kTries = 3;
}  // namespace

bool DetachedMatch::passes(storage::RecordId id, bson::Doc* doc, MatchDetails* details) {
    DCHECK(matched_.is_null() && !id.is_null());
    const MatchDetails before = details == nullptr ? MatchDetails() : *details;
    const struct AtEnd {  // of an error as well
        ~AtEnd() {
            match.matched_ = storage::RecordId();
            match.record_ = nullptr;
        }
        DetachedMatch& match;
    } at_end{*this};
    matched_ = id;
    for (int tries = 0;; ++tries) {
        copy_.clear();
        copy_.append(doc->data(), static_cast<size_t>(doc->size()));
        *doc = bson::Doc(copy_.data());
        bool passes = false;
        const auto match = [&] {
            if (details != nullptr) *details = before;
            passes = matcher_.matches(*doc, details);
        };
        if (tries == kTries) {
            const sched::WorkLimit limit(kMatchWork);
            match();
            return passes;
        }
        if (!detaching_.detached(match)) return passes;
        bson::Doc now;
        if (!look(id, &now)) return false;
        if (std::ranges::equal(now.bytes(), doc->bytes())) return passes;
        *doc = now;
    }
}

void DetachedMatch::save() {
    if (matched_.is_null()) return;
    record_ = collection_.records().cursor(storage::Direction::forward);
    record_->seek(matched_);
    record_->save();
}

void DetachedMatch::restore() {
    if (record_ != nullptr && !record_->restore()) throw PositionLost();
}

bool DetachedMatch::look(storage::RecordId id, bson::Doc* doc) {
    DCHECK(record_ != nullptr);
    const std::optional<storage::Record> record = record_->next();
    if (!record || record->id != id) return false;
    *doc = collection_.records().get(id);
    return true;
}

}  // namespace query

#include "query/plan/text_scores.h"

#include <algorithm>

namespace query {

namespace {

// Collecting is one unit of work: some milliseconds.
constexpr size_t kKeysMax = 50'000;
constexpr int kCollectionsMax = 8;

double score_in(bson::Doc key, size_t field) {
    auto value = key.begin();
    for (size_t i = 0; i < field; ++i)
        ++value;
    return value->to_double();
}

}  // namespace

TextScores::TextScores(const Plan& plan, const TextClause& clause) : plan_(plan) {
    const text::Search* const search = clause.search();
    const auto is_of_a_term = [](const ScanPlan& scan) {
        return !scan.key_filter.empty() && scan.key_filter.front().node->kind == MatchKind::text;
    };
    field_ = search->spec().prefix.size() + 1;
    is_sum_ = plan.scans.size() > 1;
    // With a list in a field behind the text a term has several keys.
    keys_decide_ = search->only_words() && std::ranges::all_of(plan.scans, is_of_a_term) &&
                   (!is_sum_ || search->spec().suffix.empty());
}

void TextScores::collect() {
    size_t keys = 0;
    for (const ScanPlan& plan : plan_.scans) {
        IndexScan scan(plan);
        while (scan.next()) {
            if (++keys > kKeysMax) {
                keys_decide_ = false;
                sums_.clear();
                return;
            }
            sums_[scan.id().value] += score_in(scan.key(), field_);
        }
    }
    collected_ = true;
}

std::optional<double> TextScores::at(IndexScan& scan) {
    if (!keys_decide_) return std::nullopt;
    if (!is_sum_) return score_in(scan.key(), field_);
    if (!collected_) {
        keys_decide_ = ++collections_ <= kCollectionsMax;
        if (keys_decide_) collect();
        if (!keys_decide_) return std::nullopt;
    }
    const auto found = sums_.find(scan.id().value);
    return found == sums_.end() ? std::nullopt : std::optional(found->second);
}

void TextScores::forget() {
    collected_ = false;
    sums_.clear();
}

}  // namespace query

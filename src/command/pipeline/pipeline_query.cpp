#include "command/pipeline/pipeline_query.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/cursor/query_cursors.h"
#include "query/match/text_clause.h"
#include "query/stage/geo_near_stage.h"
#include "sched/tick.h"

namespace command {

namespace {

// The bytes and the ticks that are read under one lock.
constexpr size_t kBatchBytes = 256 * 1024;
constexpr int64_t kBatchTicks = 100'000;

// Whether a filter has its $text in an $or.
bool has_text_in_or(bson::Doc filter) {
    for (const bson::Element& e : sched::ticked(filter)) {
        if (!e.is_array() || (e.name() != "$and" && e.name() != "$or")) continue;
        for (const bson::Element& clause : sched::ticked(e.as_doc())) {
            if (!clause.is_object()) continue;
            if (e.name() == "$or" ? query::asks_for_text(clause.as_doc())
                                  : has_text_in_or(clause.as_doc()))
                return true;
        }
    }
    return false;
}

}  // namespace

PipelineQuery::PipelineQuery(query::Pipeline& stages, const bson::Element& hint)
    : stages_(stages),
      near_(stages.leading_near()),
      match_(near_ == nullptr ? stages.leading_match() : near_->filter()),
      sort_(stages.leading_sort()) {
    query::FindQuery::Parts parts;
    parts.filter = match_;
    parts.expressions = stages.expressions();
    parts.hint = hint;
    parts.sort = sort_;
    find_.collator = stages.collator();
    find_.canonicalise(parts);
    if (near_ != nullptr) find_.limit = near_->limit();
}

void PipelineQuery::plan(CollectionLock& lock) {
    DCHECK(executor_ == nullptr);
    query::ExecutorOptions options = execution_options();
    options.avoid_sorting = true;
    if (near_ != nullptr) return plan_near(lock, options);
    if (find_.matcher->text() != nullptr && has_text_in_or(match_) &&
        lock.collection() != nullptr &&
        std::ranges::any_of(lock.collection()->indexes(), [](const auto& index) {
            return index->generator != nullptr && index->generator->text() != nullptr;
        }))
        base::fail(17285, "$text is not allowed inside of an $or in $match");
    auto sort_pattern = find_.sort_pattern;
    executor_ = query::make_executor(lock.collection(), std::move(find_), options, &lock);
    if (!executor_->query().sort.empty()) {
        stages_.drop_leading_sort();
    } else {
        sort_ = {};
        if (sort_pattern != nullptr) stages_.order_leading_sort(std::move(sort_pattern));
    }
    if (!match_.empty()) stages_.drop_leading_match();
    if (stages_.leading_match().empty() && stages_.leading_sort().empty())
        limit_ = stages_.leading_limit();
}

void PipelineQuery::plan_near(CollectionLock& lock, const query::ExecutorOptions& options) {
    all_read_ = near_->gives_none();
    if (lock.collection() != nullptr) near_->choose(*lock.collection(), find_);
    executor_ = query::make_executor(lock.collection(), std::move(find_), options, &lock);
}

void PipelineQuery::fill(query::DocumentBatch& batch) {
    DCHECK(executor_ != nullptr);
    if (std::exchange(saved_, false)) executor_->restore();
    const int64_t until = sched::ticks() + kBatchTicks;
    query::Row row;
    while (batch.bytes() < kBatchBytes && sched::ticks() < until && !all_read_) {
        all_read_ = !executor_->next(&row);
        if (all_read_) break;
        if (near_ != nullptr) {
            with_distance_.clear();
            near_->write(row.doc, executor_->distance(), with_distance_);
            batch.add(bson::Doc(with_distance_.data()));
        } else if (stages_.has_scores()) {
            scored_.clear();
            query::append_with_score(row.doc, row.details.score, scored_);
            batch.add(bson::Doc(scored_.data()));
        } else {
            batch.add(row.doc);
        }
        all_read_ = ++read_ == limit_;
    }
    DCHECK(limit_ == 0 || read_ <= limit_);
}

void PipelineQuery::save() {
    if (executor_ != nullptr && !std::exchange(saved_, true)) executor_->save();
}

}  // namespace command

// query/plan/text_scores.h - what documents score for $text, by the keys of their terms.
//
// A key has what its term counts in its document. Where words alone decide, a search of one word
// takes that, and one of several words their sum, which it collects before the first document: so
// no text is cut into words again. Valid while nothing can be written; after each yield the sums
// are collected anew, a few times.
#pragma once

#include <cstdint>
#include <optional>

#include "query/match/text_clause.h"
#include "query/plan/index_scan.h"
#include "query/plan/plan.h"
#include "sched/counted.h"

namespace query {

class TextScores {
  public:
    // `plan`: of $text; it must outlive this.
    TextScores(const Plan& plan, const TextClause& clause);

    // The score of the document that the key under `scan` leads to; nothing: its texts tell.
    std::optional<double> at(IndexScan& scan);
    // Others may write now.
    void forget();

  private:
    void collect();

    const Plan& plan_;
    size_t field_ = 0;          // of the score in a key
    bool keys_decide_ = false;  // where all scans are of terms
    bool is_sum_ = false;       // of several terms
    bool collected_ = false;
    int collections_ = 0;
    sched::UnorderedMap<uint64_t, double> sums_;  // by record
};

}  // namespace query

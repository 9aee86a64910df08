// text/term_scores.h - what a few terms count in one document after the other, as scores_of() says
// it of all.
//
// Nearly all of the time of a search goes into the stems of words that it does not look for, so
// the words that were met are remembered, with the term that they are.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bson/view.h"
#include "sched/counted.h"
#include "text/spec.h"
#include "text/terms.h"
#include "text/tokens.h"

namespace text {

class TermScores {
  public:
    // `terms`: as keys have them; one that stands there twice counts once for each.
    TermScores(std::shared_ptr<const Spec> spec, const Folding& folding,
               const std::vector<std::string>& terms);

    void read(bson::Doc doc);
    // Of a term of the document that was read last; 0: it is not there.
    double of(const std::string& term) const { return scores_[number_of(term)]; }

  private:
    struct HashOfText {
        using is_transparent = void;
        size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>()(text);
        }
    };
    using Words = std::unordered_map<std::string, int, HashOfText, std::equal_to<>,
                                     sched::CountingAllocator<std::pair<const std::string, int>>>;
    struct Occurrences {
        int n = 0;
        double weight = 0;
        double next = 1;
    };

    // Returns the place in terms_; its size: it is none of them.
    size_t number_of(std::string_view term) const;
    void read_part(const Part& part);
    // Returns the number of the term of a word; kStopWord.
    int look_up(std::string_view word, Language& language);
    Words& words_of(const Language& language);

    const std::shared_ptr<const Spec> spec_;
    const Folding folding_;
    std::vector<std::string> terms_;  // in order, each once
    std::vector<double> scores_;      // and one, of no term, that stays 0
    std::vector<Occurrences> occurrences_;
    // By the language's name: a Language is its thread's.
    std::vector<std::pair<std::string, Words>> words_;
};

}  // namespace text

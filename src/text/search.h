// text/search.h - a search as a client writes it, and whether a document is what it looks for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bson/view.h"
#include "text/spec.h"
#include "text/term_scores.h"
#include "text/tokens.h"

namespace text {

// What $text asks for.
struct Request {
    std::string search;
    std::string language;  // of its words; empty: that of the index
    Folding folding;       // stricter than the index: looked at in the documents
};

// A search through one index.
class Search {
  public:
    // Words, "phrases" and -negations of both; the words of a phrase are looked for as words too.
    Search(std::shared_ptr<const Spec> spec, const Request& request);

    const Spec& spec() const { return *spec_; }
    // The terms as keys have them, as often as they are written: each has to be looked up.
    const std::vector<std::string>& terms() const { return terms_; }
    // Whether one of the terms is all that it takes: no phrase, nothing negated, and letters as the
    // index has them. What keys say of the terms is then the score.
    bool only_words() const {
        return phrases_.empty() && negated_phrases_.empty() && negated_terms_.empty() &&
               !strict_scores_;
    }
    // Whether the document has one of the terms, each phrase in one of its texts, and nothing that
    // is negated. `score`: the sum over the terms of what each counts.
    bool matches(bson::Doc doc, double* score);

  private:
    void read(const Request& request);
    void add_word(std::string_view word, bool negated, Language& language);
    bool has_phrases(bson::Doc doc) const;
    std::string folded(std::string_view text) const;

    const std::shared_ptr<const Spec> spec_;
    const Folding folding_;
    std::vector<std::string> terms_;
    std::vector<std::string> strict_terms_;  // by folding_, where the index is less strict
    std::vector<std::string> negated_terms_;
    std::vector<std::string> phrases_, negated_phrases_;
    std::optional<TermScores> scores_;         // of terms_, and of the negated
    std::optional<TermScores> strict_scores_;  // of these, where folding_ is stricter
};

}  // namespace text

// text/search.h - a search as a client writes it, and whether a document is what it looks for.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bson/view.h"
#include "text/spec.h"
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
    // Whether the document has one of the terms, each phrase in one of its texts, and nothing that
    // is negated. `score`: the sum over the terms of what each counts.
    bool matches(bson::Doc doc, double* score) const;

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
};

}  // namespace text

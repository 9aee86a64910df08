// query/match/text_clause.h - $text: what it asks for, and, once a plan has found the index that it
// goes through, whether a document is what it looks for.
#pragma once

#include <memory>
#include <optional>

#include "bson/view.h"
#include "dialect/dialect.h"
#include "query/match/match_expression.h"
#include "text/search.h"

namespace query {

class TextClause : public MatchExpression {
  public:
    // Throws base::Error 2 for bad operands, 9 and 14 by clients of today, who may also give
    // $caseSensitive and $diacriticSensitive.
    TextClause(const bson::Element& operand, dialect::Dialect dialect);

    const text::Request& request() const { return request_; }
    // The search through the index that the plan has chosen. Until then nothing matches.
    void bind(std::shared_ptr<text::Search> search) const { search_ = std::move(search); }
    const text::Search* search() const { return search_.get(); }

    bool matches(bson::Doc doc, double* score) const {
        if (known_) {
            *score = *known_;
            return true;
        }
        return search_ != nullptr && search_->matches(doc, score);
    }
    // While it is in scope every document matches, with this score, where there is one.
    class Known {
      public:
        Known(const TextClause& clause, std::optional<double> score) : clause_(clause) {
            clause_.known_ = score;
        }
        ~Known() { clause_.known_.reset(); }
        Known(const Known&) = delete;
        Known& operator=(const Known&) = delete;

      private:
        const TextClause& clause_;
    };
    bool matches(bson::Doc doc) const override {
        double score = 0;
        return matches(doc, &score);
    }
    void append_result(bson::Doc, std::string_view, bson::Builder&) const override {}
    bson::Doc implied() const override { return {}; }
    bson::Doc implied_ranges() const override { return {}; }

  private:
    text::Request request_;
    mutable std::shared_ptr<text::Search> search_;
    mutable std::optional<double> known_;
};

// Whether a filter, as it came, has a $text where it can.
bool asks_for_text(bson::Doc filter);

}  // namespace query

// query/expression/filter_expression.h - $expr in filters: of $match, and wherever else
// Matcher::parse is given a FilterExpressions.
#pragma once

#include <memory>
#include <utility>

#include "query/expression/let_variables.h"
#include "query/match/match_expression.h"

namespace query {

struct Needs;

class FilterExpressions : public ExpressionParser {
  public:
    FilterExpressions() = default;
    // The values of the variables live longer than the expressions that are parsed here.
    explicit FilterExpressions(OuterVariables variables) : variables_(std::move(variables)) {}
    // The expressions that are parsed here keep `let`, which may be null: no variables.
    explicit FilterExpressions(std::shared_ptr<const LetVariables> let)
        : variables_(let == nullptr ? OuterVariables() : let->variables()), let_(std::move(let)) {}
    std::unique_ptr<const MatchExpression> parse(
        const bson::Element& spec,
        const std::shared_ptr<const collation::Collator>& collator) const override;

    const std::shared_ptr<const LetVariables>& let() const { return let_; }

  private:
    const OuterVariables variables_;
    const std::shared_ptr<const LetVariables> let_;
};

// Returns the variables that `expressions` keeps; null if there are none.
inline std::shared_ptr<const LetVariables> let_of(const FilterExpressions* expressions) {
    return expressions == nullptr ? nullptr : expressions->let();
}

// Adds the fields that an $expr reads.
void add_needs(const MatchExpression& expression, Needs& needs);

}  // namespace query

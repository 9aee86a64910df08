// query/aggregation/filter_expression.h - $expr in filters: of $match, and wherever else
// Matcher::parse is given a FilterExpressions.
#pragma once

#include "query/aggregation/expression.h"
#include "query/match/match_expression.h"

namespace query {

class FilterExpressions : public ExpressionParser {
  public:
    // The values of the variables live longer than what is parsed here.
    explicit FilterExpressions(OuterVariables variables) : variables_(std::move(variables)) {}
    std::unique_ptr<const MatchExpression> parse(const bson::Element& spec) const override;

  private:
    const OuterVariables variables_;
};

// Adds the fields that an $expr reads.
void add_needs(const MatchExpression& expression, Needs& needs);

}  // namespace query

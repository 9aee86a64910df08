// query/match/match_expression.h - $expr: an expression of pipelines as a predicate on a document.
//
// The language of expressions lies in a room above (query/aggregation/filter_expression.h), which
// gives Matcher::parse what reads it. Without that there is no $expr.
#pragma once

#include <memory>
#include <string_view>

#include "bson/builder.h"
#include "sched/counted.h"

namespace query {

class MatchExpression : public sched::Counted {
  public:
    virtual ~MatchExpression() = default;
    // Throws base::Error where the expression cannot be computed.
    virtual bool matches(bson::Doc doc) const = 0;
    // What it is computed to; appends nothing where that is missing.
    virtual void append_result(bson::Doc doc, std::string_view name, bson::Builder& out) const = 0;
    // {path: value, ...}: equalities, as of a filter, that each document satisfies that matches.
    // They are for the planner, and live as long as this.
    virtual bson::Doc implied() const = 0;
};

class ExpressionParser {
  public:
    virtual ~ExpressionParser() = default;
    // `spec` lives longer than what is made. Throws base::Error by the codes of expressions.
    virtual std::unique_ptr<const MatchExpression> parse(const bson::Element& spec) const = 0;
};

}  // namespace query

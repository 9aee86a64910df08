// query/match/match_expression.h - $expr: an expression of pipelines as a predicate on a document.
//
// The language of expressions lies in a room above (query/expression/filter_expression.h), which
// gives Matcher::parse what reads it. Without that there is no $expr.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "bson/builder.h"
#include "collation/collator.h"
#include "sched/counted.h"

namespace query {

class MatchExpression : public sched::Counted {
  public:
    virtual ~MatchExpression() = default;
    // Throws base::Error where the expression cannot be computed.
    virtual bool matches(bson::Doc doc) const = 0;
    // Appends the value that it computes; nothing if that is missing.
    virtual void append_result(bson::Doc doc, std::string_view name, bson::Builder& out) const = 0;
    // {path: value, ...}: equalities, as of a filter, that each document satisfies that matches.
    // They are for the planner, and live as long as this.
    virtual bson::Doc implied() const = 0;
    // {path: {$lt: value, $gte: value...}, ...}: ends between which the value at `path` is for each
    // document that matches, in the order of values of all types; it is no array there, nor is one
    // on the way.
    virtual bson::Doc implied_ranges() const = 0;
    // Whether it runs a script of a client's, which may take long (script/script.h).
    virtual bool runs_scripts() const { return false; }
};

class ExpressionParser {
  public:
    virtual ~ExpressionParser() = default;
    // `spec` lives longer than what is made. `collator`: under which it compares texts; null: by
    // their bytes. Throws base::Error by the codes of expressions.
    virtual std::unique_ptr<const MatchExpression> parse(
        const bson::Element& spec,
        const std::shared_ptr<const collation::Collator>& collator) const = 0;
    // Whether there is $expr, and with it $sampleRate.
    virtual bool is_here() const { return true; }
};

// Refuses $expr with the error given, in a filter that cannot have it though its client knows it.
class RefusedExpressions : public ExpressionParser {
  public:
    RefusedExpressions(int code, std::string_view text) : code_(code), text_(text) {}
    std::unique_ptr<const MatchExpression> parse(
        const bson::Element&, const std::shared_ptr<const collation::Collator>&) const override {
        base::fail(code_, "{}", text_);
    }
    bool is_here() const override { return false; }

  private:
    const int code_;
    const std::string_view text_;
};
inline const RefusedExpressions kNoExpressionsHere(base::kQueryFeatureNotAllowed,
                                                   "$expr is not allowed in this context");

// Reads $where, whose scripts a room above runs. A filter that may have one is given what reads it.
class WhereParser {
  public:
    virtual ~WhereParser() = default;
    // `code`: the operand. Throws base::Error 2 where that is no code, or no scripts are run, and
    // script::kScriptError where it is none that a script can be.
    virtual std::unique_ptr<const MatchExpression> parse(const bson::Element& code) const = 0;
};

}  // namespace query

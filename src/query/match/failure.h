// query/match/failure.h - why a filter does not match a document, as today's servers tell it to
// clients whose document a validator refuses (`details` of errInfo).
//
// It is found out by asking again, clause by clause: that costs a match nothing, and a refusal a
// multiple of the match.
#pragma once

#include "bson/builder.h"
#include "query/match/match_expression.h"

namespace query {

// A text has at most so many bytes, about: what would come behind is left out.
constexpr size_t kFailureBytesMax = 256 * 1024;

// REQUIRES: `filter` does not match `doc`. `expressions`, `collator`: as for Matcher::parse.
bson::Object explain_failure(bson::Doc filter, const ExpressionParser* expressions, bson::Doc doc,
                             std::shared_ptr<const collation::Collator> collator = nullptr);

// Appends to an array the rules of a schema that `doc` does not keep, each with its keyword
// (operatorName) and what it looked at.
void explain_schema(bson::Doc schema, bson::Doc doc, bson::Builder& rules);

}  // namespace query

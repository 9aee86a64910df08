// query/match/match_operands.h - nodes of a match tree for operators with one operand and nothing
// below it: what each takes, and what it refuses (wire spec 4.2, semantics 1).
//
// Views the operands. Each throws base::Error 2 for an operand that the client may not send, or the
// code that its documentation names.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "dialect/dialect.h"
#include "query/match/match_tree.h"

namespace query {

using NodePtr = std::unique_ptr<MatchNode>;

bool starts_with_dollar(std::string_view name);
bool is_dbref_name(std::string_view name);
// A document of operators ({$gt: 1}) as opposed to one to be equal to, as {$ref, $id} is.
bool is_operators(const bson::Element& e, bool partial_dbref_is_value = false);

void set_path(MatchNode& node, std::string path, FieldPath steps);
NodePtr make_node(MatchKind kind, std::string_view path = {});

NodePtr parse_comparison(MatchKind kind, std::string_view path, const bson::Element& operand);
// Equality, or a regular expression.
NodePtr parse_value(std::string_view path, const bson::Element& value, dialect::Dialect dialect);
NodePtr parse_in(std::string_view name, std::string_view path, const bson::Element& operand,
                 dialect::Dialect dialect);
NodePtr parse_type(std::string_view path, const bson::Element& operand, dialect::Dialect dialect);
NodePtr parse_size(std::string_view path, const bson::Element& operand, dialect::Dialect dialect);
NodePtr parse_mod(std::string_view path, const bson::Element& operand, dialect::Dialect dialect);
NodePtr parse_bits(std::string_view path, const bson::Element& operand);
// `operators` is the document of both $regex and $options, which stand side by side in any order.
NodePtr parse_regex(std::string_view path, bson::Doc operators, dialect::Dialect dialect);

// Sorts values, and leaves one of each.
void put_in_order(sched::Vector<bson::Element>& values, bool of_today = false);

}  // namespace query

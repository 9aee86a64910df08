// query/aggregation/operators.h - the table of expression operators and how its entries compute.
#pragma once

#include <map>
#include <string_view>

#include "query/aggregation/expression.h"

namespace query {

// An operator with a list of operands. `apply` evaluates the operands it needs itself, in order.
struct ListOperator {
    static constexpr int kAny = -1;
    std::string_view name;
    int arity = kAny;
    // Operands may be regrouped: constants are moved to the end and combined while parsing.
    bool regroups = false;
    Value (*apply)(Scope& scope, const Operands& operands) = nullptr;
    // With any number of operands from two on: the code for fewer.
    int arity_error = 0;
};

// An operator that reads its specification itself ($let, $map, $literal, $cond with names).
using SpecialParser = ExpressionPtr (*)(const Value& spec, Names& names);

// Null if there is no such operator.
const ListOperator* find_list_operator(std::string_view name);
SpecialParser find_special_operator(std::string_view name);

// The parts of the table, one for each file.
std::vector<ListOperator> arithmetic_operators();
std::vector<ListOperator> comparison_operators();
std::vector<ListOperator> string_operators();
std::vector<ListOperator> date_operators();
std::vector<ListOperator> set_operators();

ExpressionPtr parse_list_operator(const ListOperator& op, const Value& spec, Names& names);
ExpressionPtr parse_cond(const Value& spec, Names& names);
ExpressionPtr parse_let(const Value& spec, Names& names);
ExpressionPtr parse_map(const Value& spec, Names& names);
ExpressionPtr parse_literal(const Value& spec, Names& names);
ExpressionPtr parse_meta(const Value& spec, Names& names);

}  // namespace query

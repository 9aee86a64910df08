// query/expression/operators.h - the table of expression operators: what each is called, in which
// dialect it is there, what operands it takes, and how it computes.
//
// A name may stand in the table twice, once for each dialect: 2.6 wraps integers around, later
// servers widen them. The parts of the table lie in the files operators_*.cpp, one for each family.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dialect/dialect.h"
#include "query/expression/expression.h"

namespace query {

// Which clients an operator is for: those of 2.6, those of today's, or both.
enum class Dialects : uint8_t { v26, today, both };

// An operand that stands under a name, {input: .., chars: ..}.
struct NamedOperand {
    std::string_view name;
    int missing_code = 0;  // where it is not given; 0: it need not be
};

// The operands of an operator by their names; `fields` is the order in which it gets them, null for
// one that is not given.
struct ByName {
    std::span<const NamedOperand> fields;
    int not_object_code = 0;
    int unknown_code = 0;
    bool optional = false;  // a single operand may stand for the first one
};

// The things that a computation has beside the values of its operands.
struct Call {
    Arena& arena;
    const collation::Collator* collator;  // as in Scope
    std::string_view name;                // of the operator
    const Operands& operands;

    // Whether an operand is given at all: its value may be missing all the same.
    bool has(size_t i) const { return i < operands.size() && operands[i] != nullptr; }
};
using Values = std::span<const Value>;

// The types of values that an operator takes. It refuses others by name, but not null where that is
// the result.
enum class Takes : uint8_t { any, numbers, integers, strings, arrays, objects };

struct Operator {
    static constexpr int kAny = -1;
    // Reads its specification itself ($let, $map, $literal, $cond).
    using Parser = ExpressionPtr (*)(const Operator& op, const Value& spec, Names& names);
    // Evaluates the operands that it needs itself, in order.
    using Apply = Value (*)(Scope& scope, const Operands& operands);
    // Gets the values of all operands.
    using Compute = Value (*)(const Call& call, Values values);

    std::string_view name;
    Dialects dialects = Dialects::today;
    int least = 1;  // operands
    int most = 1;   // or kAny
    int arity_code = 16020;
    ByName by_name = {};
    Takes takes = Takes::any;
    int takes_code = 14;           // where a value is none of these
    bool null_gives_null = false;  // as does undefined and what is missing
    // Operands may be regrouped: constants are moved to the end and combined while parsing.
    bool regroups = false;
    // One of these three, or none: the operator is known, and refused.
    Apply apply = nullptr;
    Compute compute = nullptr;
    Parser parse = nullptr;
};

// Null if there is no such operator in the dialect.
const Operator* find_operator(std::string_view name, dialect::Dialect dialect);

// The parts of the table.
std::span<const Operator> arithmetic_operators();
std::span<const Operator> math_operators();
std::span<const Operator> comparison_operators();
std::span<const Operator> control_operators();
std::span<const Operator> string_operators();
std::span<const Operator> text_operators();
std::span<const Operator> regex_operators();
std::span<const Operator> date_operators();
std::span<const Operator> date_math_operators();
std::span<const Operator> set_operators();
std::span<const Operator> array_operators();
std::span<const Operator> loop_operators();
std::span<const Operator> object_operators();
std::span<const Operator> conversion_operators();
std::span<const Operator> accumulating_operators();
std::span<const Operator> script_operators();
std::span<const Operator> refused_operators();

// An operator of a list of operands, or of operands by name.
ExpressionPtr parse_operands(const Operator& op, const Value& spec, Names& names);
// Operands that stand under names: for what reads its specification itself. In the order of
// `by_name`; missing where not given.
sched::Vector<Value> named_specs(const Operator& op, const Value& spec, const ByName& by_name);
ExpressionPtr make_operation(const Operator& op, Operands operands, const Names& names);

}  // namespace query

// Comparison and logic: $cmp $eq ... $and $or $not $ifNull.

#include "base/error.h"
#include "query/aggregation/operators.h"

namespace query {

namespace {

int compare_operands(Scope& scope, const Operands& operands) {
    const Value a = operands[0]->evaluate(scope);
    const Value b = operands[1]->evaluate(scope);
    return compare_pipeline_values(a, b, scope.collator);
}

Value cmp(Scope& scope, const Operands& operands) {
    const int c = compare_operands(scope, operands);
    return make_int(scope.arena, c < 0 ? -1 : (c > 0 ? 1 : 0));
}

Value all_true(Scope& scope, const Operands& operands) {
    for (const ExpressionPtr& operand : operands) {
        if (!is_true(operand->evaluate(scope))) return bool_value(false);
    }
    return bool_value(true);
}

Value any_true(Scope& scope, const Operands& operands) {
    for (const ExpressionPtr& operand : operands) {
        if (is_true(operand->evaluate(scope))) return bool_value(true);
    }
    return bool_value(false);
}

Value negate(Scope& scope, const Operands& operands) {
    return bool_value(!is_true(operands[0]->evaluate(scope)));
}

// The first one that is something, or the last.
Value if_null(Scope& scope, const Operands& operands) {
    Value v;
    for (const ExpressionPtr& operand : operands) {
        v = operand->evaluate(scope);
        if (!is_nullish(v)) break;
    }
    return v;
}

constexpr Operator comparison(std::string_view name, Operator::Apply apply) {
    return {.name = name, .dialect = Dialect::both, .least = 2, .most = 2, .apply = apply};
}

constexpr Operator logic(std::string_view name, Operator::Apply apply) {
    return {.name = name,
            .dialect = Dialect::both,
            .least = 0,
            .most = Operator::kAny,
            .regroups = true,
            .apply = apply};
}

}  // namespace

std::span<const Operator> comparison_operators() {
    static constexpr Operator kTable[] = {
        comparison("$cmp", cmp),
        comparison(
            "$eq",
            [](Scope& s, const Operands& o) { return bool_value(compare_operands(s, o) == 0); }),
        comparison(
            "$ne",
            [](Scope& s, const Operands& o) { return bool_value(compare_operands(s, o) != 0); }),
        comparison("$gt", [](Scope& s,
                             const Operands& o) { return bool_value(compare_operands(s, o) > 0); }),
        comparison(
            "$gte",
            [](Scope& s, const Operands& o) { return bool_value(compare_operands(s, o) >= 0); }),
        comparison("$lt", [](Scope& s,
                             const Operands& o) { return bool_value(compare_operands(s, o) < 0); }),
        comparison(
            "$lte",
            [](Scope& s, const Operands& o) { return bool_value(compare_operands(s, o) <= 0); }),
        logic("$and", all_true),
        logic("$or", any_true),
        {.name = "$not", .dialect = Dialect::both, .apply = negate},
        {.name = "$ifNull", .dialect = Dialect::old, .least = 2, .most = 2, .apply = if_null},
        {.name = "$ifNull",
         .least = 2,
         .most = Operator::kAny,
         .arity_code = 1257300,
         .apply = if_null},
    };
    return kTable;
}

}  // namespace query

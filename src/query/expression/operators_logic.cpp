// Comparison and logic: $cmp $eq ... $and $or $not $ifNull.

#include <algorithm>
#include <array>

#include "base/dcheck.h"
#include "base/error.h"
#include "query/expression/operators.h"
#include "query/value/value_order.h"

namespace query {

namespace {

template <Times kTimes>
int compare_operands(Scope& scope, const Operands& operands) {
    DCHECK(operands.size() == 2);
    const Value a = operands[0]->evaluate(scope);
    const Value b = operands[1]->evaluate(scope);
    return compare_pipeline_values(a, b, scope.collator, kTimes);
}

template <Times kTimes>
Value cmp(Scope& scope, const Operands& operands) {
    const int c = compare_operands<kTimes>(scope, operands);
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

constexpr Operator comparison(std::string_view name, Dialects dialects, Operator::Apply apply) {
    return {.name = name, .dialects = dialects, .least = 2, .most = 2, .apply = apply};
}

// Decides an operator's result from the order of its first operand and its second one.
using Decide = bool (*)(int order);
constexpr Decide kEqual = [](int order) { return order == 0; };
constexpr Decide kNotEqual = [](int order) { return order != 0; };
constexpr Decide kGreater = [](int order) { return order > 0; };
constexpr Decide kNotLess = [](int order) { return order >= 0; };
constexpr Decide kLess = [](int order) { return order < 0; };
constexpr Decide kNotGreater = [](int order) { return order <= 0; };

template <Times kTimes, Decide kDecide>
Value decide(Scope& scope, const Operands& operands) {
    return bool_value(kDecide(compare_operands<kTimes>(scope, operands)));
}

template <Dialects kDialects, Times kTimes>
constexpr std::array<Operator, 7> comparisons() {
    return {{
        comparison("$cmp", kDialects, cmp<kTimes>),
        comparison("$eq", kDialects, decide<kTimes, kEqual>),
        comparison("$ne", kDialects, decide<kTimes, kNotEqual>),
        comparison("$gt", kDialects, decide<kTimes, kGreater>),
        comparison("$gte", kDialects, decide<kTimes, kNotLess>),
        comparison("$lt", kDialects, decide<kTimes, kLess>),
        comparison("$lte", kDialects, decide<kTimes, kNotGreater>),
    }};
}

template <size_t... kSizes>
constexpr auto joined(const std::array<Operator, kSizes>&... parts) {
    std::array<Operator, (kSizes + ...)> all{};
    auto at = all.begin();
    ((at = std::ranges::copy(parts, at).out), ...);
    return all;
}

constexpr Operator logic(std::string_view name, Operator::Apply apply) {
    return {.name = name,
            .dialects = Dialects::both,
            .least = 0,
            .most = Operator::kAny,
            .regroups = true,
            .apply = apply};
}

}  // namespace

std::span<const Operator> comparison_operators() {
    static constexpr auto kTable = joined(
        comparisons<Dialects::v26, Times::one_class>(),
        comparisons<Dialects::today, Times::two_classes>(),
        std::to_array<Operator>({
            logic("$and", all_true),
            logic("$or", any_true),
            {.name = "$not", .dialects = Dialects::both, .apply = negate},
            {.name = "$ifNull", .dialects = Dialects::v26, .least = 2, .most = 2, .apply = if_null},
            {.name = "$ifNull",
             .least = 2,
             .most = Operator::kAny,
             .arity_code = 1257300,
             .apply = if_null},
        }));
    return kTable;
}

}  // namespace query

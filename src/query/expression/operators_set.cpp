// Arrays as sets, and $size.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bson/element_writer.h"
#include "query/expression/operators.h"
#include "query/value/value_set.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

void require_array(const Value& v, int code, std::string_view op, std::string_view which) {
    if (v.is_array()) return;
    base::fail(code, "{} operand of {} must be an array, but is of type: {}", which, op,
               type_name(v.type()));
}

Value make_array(Arena& arena, const sched::Vector<Value>& values) {
    bson::Buffer out;
    const size_t start = open_doc(out);
    uint32_t index = 0;
    for (const Value& v : values)
        write_value(out, bson::IndexName(index++).view(), v);
    close_doc(out, start);
    return make_doc(arena, Type::array, bson::Doc(out.data()));
}

Value set_union(Scope& scope, const Operands& operands) {
    ValueSet all(scope.collator);
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand->evaluate(scope);
        if (is_nullish(v)) return null_value();
        require_array(v, 17043, "$setUnion", "Each");
        all.insert_all(v);
    }
    return make_array(scope.arena, all.values());
}

Value set_intersection(Scope& scope, const Operands& operands) {
    ValueSet current(scope.collator);
    bool first = true;
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand->evaluate(scope);
        if (is_nullish(v)) return null_value();
        require_array(v, 17047, "$setIntersection", "Each");
        ValueSet next(v, scope.collator);
        if (first) {
            current = std::move(next);
            first = false;
        } else if (!current.values().empty()) {
            // The result consists of the smaller set's values.
            if (current.values().size() > next.values().size()) std::swap(next, current);
            ValueSet both(scope.collator);
            for (const Value& e : current.values()) {
                if (next.contains(e)) both.insert(e);
            }
            current = std::move(both);
        }
        if (current.values().empty()) break;
    }
    return make_array(scope.arena, current.values());
}

Value set_difference(Scope& scope, const Operands& operands) {
    const Value left = operands[0]->evaluate(scope);
    const Value right = operands[1]->evaluate(scope);
    if (is_nullish(left) || is_nullish(right)) return null_value();
    require_array(left, 17048, "$setDifference", "First");
    require_array(right, 17049, "$setDifference", "Second");
    const ValueSet without(right, scope.collator);
    ValueSet rest(scope.collator);
    for (const Value& e : left.as_doc()) {
        if (!without.contains(e)) rest.insert(e);
    }
    return make_array(scope.arena, rest.values());
}

Value set_is_subset(Scope& scope, const Operands& operands) {
    const Value left = operands[0]->evaluate(scope);
    const Value right = operands[1]->evaluate(scope);
    require_array(left, 17046, "$setIsSubset", "First");
    require_array(right, 17042, "$setIsSubset", "Second");
    return bool_value(ValueSet(right, scope.collator).contains_all(ValueSet(left, scope.collator)));
}

Value set_equals(Scope& scope, const Operands& operands) {
    ValueSet first(scope.collator);
    for (size_t i = 0; i < operands.size(); ++i) {
        const Value v = operands[i]->evaluate(scope);
        require_array(v, 17044, "$setEquals", "Each");
        ValueSet set(v, scope.collator);
        if (i == 0) {
            first = std::move(set);
        } else if (set.values().size() != first.values().size() || !first.contains_all(set)) {
            return bool_value(false);
        }
    }
    return bool_value(true);
}

Value any_element_true(Scope& scope, const Operands& operands) {
    const Value v = operands[0]->evaluate(scope);
    require_array(v, 17041, "$anyElementTrue", "The");
    for (const Value& e : sched::ticked(v.as_doc())) {
        if (is_true(e)) return bool_value(true);
    }
    return bool_value(false);
}

Value all_elements_true(Scope& scope, const Operands& operands) {
    const Value v = operands[0]->evaluate(scope);
    require_array(v, 17040, "$allElementsTrue", "The");
    for (const Value& e : sched::ticked(v.as_doc())) {
        if (!is_true(e)) return bool_value(false);
    }
    return bool_value(true);
}

Value size(Scope& scope, const Operands& operands) {
    const Value v = operands[0]->evaluate(scope);
    require_array(v, 17124, "$size", "The");
    sched::tick_bytes(v.as_doc().size(), sched::PerTick::walked);
    return make_int(scope.arena, v.as_doc().field_count());
}

}  // namespace

std::span<const Operator> set_operators() {
    constexpr int kAny = Operator::kAny;
    static constexpr Operator kTable[] = {
        {.name = "$setUnion",
         .dialects = Dialects::both,
         .least = 0,
         .most = kAny,
         .regroups = true,
         .apply = set_union},
        {.name = "$setIntersection",
         .dialects = Dialects::both,
         .least = 0,
         .most = kAny,
         .regroups = true,
         .apply = set_intersection},
        {.name = "$setDifference",
         .dialects = Dialects::both,
         .least = 2,
         .most = 2,
         .apply = set_difference},
        {.name = "$setIsSubset",
         .dialects = Dialects::both,
         .least = 2,
         .most = 2,
         .apply = set_is_subset},
        {.name = "$setEquals",
         .dialects = Dialects::both,
         .least = 2,
         .most = kAny,
         .arity_code = 17045,
         .apply = set_equals},
        {.name = "$anyElementTrue", .dialects = Dialects::both, .apply = any_element_true},
        {.name = "$allElementsTrue", .dialects = Dialects::both, .apply = all_elements_true},
        {.name = "$size", .dialects = Dialects::both, .apply = size},
    };
    return kTable;
}

}  // namespace query

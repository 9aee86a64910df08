// Arrays as sets, and $size.

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "base/operation.h"
#include "bson/element_writer.h"
#include "query/aggregation/operators.h"

namespace query {

using bson::Type;

namespace {

struct Hash {
    size_t operator()(const Value& v) const { return hash_value(v); }
};
struct Equal {
    bool operator()(const Value& a, const Value& b) const {
        return compare_pipeline_values(a, b) == 0;
    }
};
using Set = std::unordered_set<Value, Hash, Equal>;

// Elements of an array in order, each equal value once.
std::vector<Value> distinct(const Value& array) {
    Set seen;
    std::vector<Value> values;
    for (const Value& v : array.as_doc()) {
        if (seen.insert(v).second) values.push_back(v);
    }
    return values;
}

Set set_of(const Value& array) {
    Set set;
    for (const Value& v : array.as_doc())
        set.insert(v);
    return set;
}

void require_array(const Value& v, int code, std::string_view op, std::string_view which) {
    if (v.is_array()) return;
    base::fail(code, "{} operand of {} must be an array, but is of type: {}", which, op,
               type_name(v.type()));
}

Value make_array(Arena& arena, const std::vector<Value>& values) {
    bson::Buffer out;
    const size_t start = open_doc(out);
    uint32_t index = 0;
    for (const Value& v : values)
        write_value(out, bson::IndexName(index++).view(), v);
    close_doc(out, start);
    return make_doc(arena, Type::array, bson::Doc(out.data()));
}

Value set_union(Scope& scope, const Operands& operands) {
    Set seen;
    std::vector<Value> values;
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand->evaluate(scope);
        if (is_nullish(v)) return null_value();
        require_array(v, 17043, "$setUnion", "Each");
        for (const Value& e : v.as_doc()) {
            if (seen.insert(e).second) values.push_back(e);
        }
    }
    return make_array(scope.arena, values);
}

Value set_intersection(Scope& scope, const Operands& operands) {
    std::vector<Value> current;
    bool first = true;
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand->evaluate(scope);
        if (is_nullish(v)) return null_value();
        require_array(v, 17047, "$setIntersection", "Each");
        std::vector<Value> values = distinct(v);
        if (first) {
            current = std::move(values);
            first = false;
        } else if (!current.empty()) {
            // The result consists of the smaller set's values.
            if (current.size() > values.size()) std::swap(values, current);
            const Set larger(values.begin(), values.end());
            std::erase_if(current, [&](const Value& e) { return !larger.contains(e); });
        }
        if (current.empty()) break;
    }
    return make_array(scope.arena, current);
}

Value set_difference(Scope& scope, const Operands& operands) {
    const Value left = operands[0]->evaluate(scope);
    const Value right = operands[1]->evaluate(scope);
    if (is_nullish(left) || is_nullish(right)) return null_value();
    require_array(left, 17048, "$setDifference", "First");
    require_array(right, 17049, "$setDifference", "Second");
    const Set without = set_of(right);
    std::vector<Value> values = distinct(left);
    std::erase_if(values, [&](const Value& e) { return without.contains(e); });
    return make_array(scope.arena, values);
}

bool contains_all(const Set& of, const Set& in) {
    return std::all_of(of.begin(), of.end(), [&](const Value& v) { return in.contains(v); });
}

Value set_is_subset(Scope& scope, const Operands& operands) {
    const Value left = operands[0]->evaluate(scope);
    const Value right = operands[1]->evaluate(scope);
    require_array(left, 17046, "$setIsSubset", "First");
    require_array(right, 17042, "$setIsSubset", "Second");
    return bool_value(contains_all(set_of(left), set_of(right)));
}

Value set_equals(Scope& scope, const Operands& operands) {
    Set first;
    for (size_t i = 0; i < operands.size(); ++i) {
        const Value v = operands[i]->evaluate(scope);
        require_array(v, 17044, "$setEquals", "Each");
        Set set = set_of(v);
        if (i == 0) {
            first = std::move(set);
        } else if (set.size() != first.size() || !contains_all(set, first)) {
            return bool_value(false);
        }
    }
    return bool_value(true);
}

Value any_element_true(Scope& scope, const Operands& operands) {
    const Value v = operands[0]->evaluate(scope);
    require_array(v, 17041, "$anyElementTrue", "The");
    for (const Value& e : v.as_doc()) {
        base::Operation::tick();
        if (is_true(e)) return bool_value(true);
    }
    return bool_value(false);
}

Value all_elements_true(Scope& scope, const Operands& operands) {
    const Value v = operands[0]->evaluate(scope);
    require_array(v, 17040, "$allElementsTrue", "The");
    for (const Value& e : v.as_doc()) {
        base::Operation::tick();
        if (!is_true(e)) return bool_value(false);
    }
    return bool_value(true);
}

Value size(Scope& scope, const Operands& operands) {
    const Value v = operands[0]->evaluate(scope);
    require_array(v, 17124, "$size", "The");
    constexpr int32_t kBytesPerTick = 256;
    base::Operation::tick(v.as_doc().size() / kBytesPerTick);
    return make_int(scope.arena, v.as_doc().field_count());
}

}  // namespace

std::vector<ListOperator> set_operators() {
    return {{"$setUnion", ListOperator::kAny, true, set_union},
            {"$setIntersection", ListOperator::kAny, true, set_intersection},
            {"$setDifference", 2, false, set_difference},
            {"$setIsSubset", 2, false, set_is_subset},
            {"$setEquals", ListOperator::kAny, false, set_equals, 17045},
            {"$anyElementTrue", 1, false, any_element_true},
            {"$allElementsTrue", 1, false, all_elements_true},
            {"$size", 1, false, size}};
}

}  // namespace query

// $concat $substr $toLower $toUpper $strcasecmp: bytes, with only ASCII letters changing case.

#include <algorithm>

#include "base/error.h"
#include "query/aggregation/operators.h"

namespace query {

namespace {

char upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

Value concat(Scope& scope, const Operands& operands) {
    sched::String text;
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand->evaluate(scope);
        if (is_nullish(v)) return null_value();
        if (!v.is_string()) {
            base::fail(16702, "$concat only supports strings, not {}", type_name(v.type()));
        }
        text += v.as_string();
    }
    return make_string(scope.arena, text);
}

Value substr(Scope& scope, const Operands& operands) {
    const Value source = operands[0]->evaluate(scope);
    const Value from = operands[1]->evaluate(scope);
    const Value count = operands[2]->evaluate(scope);
    const sched::String text = text_of(source);
    if (!from.is_number()) {
        base::fail(16034, "$substr:  starting index must be a numeric type (is BSON type {})",
                   type_name(from.type()));
    }
    if (!count.is_number()) {
        base::fail(16035, "$substr:  length must be a numeric type (is BSON type {})",
                   type_name(count.type()));
    }
    // A negative start is beyond the end, a negative length takes the rest.
    const auto start = static_cast<uint64_t>(from.to_int64());
    const auto length = static_cast<uint64_t>(count.to_int64());
    if (start >= text.size()) return make_string(scope.arena, "");
    return make_string(scope.arena, std::string_view(text).substr(start, length));
}

Value to_lower(Scope& scope, const Operands& operands) {
    sched::String text = text_of(operands[0]->evaluate(scope));
    std::transform(text.begin(), text.end(), text.begin(), lower);
    return make_string(scope.arena, text);
}

Value to_upper(Scope& scope, const Operands& operands) {
    sched::String text = text_of(operands[0]->evaluate(scope));
    std::transform(text.begin(), text.end(), text.begin(), upper);
    return make_string(scope.arena, text);
}

Value strcasecmp(Scope& scope, const Operands& operands) {
    const Value left = operands[0]->evaluate(scope);
    const Value right = operands[1]->evaluate(scope);
    sched::String a = text_of(left);
    sched::String b = text_of(right);
    std::transform(a.begin(), a.end(), a.begin(), upper);
    std::transform(b.begin(), b.end(), b.begin(), upper);
    const int c = a.compare(b);
    return make_int(scope.arena, c < 0 ? -1 : (c > 0 ? 1 : 0));
}

}  // namespace

std::vector<ListOperator> string_operators() {
    return {{"$concat", ListOperator::kAny, false, concat},
            {"$substr", 3, false, substr},
            {"$toLower", 1, false, to_lower},
            {"$toUpper", 1, false, to_upper},
            {"$strcasecmp", 2, false, strcasecmp}};
}

}  // namespace query

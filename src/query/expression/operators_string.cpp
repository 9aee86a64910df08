// $concat $substr $toLower $toUpper $strcasecmp: bytes, with only ASCII letters changing case.

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/expression/operators.h"

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
            base::fail(16702, "$concat only supports strings, not {}", bson::name_of(v.type()));
        }
        text += v.as_string();
    }
    return make_string(scope.arena, text);
}

Value old_substr(const Call& call, Values v) {
    const sched::String text = text_of(v[0]);
    if (!v[1].is_number()) {
        base::fail(16034, "$substr:  starting index must be a numeric type (is BSON type {})",
                   type_name(v[1].type()));
    }
    if (!v[2].is_number()) {
        base::fail(16035, "$substr:  length must be a numeric type (is BSON type {})",
                   type_name(v[2].type()));
    }
    // A negative start is beyond the end, a negative length takes the rest.
    const auto start = static_cast<uint64_t>(v[1].to_int64());
    const auto length = static_cast<uint64_t>(v[2].to_int64());
    if (start >= text.size()) return make_string(call.arena, "");
    return make_string(call.arena, std::string_view(text).substr(start, length));
}

constexpr dialect::Dialect dialect_of(Dialects one) {
    return one == Dialects::today ? dialect::kToday : dialect::kV26;
}

template <char (*Change)(char), Dialects kOf>
Value change_case(const Call& call, Values v) {
    sched::String text = text_of(v[0], dialect_of(kOf));
    std::transform(text.begin(), text.end(), text.begin(), Change);
    return make_string(call.arena, text);
}

template <Dialects kOf>
Value strcasecmp(const Call& call, Values v) {
    sched::String a = text_of(v[0], dialect_of(kOf));
    sched::String b = text_of(v[1], dialect_of(kOf));
    std::transform(a.begin(), a.end(), a.begin(), upper);
    std::transform(b.begin(), b.end(), b.begin(), upper);
    const int c = a.compare(b);
    return make_int(call.arena, c < 0 ? -1 : (c > 0 ? 1 : 0));
}

bool is_inside_character(std::string_view text, size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

// Takes a part of a text by bytes, but never a part of a character.
Value substr_bytes(const Call& call, Values v) {
    const sched::String text = text_of(v[0], dialect::kToday);
    if (!v[1].is_number())
        base::fail(16034, "{}:  starting index must be a numeric type (is BSON type {})", call.name,
                   bson::name_of(v[1].type()));
    if (!v[2].is_number())
        base::fail(16035, "{}:  length must be a numeric type (is BSON type {})", call.name,
                   bson::name_of(v[2].type()));
    const int64_t start = v[1].to_int64();
    if (start < 0)
        base::fail(50752, "{}:  starting index must be non-negative (got: {})", call.name, start);
    const auto from = static_cast<size_t>(start);
    if (from >= text.size()) return make_string(call.arena, "");
    // A negative length takes the rest.
    const auto length = static_cast<uint64_t>(v[2].to_int64());
    const size_t count = static_cast<size_t>(std::min<uint64_t>(length, text.size() - from));
    if (is_inside_character(text, from))
        base::fail(28656, "{}:  Invalid range, starting index is a UTF-8 continuation byte.",
                   call.name);
    if (is_inside_character(text, from + count))
        base::fail(28657, "{}:  Invalid range, ending index is in the middle of a UTF-8 character.",
                   call.name);
    DCHECK(from + count <= text.size());
    return make_string(call.arena, std::string_view(text).substr(from, count));
}

constexpr Operator of_text(std::string_view name, Dialects dialects, int operands,
                           Operator::Compute compute) {
    return {.name = name,
            .dialects = dialects,
            .least = operands,
            .most = operands,
            .compute = compute};
}

}  // namespace

std::span<const Operator> string_operators() {
    static constexpr Operator kTable[] = {
        {.name = "$concat",
         .dialects = Dialects::both,
         .least = 0,
         .most = Operator::kAny,
         .apply = concat},
        of_text("$substr", Dialects::v26, 3, old_substr),
        of_text("$toLower", Dialects::v26, 1, change_case<lower, Dialects::v26>),
        of_text("$toUpper", Dialects::v26, 1, change_case<upper, Dialects::v26>),
        of_text("$strcasecmp", Dialects::v26, 2, strcasecmp<Dialects::v26>),
        of_text("$substr", Dialects::today, 3, substr_bytes),
        of_text("$substrBytes", Dialects::today, 3, substr_bytes),
        of_text("$toLower", Dialects::today, 1, change_case<lower, Dialects::today>),
        of_text("$toUpper", Dialects::today, 1, change_case<upper, Dialects::today>),
        of_text("$strcasecmp", Dialects::today, 2, strcasecmp<Dialects::today>),
    };
    return kTable;
}

}  // namespace query

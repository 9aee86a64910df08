// $add $subtract $multiply $divide $mod.
//
// For clients of 2.6 int64 arithmetic wraps around; for later ones it goes on in doubles.

#include <cmath>
#include <limits>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "query/expression/operators.h"
#include "query/value/exact_sum.h"

namespace query {

using bson::Type;

namespace {

// int32, int64 or double, whichever is wider.
Type wider(Type a, Type b) {
    DCHECK(bson::is_number(a) && bson::is_number(b));
    if (a == Type::number_double || b == Type::number_double) return Type::number_double;
    return a == Type::int64 || b == Type::int64 ? Type::int64 : Type::int32;
}

// int64 arithmetic wraps around, as the old server's did.
int64_t wrapping_add(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

int64_t wrapping_subtract(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

int64_t wrapping_multiply(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Converts as x86 does: everything out of range becomes the smallest value.
int64_t to_long(double d) {
    constexpr double kLimit = 9223372036854775808.0;
    return d >= -kLimit && d < kLimit ? static_cast<int64_t>(d)
                                      : std::numeric_limits<int64_t>::min();
}

int64_t long_of(const Value& v) {
    return v.type() == Type::number_double ? to_long(v.as_double()) : v.to_int64();
}

Value number(Arena& arena, Type type, int64_t whole, double real) {
    DCHECK(bson::is_number(type) && type != Type::decimal128);
    if (type == Type::number_double) return make_double(arena, real);
    return type == Type::int64 ? make_long(arena, whole) : make_int_or_long(arena, whole);
}

// The next number to calculate with, which may turn out to be none.
Value operand_of(std::string_view name, const ExpressionPtr& expression, Scope& scope) {
    const Value v = expression->evaluate(scope);
    if (v.type() == Type::decimal128) refuse_decimal(name);
    return v;
}

Value old_add(Scope& scope, const Operands& operands) {
    Type type = Type::int32;
    int64_t whole = 0;
    double real = 0;
    bool date = false;
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand_of("$add", operand, scope);
        if (v.is_number()) {
            type = wider(type, v.type());
            real += v.to_double();
            whole = wrapping_add(whole, long_of(v));
        } else if (v.type() == Type::date) {
            if (date) base::fail(16612, "only one Date allowed in an $add expression");
            date = true;
            whole = wrapping_add(whole, v.as_date());
            real += static_cast<double>(v.as_date());
        } else if (is_nullish(v)) {
            return null_value();
        } else {
            base::fail(16554, "$add only supports numeric or date types, not {}",
                       type_name(v.type()));
        }
    }
    if (date) {
        return make_date(scope.arena, type == Type::number_double ? to_long(real) : whole);
    }
    return number(scope.arena, type, whole, real);
}

Value old_multiply(Scope& scope, const Operands& operands) {
    Type type = Type::int32;
    int64_t whole = 1;
    double real = 1;
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand_of("$multiply", operand, scope);
        if (v.is_number()) {
            type = wider(type, v.type());
            real *= v.to_double();
            whole = wrapping_multiply(whole, long_of(v));
        } else if (is_nullish(v)) {
            return null_value();
        } else {
            base::fail(16555, "$multiply only supports numeric types, not {}", type_name(v.type()));
        }
    }
    return number(scope.arena, type, whole, real);
}

Value old_subtract(Scope& scope, const Operands& operands) {
    const Value a = operand_of("$subtract", operands[0], scope);
    const Value b = operand_of("$subtract", operands[1], scope);
    if (a.is_number() && b.is_number()) {
        return number(scope.arena, wider(a.type(), b.type()),
                      wrapping_subtract(long_of(a), long_of(b)), a.to_double() - b.to_double());
    }
    if (is_nullish(a) || is_nullish(b)) return null_value();
    if (a.type() == Type::date) {
        if (b.type() == Type::date || b.type() == Type::timestamp) {
            return make_long(scope.arena, wrapping_subtract(a.as_date(), date_of(b)));
        }
        if (b.is_number()) {
            return make_date(scope.arena, wrapping_subtract(a.as_date(), long_of(b)));
        }
        base::fail(16613, "cant $subtract a {} from a Date", type_name(b.type()));
    }
    base::fail(16556, "cant $subtract a {} from a {}", type_name(b.type()), type_name(a.type()));
}

Value old_divide(Scope& scope, const Operands& operands) {
    const Value a = operand_of("$divide", operands[0], scope);
    const Value b = operand_of("$divide", operands[1], scope);
    if (a.is_number() && b.is_number()) {
        const double divisor = b.to_double();
        if (divisor == 0) base::fail(16608, "can't $divide by zero");
        return make_double(scope.arena, a.to_double() / divisor);
    }
    if (is_nullish(a) || is_nullish(b)) return null_value();
    base::fail(16609, "$divide only supports numeric types, not {} and {}", type_name(a.type()),
               type_name(b.type()));
}

Value mod(Scope& scope, const Operands& operands) {
    const Value a = operand_of("$mod", operands[0], scope);
    const Value b = operand_of("$mod", operands[1], scope);
    if (is_nullish(a) || is_nullish(b)) return null_value();
    if (!a.is_number() || !b.is_number()) {
        base::fail(16611, "$mod only supports numeric types, not {} and {}", type_name(a.type()),
                   type_name(b.type()));
    }
    const double divisor = b.to_double();
    if (divisor == 0) base::fail(16610, "can't $mod by 0");
    // A whole double divisor that fits an int32 counts as an integer.
    const bool whole_divisor = divisor == std::trunc(divisor) &&
                               divisor >= std::numeric_limits<int32_t>::min() &&
                               divisor <= std::numeric_limits<int32_t>::max();
    if (a.type() == Type::number_double || (b.type() == Type::number_double && !whole_divisor)) {
        return make_double(scope.arena, std::fmod(a.to_double(), divisor));
    }
    const int64_t right = long_of(b);
    DCHECK(right != 0);
    const int64_t rest = right == -1 ? 0 : long_of(a) % right;
    const bool is_long = a.type() == Type::int64 || b.type() == Type::int64;
    return number(scope.arena, is_long ? Type::int64 : Type::int32, rest, 0);
}

// Returns the whole milliseconds that are added to a date, or taken from it.
int64_t milliseconds_of(const Value& v) {
    DCHECK(v.is_number());
    const double ms = v.to_double();
    constexpr double kLimit = 9223372036854775808.0;
    if (!(ms >= -kLimit && ms < kLimit)) base::fail(base::kOverflow, "a date is out of range");
    return v.to_int64();
}

int64_t date_sum(int64_t date, int64_t ms) {
    int64_t sum = 0;
    if (__builtin_add_overflow(date, ms, &sum)) base::fail(base::kOverflow, "date overflow");
    return sum;
}

// Integers are counted exactly; from the first double on each is added to what there is.
Value add(Scope& scope, const Operands& operands) {
    ExactSum integers;
    std::optional<double> real;
    Value date;
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand_of("$add", operand, scope);
        if (v.is_number()) {
            if (!real && v.type() == Type::number_double)
                real = integers.value(scope.arena).to_double();
            if (real)
                *real += v.to_double();
            else
                integers.add(v);
        } else if (v.type() == Type::date) {
            if (date) base::fail(16612, "only one date allowed in an $add expression");
            date = v;
        } else if (is_nullish(v)) {
            return null_value();
        } else {
            base::fail(base::kTypeMismatch, "$add only supports numeric or date types, not {}",
                       bson::name_of(v.type()));
        }
    }
    const Value total = real ? make_double(scope.arena, *real) : integers.value(scope.arena);
    if (!date) return total;
    return make_date(scope.arena, date_sum(date.as_date(), milliseconds_of(total)));
}

Value multiply(Scope& scope, const Operands& operands) {
    Type type = Type::int32;
    int64_t whole = 1;
    double real = 1;
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand_of("$multiply", operand, scope);
        if (is_nullish(v)) return null_value();
        if (!v.is_number())
            base::fail(base::kTypeMismatch, "$multiply only supports numeric types, not {}",
                       bson::name_of(v.type()));
        type = wider(type, v.type());
        real *= v.to_double();
        if (type != Type::number_double && __builtin_mul_overflow(whole, v.to_int64(), &whole))
            type = Type::number_double;
    }
    return number(scope.arena, type, whole, real);
}

Value subtract(Scope& scope, const Operands& operands) {
    const Value a = operand_of("$subtract", operands[0], scope);
    const Value b = operand_of("$subtract", operands[1], scope);
    if (is_nullish(a) || is_nullish(b)) return null_value();
    if (a.is_number() && b.is_number()) {
        Type type = wider(a.type(), b.type());
        int64_t whole = 0;
        if (type != Type::number_double &&
            __builtin_sub_overflow(a.to_int64(), b.to_int64(), &whole))
            type = Type::number_double;
        return number(scope.arena, type, whole, a.to_double() - b.to_double());
    }
    int64_t ms = 0;
    if (a.type() == Type::date && b.type() == Type::date) {
        if (__builtin_sub_overflow(a.as_date(), b.as_date(), &ms))
            base::fail(base::kOverflow, "the difference of two dates is out of range");
        return make_long(scope.arena, ms);
    }
    if (a.type() == Type::date && b.is_number()) {
        if (__builtin_sub_overflow(a.as_date(), milliseconds_of(b), &ms))
            base::fail(base::kOverflow, "date overflow");
        return make_date(scope.arena, ms);
    }
    base::fail(base::kTypeMismatch, "can't $subtract {} from {}", bson::name_of(b.type()),
               bson::name_of(a.type()));
}

Value divide(Scope& scope, const Operands& operands) {
    const Value a = operand_of("$divide", operands[0], scope);
    const Value b = operand_of("$divide", operands[1], scope);
    if (a.is_number() && b.is_number()) {
        if (b.to_double() == 0) base::fail(base::kBadValue, "can't $divide by zero");
        return make_double(scope.arena, a.to_double() / b.to_double());
    }
    if (is_nullish(a) || is_nullish(b)) return null_value();
    base::fail(base::kTypeMismatch, "$divide only supports numeric types, not {} and {}",
               bson::name_of(a.type()), bson::name_of(b.type()));
}

}  // namespace

std::span<const Operator> arithmetic_operators() {
    constexpr int kAny = Operator::kAny;
    static constexpr Operator kTable[] = {
        {.name = "$add",
         .dialects = Dialects::v26,
         .least = 0,
         .most = kAny,
         .regroups = true,
         .apply = old_add},
        {.name = "$multiply",
         .dialects = Dialects::v26,
         .least = 0,
         .most = kAny,
         .regroups = true,
         .apply = old_multiply},
        {.name = "$subtract",
         .dialects = Dialects::v26,
         .least = 2,
         .most = 2,
         .apply = old_subtract},
        {.name = "$divide", .dialects = Dialects::v26, .least = 2, .most = 2, .apply = old_divide},
        {.name = "$mod", .dialects = Dialects::both, .least = 2, .most = 2, .apply = mod},
        {.name = "$add", .least = 0, .most = kAny, .apply = add},
        {.name = "$multiply", .least = 0, .most = kAny, .apply = multiply},
        {.name = "$subtract", .least = 2, .most = 2, .apply = subtract},
        {.name = "$divide", .least = 2, .most = 2, .apply = divide},
    };
    return kTable;
}

}  // namespace query

// $add $subtract $multiply $divide $mod.
//
// For clients of 2.6 int64 arithmetic wraps around; for later ones it goes on in doubles. These get
// a decimal where one operand is one; those of 2.6 an error.

#include <cmath>
#include <limits>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/decimal_number.h"
#include "bson/type_names.h"
#include "query/expression/operators.h"
#include "query/value/exact_sum.h"

namespace query {

using bson::DecimalNumber;
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

bool is_decimal(const Value& v) {
    return v.type() == Type::decimal128;
}

// The next number to calculate with for clients of 2.6, which may turn out to be none.
Value old_operand(std::string_view name, const ExpressionPtr& expression, Scope& scope) {
    const Value v = expression->evaluate(scope);
    if (is_decimal(v)) refuse_decimal(name);
    return v;
}

Value old_add(Scope& scope, const Operands& operands) {
    Type type = Type::int32;
    int64_t whole = 0;
    double real = 0;
    bool date = false;
    for (const ExpressionPtr& operand : operands) {
        const Value v = old_operand("$add", operand, scope);
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
        const Value v = old_operand("$multiply", operand, scope);
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
    const Value a = old_operand("$subtract", operands[0], scope);
    const Value b = old_operand("$subtract", operands[1], scope);
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
    const Value a = old_operand("$divide", operands[0], scope);
    const Value b = old_operand("$divide", operands[1], scope);
    if (a.is_number() && b.is_number()) {
        const double divisor = b.to_double();
        if (divisor == 0) base::fail(16608, "can't $divide by zero");
        return make_double(scope.arena, a.to_double() / divisor);
    }
    if (is_nullish(a) || is_nullish(b)) return null_value();
    base::fail(16609, "$divide only supports numeric types, not {} and {}", type_name(a.type()),
               type_name(b.type()));
}

// REQUIRES: numbers, and no decimals.
Value remainder(Arena& arena, const Value& a, const Value& b) {
    const double divisor = b.to_double();
    if (divisor == 0) base::fail(16610, "can't $mod by 0");
    // A whole double divisor that fits an int32 counts as an integer.
    const bool whole_divisor = divisor == std::trunc(divisor) &&
                               divisor >= std::numeric_limits<int32_t>::min() &&
                               divisor <= std::numeric_limits<int32_t>::max();
    if (a.type() == Type::number_double || (b.type() == Type::number_double && !whole_divisor)) {
        return make_double(arena, std::fmod(a.to_double(), divisor));
    }
    const int64_t right = long_of(b);
    DCHECK(right != 0);
    const int64_t rest = right == -1 ? 0 : long_of(a) % right;
    const bool is_long = a.type() == Type::int64 || b.type() == Type::int64;
    return number(arena, is_long ? Type::int64 : Type::int32, rest, 0);
}

Value mod_of(Arena& arena, const Value& a, const Value& b) {
    if (is_nullish(a) || is_nullish(b)) return null_value();
    if (!a.is_number() || !b.is_number()) {
        base::fail(16611, "$mod only supports numeric types, not {} and {}", type_name(a.type()),
                   type_name(b.type()));
    }
    if (!is_decimal(a) && !is_decimal(b)) return remainder(arena, a, b);
    if (!is_true(b)) base::fail(16610, "can't $mod by 0");
    return make_decimal(arena, DecimalNumber::of(a).remainder(DecimalNumber::of(b)));
}

Value old_mod(Scope& scope, const Operands& operands) {
    const Value a = old_operand("$mod", operands[0], scope);
    return mod_of(scope.arena, a, old_operand("$mod", operands[1], scope));
}

Value mod(Scope& scope, const Operands& operands) {
    const Value a = operands[0]->evaluate(scope);
    return mod_of(scope.arena, a, operands[1]->evaluate(scope));
}

// Returns the whole milliseconds that are added to a date, or taken from it.
int64_t milliseconds_of(const Value& v) {
    DCHECK(v.is_number());
    constexpr double kLimit = 9223372036854775808.0;
    const double ms = v.to_double();
    const bool fits =
        is_decimal(v) ? DecimalNumber::of(v).fits_int64() : ms >= -kLimit && ms < kLimit;
    if (!fits) base::fail(base::kOverflow, "a date is out of range");
    return v.to_int64();
}

int64_t date_sum(int64_t date, int64_t ms) {
    int64_t sum = 0;
    if (__builtin_add_overflow(date, ms, &sum)) base::fail(base::kOverflow, "date overflow");
    return sum;
}

// Integers are counted exactly; each number behind the first double or decimal is added to what
// there is, which is of the wider type then.
class Total {
  public:
    void add(const Value& v) {
        DCHECK(v.is_number());
        if (!decimal_ && is_decimal(v))
            decimal_ = real_ ? DecimalNumber::of_double(*real_) : integers_.as_decimal();
        if (decimal_) {
            decimal_ = *decimal_ + DecimalNumber::of(v);
        } else if (real_) {
            *real_ += v.to_double();
        } else if (v.type() == Type::number_double) {
            real_ = integers_.as_double() + v.as_double();
        } else {
            integers_.add(v);
        }
    }
    Value value(Arena& arena) const {
        if (decimal_) return make_decimal(arena, *decimal_);
        return real_ ? make_double(arena, *real_) : integers_.value(arena);
    }

  private:
    ExactSum integers_;
    std::optional<double> real_;
    std::optional<DecimalNumber> decimal_;
};

Value add(Scope& scope, const Operands& operands) {
    Total total;
    Value date;
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand->evaluate(scope);
        if (v.is_number()) {
            total.add(v);
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
    const Value sum = total.value(scope.arena);
    if (!date) return sum;
    return make_date(scope.arena, date_sum(date.as_date(), milliseconds_of(sum)));
}

Value multiply(Scope& scope, const Operands& operands) {
    Type type = Type::int32;
    int64_t whole = 1;
    double real = 1;
    std::optional<DecimalNumber> decimal;
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand->evaluate(scope);
        if (is_nullish(v)) return null_value();
        if (!v.is_number())
            base::fail(base::kTypeMismatch, "$multiply only supports numeric types, not {}",
                       bson::name_of(v.type()));
        if (!decimal && is_decimal(v))
            decimal = DecimalNumber::of(number(scope.arena, type, whole, real));
        if (decimal) {
            decimal = *decimal * DecimalNumber::of(v);
            continue;
        }
        type = wider(type, v.type());
        real *= v.to_double();
        if (type != Type::number_double && __builtin_mul_overflow(whole, v.to_int64(), &whole))
            type = Type::number_double;
    }
    if (decimal) return make_decimal(scope.arena, *decimal);
    return number(scope.arena, type, whole, real);
}

Value subtract(Scope& scope, const Operands& operands) {
    const Value a = operands[0]->evaluate(scope);
    const Value b = operands[1]->evaluate(scope);
    if (is_nullish(a) || is_nullish(b)) return null_value();
    if (a.is_number() && b.is_number()) {
        if (is_decimal(a) || is_decimal(b))
            return make_decimal(scope.arena, DecimalNumber::of(a) - DecimalNumber::of(b));
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
    const Value a = operands[0]->evaluate(scope);
    const Value b = operands[1]->evaluate(scope);
    if (a.is_number() && b.is_number()) {
        if (!is_true(b)) base::fail(base::kBadValue, "can't $divide by zero");
        if (is_decimal(a) || is_decimal(b))
            return make_decimal(scope.arena, DecimalNumber::of(a) / DecimalNumber::of(b));
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
        {.name = "$mod", .dialects = Dialects::v26, .least = 2, .most = 2, .apply = old_mod},
        {.name = "$add", .least = 0, .most = kAny, .apply = add},
        {.name = "$multiply", .least = 0, .most = kAny, .apply = multiply},
        {.name = "$subtract", .least = 2, .most = 2, .apply = subtract},
        {.name = "$divide", .least = 2, .most = 2, .apply = divide},
        {.name = "$mod", .least = 2, .most = 2, .apply = mod},
    };
    return kTable;
}

}  // namespace query

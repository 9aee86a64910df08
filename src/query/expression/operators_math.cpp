// $abs $ceil $floor $round $trunc, powers and logarithms, angles, bits.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <string>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/decimal_number.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/expression/operators.h"
#include "sched/tick.h"

namespace query {

using bson::DecimalNumber;
using bson::Type;

namespace {

bool is_integer(const Value& v) {
    return v.type() == Type::int32 || v.type() == Type::int64;
}

Value as_type_of(Arena& arena, const Value& like, int64_t whole) {
    DCHECK(is_integer(like));
    return like.type() == Type::int64 ? make_long(arena, whole) : make_int_or_long(arena, whole);
}

bool is_decimal(const Value& v) {
    return v.type() == Type::decimal128;
}

// A function of doubles, and the same of decimals.
using OfDouble = double (*)(double);
using OfDecimal = DecimalNumber (DecimalNumber::*)() const;

template <OfDecimal Function>
Value decimal(const Call& call, const Value& v) {
    DCHECK(is_decimal(v));
    return make_decimal(call.arena, (DecimalNumber::of(v).*Function)());
}

template <OfDouble Function, OfDecimal Exact>
Value of_real(const Call& call, Values v) {
    if (is_decimal(v[0])) return decimal<Exact>(call, v[0]);
    return make_double(call.arena, Function(v[0].to_double()));
}

// Returns an integer as it is.
template <OfDouble Function, OfDecimal Exact>
Value of_fraction(const Call& call, Values v) {
    return is_integer(v[0]) ? v[0] : of_real<Function, Exact>(call, v);
}

bool is_decimal(Values v) {
    return std::ranges::any_of(v, [](const Value& one) { return is_decimal(one); });
}

// Texts of numbers in messages.
std::string text_in_message(const Value& v) {
    return std::string(std::string_view(text_of(v, dialect::kToday)));
}

// Whether it is a number above zero, or NaN, which goes on as NaN.
bool is_positive_or_nan(const Value& v) {
    if (!is_decimal(v)) return !(v.to_double() <= 0);
    const DecimalNumber number = DecimalNumber::of(v);
    return number.is_nan() || DecimalNumber() < number;
}

Value absolute(const Call& call, Values v) {
    if (!is_integer(v[0])) return of_real<std::fabs, &DecimalNumber::abs>(call, v);
    const int64_t whole = v[0].to_int64();
    if (whole == std::numeric_limits<int64_t>::min())
        base::fail(28680, "can't take $abs of long long min");
    return as_type_of(call.arena, v[0], whole < 0 ? -whole : whole);
}

// A function of numbers between two limits, which an infinity may lie beyond.
template <OfDouble Function, OfDecimal Exact, int Least, int Most, bool Open>
Value bounded(const Call& call, Values v) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double least = Open ? -kInfinity : Least;
    const double most = Open || Most == 0 ? kInfinity : Most;
    bool outside = false;
    if (is_decimal(v[0])) {
        const DecimalNumber x = DecimalNumber::of(v[0]);
        outside = Open ? x.is_infinite()
                       : x < DecimalNumber::of_integer(Least) ||
                             (Most != 0 && DecimalNumber::of_integer(Most) < x);
    } else {
        const double x = v[0].to_double();
        outside = Open ? std::isinf(x) : x < least || x > most;
    }
    if (outside)
        base::fail(50989, "cannot apply {} to {}, value must be in {}{},{}{}", call.name,
                   text_in_message(v[0]), Open ? '(' : '[', least, most, Open ? ')' : ']');
    return of_real<Function, Exact>(call, v);
}

// Degrees in radians, or the other way.
template <bool ToRadians>
Value turned(const Call& call, Values v) {
    constexpr double kFactor = ToRadians ? std::numbers::pi / 180 : 180 / std::numbers::pi;
    if (!is_decimal(v[0])) return make_double(call.arena, v[0].to_double() * kFactor);
    static const DecimalNumber kDigits =
        DecimalNumber::of_text(ToRadians ? "0.01745329251994329576923690768488613"
                                         : "57.29577951308232087679815481410517")
            .value();
    return make_decimal(call.arena, DecimalNumber::of(v[0]) * kDigits);
}

Value arc_tangent(const Call& call, Values v) {
    if (is_decimal(v))
        return make_decimal(call.arena,
                            DecimalNumber::of(v[0]).arc_tangent(DecimalNumber::of(v[1])));
    return make_double(call.arena, std::atan2(v[0].to_double(), v[1].to_double()));
}

Value square_root(const Call& call, Values v) {
    if (is_true(v[0]) && !is_positive_or_nan(v[0]))
        base::fail(28714, "$sqrt's argument must be greater than or equal to 0");
    return of_real<std::sqrt, &DecimalNumber::sqrt>(call, v);
}

template <OfDouble Function, OfDecimal Exact, int Code>
Value logarithm(const Call& call, Values v) {
    if (!is_positive_or_nan(v[0]))
        base::fail(Code, "{}'s argument must be a positive number, but is {}", call.name,
                   text_in_message(v[0]));
    return of_real<Function, Exact>(call, v);
}

void check_number(const Value& v, int code, std::string_view what) {
    if (!v.is_number())
        base::fail(code, "{} must be numeric, not {}", what, bson::name_of(v.type()));
}

Value logarithm_to_base(const Call& call, Values v) {
    check_number(v[0], 28756, "$log's argument");
    check_number(v[1], 28757, "$log's base");
    if (!is_positive_or_nan(v[0]))
        base::fail(28758, "$log's argument must be a positive number, but is {}",
                   text_in_message(v[0]));
    const Value one = make_int(call.arena, 1);
    if (!is_positive_or_nan(v[1]) || bson::compare_values(v[1], one) == 0)
        base::fail(28759, "$log's base must be a positive number not equal to 1, but is {}",
                   text_in_message(v[1]));
    if (is_decimal(v))
        return make_decimal(call.arena, DecimalNumber::of(v[0]).logarithm(DecimalNumber::of(v[1])));
    return make_double(call.arena, std::log(v[0].to_double()) / std::log(v[1].to_double()));
}

// *power is base^exponent where that is an int64.
bool whole_power(int64_t base, int64_t exponent, int64_t* power) {
    if (exponent < 0) {  // of an int64 only 1 and -1 have one
        if (base != 1 && base != -1) return false;
        exponent = exponent % 2 == 0 ? 0 : 1;
    }
    *power = 1;
    for (int64_t square = base;; exponent /= 2) {
        if (exponent % 2 == 1 && __builtin_mul_overflow(*power, square, power)) return false;
        if (exponent <= 1) return true;
        if (__builtin_mul_overflow(square, square, &square)) return false;
    }
}

Value power(const Call& call, Values v) {
    check_number(v[0], 28762, "$pow's base");
    check_number(v[1], 28763, "$pow's exponent");
    if (!is_true(v[0]) && is_true(v[1]) && !is_positive_or_nan(v[1]))
        base::fail(28764, "$pow cannot take a base of 0 and a negative exponent");
    if (is_decimal(v))
        return make_decimal(call.arena, DecimalNumber::of(v[0]).power(DecimalNumber::of(v[1])));
    int64_t whole = 0;
    if (is_integer(v[0]) && is_integer(v[1]) &&
        whole_power(v[0].to_int64(), v[1].to_int64(), &whole))
        return as_type_of(call.arena, v[0].type() == Type::int64 ? v[0] : v[1], whole);
    return make_double(call.arena, std::pow(v[0].to_double(), v[1].to_double()));
}

// Both are excluded.
constexpr int kPlacesMin = -20;
constexpr int kPlacesMax = 100;

int places_of(const Call& call, const Value& v) {
    if (v.missing()) return 0;
    const double places = v.to_double();
    if (!v.is_number() || places != std::trunc(places))
        base::fail(51082, "precision argument to {} must be an integral value", call.name);
    if (places <= kPlacesMin || places >= kPlacesMax)
        base::fail(51083, "cannot apply {} with precision value {} value must be in ({}, {})",
                   call.name, places, kPlacesMin, kPlacesMax);
    return static_cast<int>(places);
}

// Digits of a whole number, one more in the last place.
void count_up(std::string& digits) {
    for (size_t i = digits.size(); i-- > 0;) {
        if (digits[i] != '9') {
            ++digits[i];
            return;
        }
        digits[i] = '0';
    }
    digits.insert(0, "1");
}

// Rounds or cuts by all digits that a double has, so that a value exactly in the middle goes to the
// even neighbour.
double at_places(double x, int places, bool rounds) {
    DCHECK(places >= kPlacesMin && places <= kPlacesMax);
    constexpr int kFractionMax = 1074;  // digits that the smallest double has behind the point
    constexpr int kWholeMax = 310;
    constexpr int64_t kTicksPerText = 32;  // sched/tick.h
    if (!std::isfinite(x)) return x;
    if (places == 0) return rounds ? std::nearbyint(x) : std::trunc(x);
    sched::tick(kTicksPerText);
    char text[kWholeMax + kFractionMax + 3];
    std::snprintf(text, sizeof text, "%.*f", kFractionMax, std::fabs(x));
    std::string digits(text);
    const size_t point = digits.find('.');
    digits.erase(point, 1);
    // At least one digit before those that go.
    constexpr size_t kZeros = 1 - kPlacesMin;
    digits.insert(0, kZeros, '0');
    const int kept_digits = static_cast<int>(point) - kPlacesMin + 1 + places;
    DCHECK(kept_digits > 0);
    const auto kept = static_cast<size_t>(kept_digits);
    const std::string dropped = digits.substr(std::min(kept, digits.size()));
    digits.resize(std::min(kept, digits.size()));
    if (rounds && !dropped.empty()) {
        const bool above_half =
            dropped[0] > '5' ||
            (dropped[0] == '5' && dropped.find_first_not_of('0', 1) != std::string::npos);
        const bool half = dropped[0] == '5' && !above_half;
        if (above_half || (half && (digits.back() - '0') % 2 == 1)) count_up(digits);
    }
    digits += "e" + std::to_string(-places);
    return std::copysign(std::strtod(digits.c_str(), nullptr), x);
}

Value whole_at_places(const Call& call, const Value& v, int places, bool rounds) {
    if (places >= 0) return v;
    constexpr int kDigits = 19;  // of 2^63
    __extension__ using Wide = __int128;
    Wide unit = 1;
    for (int i = 0; i < std::min(-places, kDigits + 1); ++i)
        unit *= 10;
    const int64_t whole = v.to_int64();
    const Wide rest = whole % unit;
    Wide result = whole - rest;
    const Wide twice = rest < 0 ? -2 * rest : 2 * rest;
    const bool is_odd = result / unit % 2 != 0;
    if (rounds && (twice > unit || (twice == unit && is_odd))) result += rest < 0 ? -unit : unit;
    const auto narrow = static_cast<int64_t>(result);
    if (narrow != result)
        base::fail(51080, "the result of {} of {} to {} places does not fit into a long", call.name,
                   whole, places);
    return as_type_of(call.arena, v, narrow);
}

template <bool Rounds>
Value to_places(const Call& call, Values v) {
    const Value places = v.size() > 1 ? v[1] : Value();
    if (is_nullish(v[0]) || (v.size() > 1 && is_nullish(places))) return null_value();
    if (!v[0].is_number())
        base::fail(51081, "{} only supports numeric types, not {}", call.name,
                   bson::name_of(v[0].type()));
    const int n = places_of(call, places);
    if (is_decimal(v[0])) {
        constexpr auto kHow = Rounds ? DecimalNumber::Places::round : DecimalNumber::Places::cut;
        return make_decimal(call.arena, DecimalNumber::of(v[0]).at_places(n, kHow));
    }
    if (is_integer(v[0])) return whole_at_places(call, v[0], n, Rounds);
    return make_double(call.arena, at_places(v[0].as_double(), n, Rounds));
}

enum class Bits { all, any, different };

template <Bits How>
Value bits(const Call& call, Values v) {
    Type type = Type::int32;
    int64_t result = How == Bits::all ? -1 : 0;
    for (const Value& operand : v) {
        DCHECK(is_integer(operand));
        if (operand.type() == Type::int64) type = Type::int64;
        const int64_t whole = operand.to_int64();
        if (How == Bits::all) result &= whole;
        if (How == Bits::any) result |= whole;
        if (How == Bits::different) result ^= whole;
    }
    return type == Type::int64 ? make_long(call.arena, result)
                               : make_int(call.arena, static_cast<int32_t>(result));
}

Value bits_not(const Call& call, Values v) {
    return v[0].type() == Type::int64 ? make_long(call.arena, ~v[0].as_int64())
                                      : make_int(call.arena, ~v[0].as_int32());
}

constexpr Operator number_operator(std::string_view name, Operator::Compute compute,
                                   int code = 28765) {
    return {.name = name,
            .takes = Takes::numbers,
            .takes_code = code,
            .null_gives_null = true,
            .compute = compute};
}

constexpr Operator bit_operator(std::string_view name, Operator::Compute compute) {
    return {.name = name,
            .least = 0,
            .most = Operator::kAny,
            .takes = Takes::integers,
            .null_gives_null = true,
            .compute = compute};
}

constexpr Operator place_operator(std::string_view name, Operator::Compute compute) {
    return {.name = name, .most = 2, .arity_code = 28667, .compute = compute};
}

}  // namespace

std::span<const Operator> math_operators() {
    static constexpr Operator kTable[] = {
        number_operator("$abs", absolute),
        number_operator("$ceil", of_fraction<std::ceil, &DecimalNumber::ceil>),
        number_operator("$floor", of_fraction<std::floor, &DecimalNumber::floor>),
        place_operator("$round", to_places<true>),
        place_operator("$trunc", to_places<false>),
        number_operator("$exp", of_real<std::exp, &DecimalNumber::exp>),
        number_operator("$sqrt", square_root),
        number_operator("$ln", logarithm<std::log, &DecimalNumber::log, 28766>),
        number_operator("$log10", logarithm<std::log10, &DecimalNumber::log10, 28761>),
        {.name = "$log",
         .least = 2,
         .most = 2,
         .null_gives_null = true,
         .compute = logarithm_to_base},
        {.name = "$pow", .least = 2, .most = 2, .null_gives_null = true, .compute = power},
        number_operator("$sin", bounded<std::sin, &DecimalNumber::sin, 0, 0, true>),
        number_operator("$cos", bounded<std::cos, &DecimalNumber::cos, 0, 0, true>),
        number_operator("$tan", bounded<std::tan, &DecimalNumber::tan, 0, 0, true>),
        number_operator("$asin", bounded<std::asin, &DecimalNumber::asin, -1, 1, false>),
        number_operator("$acos", bounded<std::acos, &DecimalNumber::acos, -1, 1, false>),
        number_operator("$atan", of_real<std::atan, &DecimalNumber::atan>),
        {.name = "$atan2",
         .least = 2,
         .most = 2,
         .takes = Takes::numbers,
         .takes_code = 51044,
         .null_gives_null = true,
         .compute = arc_tangent},
        number_operator("$sinh", of_real<std::sinh, &DecimalNumber::sinh>),
        number_operator("$cosh", of_real<std::cosh, &DecimalNumber::cosh>),
        number_operator("$tanh", of_real<std::tanh, &DecimalNumber::tanh>),
        number_operator("$asinh", of_real<std::asinh, &DecimalNumber::asinh>),
        number_operator("$acosh", bounded<std::acosh, &DecimalNumber::acosh, 1, 0, false>),
        number_operator("$atanh", bounded<std::atanh, &DecimalNumber::atanh, -1, 1, false>),
        number_operator("$degreesToRadians", turned<true>),
        number_operator("$radiansToDegrees", turned<false>),
        bit_operator("$bitAnd", bits<Bits::all>),
        bit_operator("$bitOr", bits<Bits::any>),
        bit_operator("$bitXor", bits<Bits::different>),
        {.name = "$bitNot", .takes = Takes::integers, .null_gives_null = true, .compute = bits_not},
    };
    return kTable;
}

}  // namespace query

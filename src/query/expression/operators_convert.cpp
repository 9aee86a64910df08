// $convert and its short forms, $type, $isNumber.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/decimal128.h"
#include "bson/decimal_number.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/expression/operators.h"
#include "query/value/date_text.h"

namespace query {

using bson::Type;

namespace {

[[noreturn]] void fail_conversion(const Value& v, Type to) {
    base::fail(base::kConversionFailure,
               "Unsupported conversion from {} to {} in $convert with no onError value",
               bson::name_of(v.type()), bson::name_of(to));
}

[[noreturn]] void fail_overflow(const Value& v) {
    base::fail(base::kConversionFailure,
               "Conversion would overflow target type in $convert with no onError value: {}",
               bson::to_text(v));
}

[[noreturn]] void fail_parsing(const Value& v, std::string_view why) {
    base::fail(base::kConversionFailure,
               "Failed to parse number {} in $convert with no onError value: {}", bson::to_text(v),
               why);
}

// The text of a number: a sign and digits at most, as from_chars and strtod read them, and not in
// another base.
std::string number_text(const Value& v) {
    DCHECK(v.is_string());
    std::string text(v.as_string());
    if (text.empty()) fail_parsing(v, "No digits");
    const size_t digits = text[0] == '-' || text[0] == '+' ? 1 : 0;
    if (text.substr(digits, 2) == "0x" || text.substr(digits, 2) == "0X")
        base::fail(base::kConversionFailure,
                   "Illegal hexadecimal input in $convert with no onError value: {}", text);
    if (text.size() == digits || std::isspace(static_cast<unsigned char>(text[0])) != 0 ||
        text[digits] == '-' || text[digits] == '+' || text.find('\0') != std::string::npos)
        fail_parsing(v, "Did not consume whole string.");
    return text;
}

int64_t integer_of_text(const Value& v) {
    const std::string text = number_text(v);
    const char* const begin = text.data() + (text[0] == '+' ? 1 : 0);
    const char* const end = text.data() + text.size();
    int64_t whole = 0;
    const auto [at, error] = std::from_chars(begin, end, whole);
    if (error == std::errc::result_out_of_range) fail_parsing(v, "Overflow");
    if (error != std::errc() || at != end) fail_parsing(v, "Did not consume whole string.");
    return whole;
}

double double_of_text(const Value& v) {
    const std::string text = number_text(v);
    char* at = nullptr;
    const double real = std::strtod(text.c_str(), &at);
    if (at != text.c_str() + text.size()) fail_parsing(v, "Did not consume whole string.");
    const bool says_infinity = text.find_first_of("iI") != std::string::npos;
    if (std::isinf(real) && !says_infinity) fail_parsing(v, "Out of range");
    return real;
}

// The whole part of a double or a decimal, within `least` and `most`.
int64_t whole_part(const Value& v, int64_t least, int64_t most) {
    DCHECK(v.type() == Type::number_double || v.type() == Type::decimal128);
    const double real = v.to_double();
    if (std::isnan(real))
        base::fail(
            base::kConversionFailure,
            "Attempt to convert NaN value to integer type in $convert with no onError value");
    if (std::isinf(real))
        base::fail(base::kConversionFailure,
                   "Attempt to convert infinity value to integer type in $convert with no onError "
                   "value");
    constexpr double kLimit = 9223372036854775808.0;
    const bool fits = v.type() == Type::decimal128 ? bson::DecimalNumber::of(v).fits_int64()
                                                   : real >= -kLimit && real < kLimit;
    if (!fits) fail_overflow(v);
    const int64_t whole = v.to_int64();
    if (whole < least || whole > most) fail_overflow(v);
    return whole;
}

int64_t integer_of(const Value& v, Type to) {
    DCHECK(to == Type::int32 || to == Type::int64);
    constexpr int64_t kInt32Min = std::numeric_limits<int32_t>::min();
    constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
    const int64_t least = to == Type::int32 ? kInt32Min : std::numeric_limits<int64_t>::min();
    const int64_t most = to == Type::int32 ? kInt32Max : std::numeric_limits<int64_t>::max();
    int64_t whole = 0;
    switch (v.type()) {
        case Type::int32:
        case Type::int64:
            whole = v.to_int64();
            break;
        case Type::number_double:
        case Type::decimal128:
            return whole_part(v, least, most);
        case Type::boolean:
            return v.as_bool() ? 1 : 0;
        case Type::string:
            whole = integer_of_text(v);
            break;
        case Type::date:
            if (to == Type::int64) return v.as_date();
            [[fallthrough]];
        default:
            fail_conversion(v, to);
    }
    if (whole < least || whole > most) fail_overflow(v);
    return whole;
}

double double_of(const Value& v) {
    if (v.type() == Type::boolean) return v.as_bool() ? 1 : 0;
    if (v.type() == Type::date) return static_cast<double>(v.as_date());
    if (v.is_string()) return double_of_text(v);
    if (!v.is_number()) fail_conversion(v, Type::number_double);
    const double real = v.to_double();
    if (std::isinf(real) && v.type() == Type::decimal128 && bson::decimal128_is_finite(v.value()))
        fail_overflow(v);
    return real;
}

Value decimal_of(Arena& arena, const Value& v) {
    using bson::DecimalNumber;
    if (v.type() == Type::decimal128) return v;
    if (v.is_number()) return make_decimal(arena, DecimalNumber::of(v));
    if (v.type() == Type::boolean)
        return make_decimal(arena, DecimalNumber::of_integer(v.as_bool() ? 1 : 0));
    if (v.type() == Type::date) return make_decimal(arena, DecimalNumber::of_integer(v.as_date()));
    if (!v.is_string()) fail_conversion(v, Type::decimal128);
    const auto number = DecimalNumber::of_text(number_text(v));
    if (!number) fail_parsing(v, "it is no decimal number, or out of range");
    return make_decimal(arena, *number);
}

Value text_value(Arena& arena, const Value& v) {
    switch (v.type()) {
        case Type::string:
            return v;
        case Type::boolean:
            return make_string(arena, v.as_bool() ? "true" : "false");
        case Type::number_double:
        case Type::int32:
        case Type::int64:
        case Type::decimal128:
        case Type::date:
            return make_string(arena, text_of(v, dialect::kToday));
        case Type::object_id: {
            std::string text;
            constexpr char kDigits[] = "0123456789abcdef";
            for (const uint8_t byte : v.as_object_id().bytes) {
                text += kDigits[byte >> 4];
                text += kDigits[byte & 15];
            }
            return make_string(arena, text);
        }
        default:
            fail_conversion(v, Type::string);
    }
}

Value object_id_of(Arena& arena, const Value& v) {
    if (v.type() == Type::object_id) return v;
    if (!v.is_string()) fail_conversion(v, Type::object_id);
    const std::string_view text = v.as_string();
    uint8_t bytes[12];
    bool is_one = text.size() == 2 * sizeof bytes;
    for (size_t i = 0; is_one && i < sizeof bytes; ++i) {
        const char* const begin = text.data() + 2 * i;
        const auto [at, error] = std::from_chars(begin, begin + 2, bytes[i], 16);
        is_one = error == std::errc() && at == begin + 2;
    }
    if (!is_one)
        base::fail(base::kConversionFailure,
                   "Failed to parse objectId {} in $convert with no onError value: it must have 24 "
                   "hexadecimal digits",
                   bson::to_text(v));
    return make_value(arena, Type::object_id, bytes, sizeof bytes);
}

Value date_value(Arena& arena, const Value& v) {
    constexpr auto kInt64Min = std::numeric_limits<int64_t>::min();
    constexpr auto kInt64Max = std::numeric_limits<int64_t>::max();
    switch (v.type()) {
        case Type::date:
            return v;
        case Type::int64:
            return make_date(arena, v.as_int64());
        case Type::number_double:
        case Type::decimal128:
            return make_date(arena, whole_part(v, kInt64Min, kInt64Max));
        case Type::timestamp:
        case Type::object_id:
            return make_date(arena, instant_of(v));
        case Type::string:
            return make_date(arena, parse_date(v.as_string(), nullptr));
        default:
            fail_conversion(v, Type::date);
    }
}

Value converted(Arena& arena, const Value& v, Type to) {
    switch (to) {
        case Type::number_double:
            return make_double(arena, double_of(v));
        case Type::string:
            return text_value(arena, v);
        case Type::object_id:
            return object_id_of(arena, v);
        case Type::boolean:
            return bool_value(v.is_number() || v.type() == Type::boolean ? is_true(v) : true);
        case Type::date:
            return date_value(arena, v);
        case Type::int32:
            return make_int(arena, static_cast<int32_t>(integer_of(v, to)));
        case Type::int64:
            return make_long(arena, integer_of(v, to));
        case Type::decimal128:
            return decimal_of(arena, v);
        default:
            fail_conversion(v, to);
    }
}

Type target_type(const Value& to) {
    if (to.is_string()) {
        const auto type = bson::type_of_name(to.as_string());
        if (!type) base::fail(base::kBadValue, "Unknown type name: {}", to.as_string());
        return *type;
    }
    if (!to.is_number())
        base::fail(base::kFailedToParse,
                   "$convert's 'to' argument must be a string or number, but is {}",
                   bson::name_of(to.type()));
    const int64_t number = to.to_int64();
    if (to.to_double() != static_cast<double>(number) || !bson::is_type(number))
        base::fail(base::kFailedToParse,
                   "In $convert, numeric value for 'to' does not correspond to a BSON type: {}",
                   bson::to_text(to));
    return static_cast<Type>(number);
}

enum ConvertOperand { kInput, kTo, kOnError, kOnNull };

Value convert(Scope& scope, const Operands& operands) {
    DCHECK(operands.size() > kOnNull);
    const Value to = operands[kTo]->evaluate(scope);
    const Value input = operands[kInput]->evaluate(scope);
    std::optional<Type> type;
    if (!is_nullish(to)) type = target_type(to);
    if (is_nullish(input))
        return operands[kOnNull] ? operands[kOnNull]->evaluate(scope) : null_value();
    if (!type) return null_value();
    try {
        return converted(scope.arena, input, *type);
    } catch (const base::Error& e) {
        if (e.code() != base::kConversionFailure || operands[kOnError] == nullptr) throw;
    }
    return operands[kOnError]->evaluate(scope);
}

template <Type To>
Value convert_to(const Call& call, Values v) {
    return converted(call.arena, v[0], To);
}

Value type_of(const Call& call, Values v) {
    return make_string(call.arena, bson::name_of(v[0].type()));
}

Value is_number(const Call&, Values v) {
    return bool_value(v[0].is_number());
}

constexpr NamedOperand kConvert[] = {
    {"input", base::kFailedToParse}, {"to", base::kFailedToParse}, {"onError"}, {"onNull"}};

constexpr Operator conversion(std::string_view name, Operator::Compute compute) {
    return {.name = name, .arity_code = 50723, .null_gives_null = true, .compute = compute};
}

}  // namespace

std::span<const Operator> conversion_operators() {
    static constexpr Operator kTable[] = {
        {.name = "$convert",
         .by_name = {kConvert, base::kFailedToParse, base::kFailedToParse},
         .apply = convert},
        conversion("$toDouble", convert_to<Type::number_double>),
        conversion("$toString", convert_to<Type::string>),
        conversion("$toObjectId", convert_to<Type::object_id>),
        conversion("$toBool", convert_to<Type::boolean>),
        conversion("$toDate", convert_to<Type::date>),
        conversion("$toInt", convert_to<Type::int32>),
        conversion("$toLong", convert_to<Type::int64>),
        conversion("$toDecimal", convert_to<Type::decimal128>),
        {.name = "$type", .compute = type_of},
        {.name = "$isNumber", .compute = is_number},
    };
    return kTable;
}

}  // namespace query

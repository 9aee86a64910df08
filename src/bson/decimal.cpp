#include "bson/decimal.h"

#include <fmt/core.h>

#include <cmath>

#include "bson/decimal128.h"
#include "bson/view.h"

namespace bson {

namespace {

// Returns the digits of a finite number.
Digits exact_digits(const Element& number) {
    if (number.type() == Type::decimal128) return digits_of(decimal128_text(number.value()));
    if (number.type() == Type::number_double) {
        // No double has more digits than these.
        constexpr int kDigits = 767;
        return digits_of(fmt::format("{:.{}e}", number.as_double(), kDigits - 1));
    }
    return digits_of(std::to_string(number.to_int64()));
}

int three_way(int a, int b) {
    return a < b ? -1 : (a > b ? 1 : 0);
}

int compare_sizes(const Digits& a, const Digits& b) {
    if (a.digits.empty() || b.digits.empty())
        return three_way(a.digits.empty() ? 0 : 1, b.digits.empty() ? 0 : 1);
    if (a.exponent != b.exponent) return three_way(a.exponent, b.exponent);
    return three_way(a.digits.compare(b.digits), 0);
}

bool is_finite(const Element& number) {
    if (number.type() == Type::decimal128) return decimal128_is_finite(number.value());
    return std::isfinite(number.to_double());
}

}  // namespace

int compare_decimal(const Element& a, const Element& b) {
    const double real_a = a.to_double();
    const double real_b = b.to_double();
    if (std::isnan(real_a) || std::isnan(real_b))
        return three_way(std::isnan(real_a) ? 0 : 1, std::isnan(real_b) ? 0 : 1);
    // Rounding keeps the order, so only equal doubles leave a question.
    if (real_a != real_b) return real_a < real_b ? -1 : 1;
    // An int64 from 2^53 on meets a double as a double. A decimal meets one in the same way: else
    // one that equals an int64 would differ from the double that this equals, and stand between
    // them in an index.
    constexpr double kInt64End = 9223372036854775808.0;
    const bool one_is_double = a.type() == Type::number_double || b.type() == Type::number_double;
    const double size = std::abs(real_a);
    if (one_is_double && size >= kExactDoublesEnd && size <= kInt64End) return 0;
    const bool finite_a = is_finite(a);
    const bool finite_b = is_finite(b);
    const int sign = real_a < 0 ? -1 : 1;
    if (!finite_a || !finite_b) return three_way(finite_a ? 0 : 1, finite_b ? 0 : 1) * sign;
    const Digits exact_a = exact_digits(a);
    const Digits exact_b = exact_digits(b);
    if (exact_a.negative != exact_b.negative) {
        const int side_a = exact_a.digits.empty() ? 0 : (exact_a.negative ? -1 : 1);
        const int side_b = exact_b.digits.empty() ? 0 : (exact_b.negative ? -1 : 1);
        return three_way(side_a, side_b);
    }
    return compare_sizes(exact_a, exact_b) * (exact_a.negative ? -1 : 1);
}

bool has_decimal(const Element& value) {
    if (value.type() == Type::decimal128) return true;
    if (!value.is_object() && !value.is_array()) return false;
    for (const Element& e : value.as_doc()) {
        if (has_decimal(e)) return true;
    }
    return false;
}

}  // namespace bson

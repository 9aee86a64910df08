#include "bson/decimal.h"

#include <bson/bson.h>
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "bson/view.h"

namespace bson {

namespace {

// A finite number: its digits without zeros at either end (none: zero), of which the first one
// counts 10^exponent.
struct Digits {
    bool negative = false;
    std::string digits;
    int exponent = 0;
};

// From "-12.50E-3": what decimal128 and doubles are printed as.
Digits digits_of(const std::string& text) {
    Digits out;
    int point = 0;  // digits before the point
    bool seen_point = false;
    const char* p = text.c_str();
    if (*p == '-') {
        out.negative = true;
        ++p;
    }
    for (; *p != '\0' && *p != 'E' && *p != 'e'; ++p) {
        if (*p == '.') {
            seen_point = true;
            continue;
        }
        out.digits += *p;
        if (!seen_point) ++point;
    }
    if (*p != '\0') point += std::atoi(p + 1);
    const size_t first = out.digits.find_first_not_of('0');
    if (first == std::string::npos) return {};
    out.digits.erase(0, first);
    out.digits.erase(out.digits.find_last_not_of('0') + 1);
    out.exponent = point - static_cast<int>(first) - 1;
    return out;
}

Digits digits_of(const Element& number) {
    if (number.type() == Type::decimal128) return digits_of(decimal_text(number));
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
    if (number.type() == Type::decimal128) {
        // The five bits behind the sign are 11110 for infinities and 11111 for NaN.
        return (number.value()[15] & 0x78) != 0x78;
    }
    return std::isfinite(number.to_double());
}

}  // namespace

std::string decimal_text(const Element& decimal) {
    bson_decimal128_t number;
    number.low = load<uint64_t>(decimal.value());
    number.high = load<uint64_t>(decimal.value() + 8);
    char text[BSON_DECIMAL128_STRING];
    bson_decimal128_to_string(&number, text);
    return text;
}

double decimal_to_double(const Element& decimal) {
    return std::strtod(decimal_text(decimal).c_str(), nullptr);
}

int64_t decimal_to_int64(const Element& decimal) {
    constexpr int kMostDigits = 19;
    const double real = decimal_to_double(decimal);
    if (std::isnan(real)) return 0;
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    if (!is_finite(decimal)) return real < 0 ? kLeast : kMost;
    const Digits number = digits_of(decimal);
    if (number.digits.empty() || number.exponent < 0) return 0;
    if (number.exponent >= kMostDigits) return number.negative ? kLeast : kMost;
    uint64_t whole = 0;  // 19 digits fit
    for (int i = 0; i <= number.exponent; ++i) {
        const auto place = static_cast<size_t>(i);
        const char digit = place < number.digits.size() ? number.digits[place] : '0';
        whole = whole * 10 + static_cast<uint64_t>(digit - '0');
    }
    if (whole > static_cast<uint64_t>(kMost)) return number.negative ? kLeast : kMost;
    return number.negative ? -static_cast<int64_t>(whole) : static_cast<int64_t>(whole);
}

int compare_decimal(const Element& a, const Element& b) {
    const double real_a = a.to_double();
    const double real_b = b.to_double();
    if (std::isnan(real_a) || std::isnan(real_b))
        return three_way(std::isnan(real_a) ? 0 : 1, std::isnan(real_b) ? 0 : 1);
    // Rounding keeps the order, so only equal doubles leave a question.
    if (real_a != real_b) return real_a < real_b ? -1 : 1;
    const bool finite_a = is_finite(a);
    const bool finite_b = is_finite(b);
    const int sign = real_a < 0 ? -1 : 1;
    if (!finite_a || !finite_b) return three_way(finite_a ? 0 : 1, finite_b ? 0 : 1) * sign;
    const Digits exact_a = digits_of(a);
    const Digits exact_b = digits_of(b);
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

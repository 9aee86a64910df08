#include "bson/decimal128.h"

#include <bson/bson.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace bson {

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

std::string decimal128_text(const uint8_t* bytes) {
    bson_decimal128_t number;
    std::memcpy(&number.low, bytes, sizeof number.low);
    std::memcpy(&number.high, bytes + sizeof number.low, sizeof number.high);
    char text[BSON_DECIMAL128_STRING];
    bson_decimal128_to_string(&number, text);
    return text;
}

bool decimal128_from_text(const std::string& text, uint8_t* bytes) {
    bson_decimal128_t number;
    if (!bson_decimal128_from_string(text.c_str(), &number)) return false;
    std::memcpy(bytes, &number.low, sizeof number.low);
    std::memcpy(bytes + sizeof number.low, &number.high, sizeof number.high);
    return true;
}

double decimal128_to_double(const uint8_t* bytes) {
    return std::strtod(decimal128_text(bytes).c_str(), nullptr);
}

int64_t decimal128_to_int64(const uint8_t* bytes) {
    constexpr int kDigitsMax = 19;
    const double real = decimal128_to_double(bytes);
    if (std::isnan(real)) return 0;
    constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();
    constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
    if (!decimal128_is_finite(bytes)) return real < 0 ? kInt64Min : kInt64Max;
    const Digits number = digits_of(decimal128_text(bytes));
    if (number.digits.empty() || number.exponent < 0) return 0;
    if (number.exponent >= kDigitsMax) return number.negative ? kInt64Min : kInt64Max;
    uint64_t whole = 0;  // 19 digits fit
    for (int i = 0; i <= number.exponent; ++i) {
        const auto place = static_cast<size_t>(i);
        const char digit = place < number.digits.size() ? number.digits[place] : '0';
        whole = whole * 10 + static_cast<uint64_t>(digit - '0');
    }
    if (whole > static_cast<uint64_t>(kInt64Max)) return number.negative ? kInt64Min : kInt64Max;
    return number.negative ? -static_cast<int64_t>(whole) : static_cast<int64_t>(whole);
}

bool decimal128_is_finite(const uint8_t* bytes) {
    // The five bits behind the sign are 11110 for infinities and 11111 for NaN.
    return (bytes[15] & 0x78) != 0x78;
}

bool decimal128_is_zero(const uint8_t* bytes) {
    return decimal128_is_finite(bytes) && digits_of(decimal128_text(bytes)).digits.empty();
}

}  // namespace bson

#include "bson/decimal_number.h"

#include <bid_conf.h>
// It needs those of the header above.
#include <bid_functions.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/dcheck.h"
#include "bson/decimal128.h"
#include "bson/view.h"

namespace bson {

struct DecimalAccess {
    static BID_UINT128 in(const DecimalNumber& v) {
        BID_UINT128 out;
        std::memcpy(&out, v.words_, sizeof out);
        return out;
    }
    static DecimalNumber out(const BID_UINT128& v) {
        DecimalNumber number;
        std::memcpy(number.words_, &v, sizeof number.words_);
        return number;
    }
};

namespace {

constexpr _IDEC_round kHalfToEven = 0;
constexpr _IDEC_flags kInvalid = 0x01;
constexpr _IDEC_flags kOverflow = 0x08;
constexpr _IDEC_flags kUnderflow = 0x10;

using Rounding = BID_UINT128 (*)(BID_UINT128, _IDEC_round, _IDEC_flags*);
using Exact = BID_UINT128 (*)(BID_UINT128, _IDEC_flags*);
using RoundingTwo = BID_UINT128 (*)(BID_UINT128, BID_UINT128, _IDEC_round, _IDEC_flags*);

BID_UINT128 in(const DecimalNumber& v) {
    return DecimalAccess::in(v);
}

template <Rounding Function>
DecimalNumber call(const DecimalNumber& v) {
    _IDEC_flags flags = 0;
    return DecimalAccess::out(Function(in(v), kHalfToEven, &flags));
}

template <Exact Function>
DecimalNumber call(const DecimalNumber& v) {
    _IDEC_flags flags = 0;
    return DecimalAccess::out(Function(in(v), &flags));
}

template <RoundingTwo Function>
DecimalNumber call(const DecimalNumber& a, const DecimalNumber& b) {
    _IDEC_flags flags = 0;
    return DecimalAccess::out(Function(in(a), in(b), kHalfToEven, &flags));
}

bool equal(const DecimalNumber& a, const DecimalNumber& b) {
    _IDEC_flags flags = 0;
    return bid128_quiet_equal(in(a), in(b), &flags) != 0;
}

DecimalNumber read(std::string text, _IDEC_flags* flags) {
    return DecimalAccess::out(bid128_from_string(text.data(), kHalfToEven, flags));
}

// Passes over digits and returns how many there were.
size_t skip_digits(const char*& at) {
    const char* const begin = at;
    while (*at >= '0' && *at <= '9')
        ++at;
    return static_cast<size_t>(at - begin);
}

// The library takes a text for a number that only begins like one.
bool is_finite_number(const std::string& text) {
    const char* at = text.c_str();
    if (*at == '-' || *at == '+') ++at;
    size_t digits = skip_digits(at);
    if (*at == '.') digits += skip_digits(++at);
    if (digits == 0) return false;
    if (*at == 'e' || *at == 'E') {
        ++at;
        if (*at == '-' || *at == '+') ++at;
        if (skip_digits(at) == 0) return false;
    }
    return at == text.c_str() + text.size();
}

}  // namespace

DecimalNumber DecimalNumber::of(const Element& number) {
    DCHECK(number.is_number());
    if (number.type() == Type::number_double) return of_double(number.as_double());
    if (number.type() != Type::decimal128) return of_integer(number.to_int64());
    DecimalNumber out;
    std::memcpy(out.words_, number.value(), sizeof out.words_);
    return out;
}

DecimalNumber DecimalNumber::of_double(double v) {
    _IDEC_flags flags = 0;
    if (!std::isfinite(v) || v == 0)
        return DecimalAccess::out(binary64_to_bid128(v, kHalfToEven, &flags))
            .at_places(0, Places::cut);
    char text[40];
    std::snprintf(text, sizeof text, "%.14e", v);
    return read(text, &flags);
}

DecimalNumber DecimalNumber::of_integer(int64_t v) {
    return DecimalAccess::out(bid128_from_int64(v));
}

std::optional<DecimalNumber> DecimalNumber::of_text(const std::string& text) {
    _IDEC_flags flags = 0;
    if (is_finite_number(text)) {
        const DecimalNumber number = read(text, &flags);
        if ((flags & (kOverflow | kUnderflow)) != 0) return std::nullopt;
        return number;
    }
    DecimalNumber other;  // infinities and NaN
    if (!decimal128_from_text(text, reinterpret_cast<uint8_t*>(other.words_))) return std::nullopt;
    return other;
}

std::string DecimalNumber::text() const {
    return decimal128_text(bytes().data());
}

bool DecimalNumber::is_nan() const {
    return bid128_isNaN(in(*this)) != 0;
}

bool DecimalNumber::is_infinite() const {
    return bid128_isInf(in(*this)) != 0;
}

bool DecimalNumber::is_zero() const {
    return bid128_isZero(in(*this)) != 0;
}

bool DecimalNumber::fits_int64() const {
    _IDEC_flags flags = 0;
    static_cast<void>(bid128_to_int64_int(in(*this), &flags));  // cuts
    return (flags & kInvalid) == 0;
}

bool DecimalNumber::operator<(const DecimalNumber& other) const {
    _IDEC_flags flags = 0;
    return bid128_quiet_less(in(*this), in(other), &flags) != 0;
}

DecimalNumber DecimalNumber::operator+(const DecimalNumber& other) const {
    return call<bid128_add>(*this, other);
}

DecimalNumber DecimalNumber::operator-(const DecimalNumber& other) const {
    return call<bid128_sub>(*this, other);
}

DecimalNumber DecimalNumber::operator*(const DecimalNumber& other) const {
    return call<bid128_mul>(*this, other);
}

DecimalNumber DecimalNumber::operator/(const DecimalNumber& other) const {
    return call<bid128_div>(*this, other);
}

DecimalNumber DecimalNumber::remainder(const DecimalNumber& divisor) const {
    _IDEC_flags flags = 0;
    return DecimalAccess::out(bid128_fmod(in(*this), in(divisor), &flags));
}

DecimalNumber DecimalNumber::power(const DecimalNumber& exponent) const {
    return call<bid128_pow>(*this, exponent);
}

DecimalNumber DecimalNumber::logarithm(const DecimalNumber& base) const {
    constexpr int64_t kTen = 10;
    if (equal(base, of_integer(2))) return call<bid128_log2>(*this);
    if (equal(base, of_integer(kTen))) return log10();
    return log() / base.log();
}

DecimalNumber DecimalNumber::arc_tangent(const DecimalNumber& x) const {
    return call<bid128_atan2>(*this, x);
}

DecimalNumber DecimalNumber::abs() const {
    return DecimalAccess::out(bid128_abs(in(*this)));
}

DecimalNumber DecimalNumber::ceil() const {
    return call<bid128_round_integral_positive>(*this);
}

DecimalNumber DecimalNumber::floor() const {
    return call<bid128_round_integral_negative>(*this);
}

DecimalNumber DecimalNumber::at_places(int places, Places how) const {
    constexpr _IDEC_round kTowardZero = 3;
    constexpr int kExponentBias = 6176;
    constexpr int kExponentBit = 49;
    DecimalNumber unit;
    unit.words_[0] = 1;
    unit.words_[1] = static_cast<uint64_t>(kExponentBias - places) << kExponentBit;
    _IDEC_flags flags = 0;
    const BID_UINT128 out = bid128_quantize(
        in(*this), in(unit), how == Places::round ? kHalfToEven : kTowardZero, &flags);
    return (flags & kInvalid) != 0 ? *this : DecimalAccess::out(out);
}

DecimalNumber DecimalNumber::sqrt() const {
    return call<bid128_sqrt>(*this);
}

DecimalNumber DecimalNumber::exp() const {
    return call<bid128_exp>(*this);
}

DecimalNumber DecimalNumber::log() const {
    return call<bid128_log>(*this);
}

DecimalNumber DecimalNumber::log10() const {
    return call<bid128_log10>(*this);
}

DecimalNumber DecimalNumber::sin() const {
    return call<bid128_sin>(*this);
}

DecimalNumber DecimalNumber::cos() const {
    return call<bid128_cos>(*this);
}

DecimalNumber DecimalNumber::tan() const {
    return call<bid128_tan>(*this);
}

DecimalNumber DecimalNumber::asin() const {
    return call<bid128_asin>(*this);
}

DecimalNumber DecimalNumber::acos() const {
    return call<bid128_acos>(*this);
}

DecimalNumber DecimalNumber::atan() const {
    return call<bid128_atan>(*this);
}

DecimalNumber DecimalNumber::sinh() const {
    return call<bid128_sinh>(*this);
}

DecimalNumber DecimalNumber::cosh() const {
    return call<bid128_cosh>(*this);
}

DecimalNumber DecimalNumber::tanh() const {
    return call<bid128_tanh>(*this);
}

DecimalNumber DecimalNumber::asinh() const {
    return call<bid128_asinh>(*this);
}

DecimalNumber DecimalNumber::acosh() const {
    return call<bid128_acosh>(*this);
}

DecimalNumber DecimalNumber::atanh() const {
    return call<bid128_atanh>(*this);
}

}  // namespace bson

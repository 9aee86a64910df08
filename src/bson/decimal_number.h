// bson/decimal_number.h - a decimal128 to calculate with: 34 digits, rounded half to even, with the
// exponents that IEEE 754 prefers, so that 1.20 + 1.30 is 2.50. By Intel's library.
//
// Nothing here fails: what is too large becomes an infinity, what has no result NaN.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace bson {

class Element;

class DecimalNumber {
  public:
    DecimalNumber() = default;  // 0
    // Any number. Of a double the 15 digits count that are certain, zeros among them: 0.5 is
    // 0.500000000000000.
    static DecimalNumber of(const Element& number);
    static DecimalNumber of_double(double v);
    static DecimalNumber of_integer(int64_t v);
    // Reads "-12.50", "1E+3", "Infinity", "NaN". Nothing for other texts, and for numbers that are
    // too large, or too small to differ from 0.
    static std::optional<DecimalNumber> of_text(const std::string& text);

    std::span<const uint8_t> bytes() const {
        return {reinterpret_cast<const uint8_t*>(words_), sizeof words_};
    }
    std::string text() const;

    bool is_nan() const;
    bool is_infinite() const;
    bool is_zero() const;
    // Whether it is a number whose whole part is an int64.
    bool fits_int64() const;
    // False where one of them is NaN.
    bool operator<(const DecimalNumber& other) const;

    DecimalNumber operator+(const DecimalNumber& other) const;
    DecimalNumber operator-(const DecimalNumber& other) const;
    DecimalNumber operator*(const DecimalNumber& other) const;
    DecimalNumber operator/(const DecimalNumber& other) const;
    // The remainder is what is left of this one, with its sign.
    DecimalNumber remainder(const DecimalNumber& divisor) const;
    DecimalNumber power(const DecimalNumber& exponent) const;
    DecimalNumber logarithm(const DecimalNumber& base) const;
    DecimalNumber arc_tangent(const DecimalNumber& x) const;

    DecimalNumber abs() const;
    DecimalNumber ceil() const;
    DecimalNumber floor() const;
    enum class Places : uint8_t { round, cut };
    // With so many digits behind the point, none at tens and hundreds if negative. A number that
    // has no room for so many stays as it is.
    DecimalNumber at_places(int places, Places how) const;

    DecimalNumber sqrt() const;
    DecimalNumber exp() const;
    DecimalNumber log() const;
    DecimalNumber log10() const;
    DecimalNumber sin() const;
    DecimalNumber cos() const;
    DecimalNumber tan() const;
    DecimalNumber asin() const;
    DecimalNumber acos() const;
    DecimalNumber atan() const;
    DecimalNumber sinh() const;
    DecimalNumber cosh() const;
    DecimalNumber tanh() const;
    DecimalNumber asinh() const;
    DecimalNumber acosh() const;
    DecimalNumber atanh() const;

  private:
    friend struct DecimalAccess;
    static constexpr uint64_t kExponentOfZero = uint64_t{6176} << 49;

    uint64_t words_[2] = {0, kExponentOfZero};  // the low one first, as BSON has them
};

}  // namespace bson

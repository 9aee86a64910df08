// bson/decimal128.h - the 16 bytes of a decimal128, which stand for a decimal number of up to 34
// digits, an infinity or NaN: as text and as numbers of other kinds. Nothing calculates with them.
#pragma once

#include <cstdint>
#include <string>

namespace bson {

// Returns the text of a decimal: "1.50", "1E+3", "NaN", "-Infinity".
std::string decimal128_text(const uint8_t* bytes);
// Reads the number that a text names; false if it names none, or one beyond what a decimal can hold
// exactly.
bool decimal128_from_text(const std::string& text, uint8_t* bytes);
// Returns the nearest double; an infinity beyond their range.
double decimal128_to_double(const uint8_t* bytes);
// Truncated toward zero and clamped; NaN is 0.
int64_t decimal128_to_int64(const uint8_t* bytes);
bool decimal128_is_finite(const uint8_t* bytes);
// Exactly: 1E-6000 is not, though its double is.
bool decimal128_is_zero(const uint8_t* bytes);

// A finite number: its digits without zeros at either end (none: zero), of which the first one
// counts 10^exponent.
struct Digits {
    bool negative = false;
    std::string digits;
    int exponent = 0;
};

// Reads the digits of a text such as "-12.50E-3", as decimal128 and doubles are printed.
Digits digits_of(const std::string& text);

}  // namespace bson

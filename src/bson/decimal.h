// bson/decimal.h - decimal128: 16 bytes that stand for a decimal number of up to 34 digits, an
// infinity or NaN. Read and compared here; nothing calculates with them.
#pragma once

#include <cstdint>
#include <string>

namespace bson {

class Element;

// As text: "1.50", "1E+3", "NaN", "-Infinity".
std::string decimal_text(const Element& decimal);
// The nearest double; beyond their range an infinity.
double decimal_to_double(const Element& decimal);
// Truncated toward zero and clamped; NaN is 0.
int64_t decimal_to_int64(const Element& decimal);
// Two numbers, one of which at least is a decimal, by their exact values. NaN equals NaN and is
// below every other number.
int compare_decimal(const Element& a, const Element& b);
// Whether the value is a decimal or has one inside.
bool has_decimal(const Element& value);

}  // namespace bson

// bson/decimal.h - values that are decimals or have one inside. Stored and compared here; nothing
// calculates with them.
#pragma once

namespace bson {

// 2^53: every integer below it is a double.
inline constexpr double kExactDoublesEnd = 9007199254740992.0;

class Element;

// Two numbers, one of which at least is a decimal, by their exact values; but where an int64 meets
// a double as a double, from 2^53 to 2^63, a decimal does, too. NaN equals NaN and is below every
// other number.
int compare_decimal(const Element& a, const Element& b);
// Whether the value is a decimal or has one inside.
bool has_decimal(const Element& value);

}  // namespace bson

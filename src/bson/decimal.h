// bson/decimal.h - values that are decimals or have one inside. Stored and compared here; nothing
// calculates with them.
#pragma once

namespace bson {

class Element;

// Two numbers, one of which at least is a decimal, by their exact values. NaN equals NaN and is
// below every other number.
int compare_decimal(const Element& a, const Element& b);
// Whether the value is a decimal or has one inside.
bool has_decimal(const Element& value);

}  // namespace bson

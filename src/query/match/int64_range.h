// query/match/int64_range.h - which numbers a 64-bit integer holds, their fractions cut off.
#pragma once

#include "bson/decimal_number.h"
#include "bson/view.h"

namespace query {

// NaN does not fit.
inline bool fits_int64(const bson::Element& number) {
    using bson::Type;
    if (number.type() == Type::int32 || number.type() == Type::int64) return true;
    if (number.type() == Type::decimal128) return bson::DecimalNumber::of(number).fits_int64();
    const double value = number.to_double();
    constexpr double kEnd = 9223372036854775808.0;
    return value >= -kEnd && value < kEnd;
}

}  // namespace query

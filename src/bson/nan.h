// bson/nan.h - what is not a number though it has the type of one.
#pragma once

#include <cmath>

#include "bson/view.h"

namespace bson {

// A double or a decimal.
inline bool is_nan(const Element& value) {
    return value.is_number() && std::isnan(value.to_double());
}

}  // namespace bson

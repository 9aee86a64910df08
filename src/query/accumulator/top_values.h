// query/accumulator/top_values.h - what $firstN, $maxN, $topN and their like have in common.
#pragma once

#include "base/error.h"
#include "bson/type_names.h"
#include "query/value/value.h"

namespace query {

// How many values are asked for. Throws base::Error 5787902, 5787903, 5787908.
inline int64_t count_of_values(const Value& n) {
    if (!n.is_number())
        base::fail(5787902, "Value for 'n' must be of integral type, but found {}",
                   bson::name_of(n.type()));
    if (n.to_double() != static_cast<double>(n.to_int64()))
        base::fail(5787903, "Value for 'n' must be of integral type, but found {}", n.to_double());
    if (n.to_int64() <= 0)
        base::fail(5787908, "'n' must be greater than 0, found {}", n.to_int64());
    return n.to_int64();
}

}  // namespace query

// query/value/value_order.h - the two orders of values in pipelines.
#pragma once

#include "query/value/value.h"

namespace query {

// Dates and Timestamps: to the old server one class of values, today two (bson/order_of_today.h).
enum class Times : uint8_t { one_class, two_classes };

// Compares in the given order of times; compare_pipeline_values() without it uses today's.
int compare_pipeline_values(const Value& a, const Value& b, const collation::Collator* collator,
                            Times times);

}  // namespace query

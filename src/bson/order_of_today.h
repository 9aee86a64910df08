// bson/order_of_today.h - the order of values as clients of today mean it: all Dates come before
// all Timestamps. To the old server, and so in indexes, both are one class, and a Timestamp counts
// as it stands in memory (bson/compare.h).
#pragma once

#include "bson/view.h"

namespace bson {

// <0, 0, >0, as compare_values and compare_keys in all else.
int compare_values_of_today(const Element& a, const Element& b);
int compare_keys_of_today(Doc a, Doc b, uint32_t descending);
// Whether the two orders may differ for a value: it is a Date or a Timestamp, or has one inside.
bool has_time(const Element& value);
inline bool is_time(const Element& value) {
    return value.type() == Type::date || value.type() == Type::timestamp;
}

struct ValueLessToday {
    bool operator()(const Element& a, const Element& b) const {
        return compare_values_of_today(a, b) < 0;
    }
};

}  // namespace bson

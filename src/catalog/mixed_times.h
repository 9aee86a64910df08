// catalog/mixed_times.h - whether the order of an index is today's (bson/order_of_today.h).
#pragma once

#include "catalog/index_keys.h"

namespace catalog {

// Whether a key was made that stands elsewhere in the index than where Dates and Timestamps are two
// classes: a Timestamp from the first 18 hours of 1970, which no clock gives, or a Date beyond the
// year 10889. All other Timestamps come behind all other Dates anyway. It is known of the keys that
// were made since the index was opened.
bool mixes_times(const KeyGenerator& generator);
// Where such keys came by another generator of the same definition.
void set_mixes_times(const KeyGenerator& generator);

}  // namespace catalog

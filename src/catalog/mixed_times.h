// catalog/mixed_times.h - whether the order of an index is today's (bson/order_of_today.h).
//
// It is another one as soon as a key stands elsewhere than where Dates and Timestamps are two
// classes: one with a Timestamp from the first 18 hours of 1970, which no clock gives, or a Date
// beyond the year 10889. All other Timestamps come behind all other Dates anyway.
//
// The files say nothing of that: old servers write them, too. So each key that is made is looked at
// (KeyGenerator::keys), and the keys that an index had when it was opened are once a query wants
// its order. Until then the order is unknown, and no query may take it for today's.
#pragma once

#include "catalog/index_keys.h"
#include "sched/yield_point.h"

namespace catalog {

struct Index;

enum class OrderOfTimes : uint8_t { unknown, of_today, mixed };
OrderOfTimes order_of_times(const Index& index);
// shared. Looks at those keys that may stand elsewhere: in an index of one field at its Dates,
// Timestamps, documents and arrays, in others at all. Then the order is known. Returns false if the
// index has gone in a yield, and may not be used any more.
bool learn_order_of_times(const Index& index, sched::YieldPoint* yield_point);
// Whether a key was made that stands elsewhere.
bool mixes_times(const KeyGenerator& generator);
void set_mixes_times(const KeyGenerator& generator);
// Looks at a key that is there already.
void note_times(const KeyGenerator& generator, bson::Doc key);
// Whether all keys that its index has have been looked at.
bool knows_times(const KeyGenerator& generator);
void set_knows_times(const KeyGenerator& generator);

}  // namespace catalog

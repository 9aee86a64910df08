// query/plan/interval.h - sets of index key values: ordered lists of disjoint intervals, one list
// per index field.
//
// Ends are Elements that point into the query's filter, into constants, or into a plan's arena; an
// Interval owns nothing. Lists are kept in canonical ascending order while planning; orient() turns
// them into scan order.
#pragma once

#include <string>
#include <vector>

#include "bson/builder.h"
#include "bson/view.h"

namespace query {

struct Interval {
    bson::Element low;
    bson::Element high;
    bool low_inclusive = true;
    bool high_inclusive = true;

    bool is_point() const;
    bool is_all() const {
        return low.type() == bson::Type::min_key && high.type() == bson::Type::max_key &&
               low_inclusive && high_inclusive;
    }
    bool operator==(const Interval& other) const;
};

using IntervalList = sched::Vector<Interval>;
using IndexBounds = sched::Vector<IntervalList>;  // one list for each field of the key

// Values that bound the classes of types.
struct KeyConstants {
    bson::Element min_key, max_key, null, undefined;
    bson::Element nothing;  // undefined, see nothing_there()
    bson::Element not_a_number, minus_infinity, infinity;
    bson::Element lowest_number, highest_number;  // NaN and infinity, see any_number()
    bson::Element empty_string, empty_object, empty_array, empty_binary, lowest_oid, highest_oid;
    // Dates and timestamps have one order: each has the first date and the last timestamp of all.
    bson::Element false_value, true_value, lowest_date, highest_date, lowest_timestamp,
        highest_timestamp;
    bson::Element empty_regex, empty_code, lowest_pointer, empty_scoped_code;
};
const KeyConstants& key_constants();

Interval point(const bson::Element& value);
Interval all_values();
// Undefined and null, which a missing field equals as well. Explain shows null, as the old server
// did, whose indexes missed undefined here.
Interval nothing_there();

// Returns the values that a range operator can reach from a value of this type: those of its type
// class (arrays, objects, ... likewise). Numbers start at NaN, which explain shows as minus
// infinity, as the old server did, whose indexes missed it here.
Interval class_range(bson::Type type);

// Returns the interval of all numbers, as $mod and $type need it. Explain shows the largest finite
// numbers as its ends, as the old server did, whose indexes missed NaN and the infinities here.
Interval any_number();

IntervalList complement(const IntervalList& a);
// Sorts and merges overlapping or touching intervals.
void normalise(IntervalList& list);
// Drops empty intervals ((x, x), low above high).
bool is_empty(const Interval& interval);
// Whether they lie apart and run in that direction (1 up, -1 down), none of them empty. For
// DCHECKs. True where some end may have no place in an order: for large numbers, or documents of
// them.
bool are_in_order(const IntervalList& list, int direction);
// Scan order: `reverse` swaps ends and order.
void orient(IntervalList& list, bool reverse);

// Keeps values that plans make up (hashed values, regex prefixes) alive.
class ValueArena {
  public:
    // The first element of the document, whose bytes are kept.
    bson::Element keep(bson::Object doc) {
        charge_.add(sizeof doc);
        objects_.push_back(std::move(doc));
        return objects_.back().doc().first();
    }

  private:
    std::vector<bson::Object> objects_;  // whose bytes stay where they are when it grows
    sched::Charge charge_;               // of it
};

// Returns the values that both allow; made-up ends go to `arena`.
IntervalList intersect(IntervalList a, IntervalList b, ValueArena& arena);

// A long or a decimal among the large numbers (bson/compare.h). A long equals the nearest double,
// which equals its neighbours, too: as keys they have an order only as doubles.
bool is_beyond_doubles(const bson::Element& value);
bool has_long_end(const IntervalList& list);  // one of those
// Makes such ends doubles one step further out, inclusive; the documents must then decide. Keeps
// the order of the list: `direction` is 1 if it ascends, else -1.
void round_long_ends(IntervalList& list, int direction, ValueArena& arena);

// [[low, high], ...] as explain shows bounds: ends of KeyConstants as the old server had them.
void append_intervals(bson::Builder& out, std::string_view field, const IntervalList& list);
// ["[low, high)", ...] as today's servers show them.
void append_interval_texts(bson::Builder& out, std::string_view field, const IntervalList& list);

}  // namespace query

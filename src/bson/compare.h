// bson/compare.h - the one order of values (wire spec 4.1, mmapv1 spec 6.6 rules 4-6).
//
// Integers compare exactly with each other, but as doubles with doubles. Beyond 2^53 being equal is
// therefore not transitive: the double 2^53 equals the int64s 2^53 and 2^53 + 1, which differ.
// Decimals compare exactly, but with doubles from 2^53 to 2^63 as doubles, as the int64s there.
// Among plain numbers "less" stays transitive; in documents and keys of several fields even that
// may fail there (a < b < c < a). Sort with std::stable_sort, which such an order leads to an
// arbitrary arrangement, not with std::sort, which it leads out of the range.
#pragma once

#include "bson/view.h"

namespace bson {

// Whether it is one of those numbers, from 2^53 on, of either sign. An infinite double is none: all
// finite numbers are on the same side of it.
bool is_large_number(const Element& value);

// <0, 0, >0. Values only, names ignored at this level (names inside embedded documents count).
int compare_values(const Element& a, const Element& b);

// Element by element: class, then name (if `names`), then value; shorter is smaller.
int compare_docs(Doc a, Doc b, bool names = true);

// Index keys: names ignored; field i is negated where bit i of `descending` is set. A key that is a
// prefix of the other is smaller, whatever the direction.
int compare_keys(Doc a, Doc b, uint32_t descending);

inline bool equal_values(const Element& a, const Element& b) {
    return compare_values(a, b) == 0;
}

struct ValueLess {
    bool operator()(const Element& a, const Element& b) const { return compare_values(a, b) < 0; }
};

// Returns a hash for tables: equal values hash alike, whatever their numeric type.
size_t hash_value(const Element& value);
struct ValueHash {
    size_t operator()(const Element& value) const { return hash_value(value); }
};
struct ValueEqual {
    bool operator()(const Element& a, const Element& b) const { return compare_values(a, b) == 0; }
};

}  // namespace bson

// query/plan/bounds.h - which keys of an index field a predicate can match.
//
// The rule. A predicate P on the path of an index field has bounds, a set of keys, and
//
//     promise    every document in the index that P matches has a key in the bounds;
//     exact      and P matches every document that has a key in the bounds.
//
// A scan of the bounds therefore finds all of P's documents, whatever the operator and the kind of
// index, and fetches a document to evaluate P on it unless the bounds are exact. The rule follows
// from the keys that a document can have (catalog/index_keys.h), against the values that the
// matcher visits at the path (query/match/path.h):
//
//  1. A visited value that is no array is a key. An element of an array at the end of the path is a
//     key, too, also one that is an array itself; the array as a whole is none. A predicate that
//     whole arrays can satisfy takes in a key of each of them: one element, or undefined of [].
//  2. The converse holds but for two keys. Null also stands for a missing field and, on a path of
//     several parts, for an array on the way that leads nowhere, where the matcher visits nothing.
//     Undefined also stands for []. Bounds with one of them in it are not exact.
//  3. The matcher takes missing, null and undefined for equal.
//  4. If a part behind the first is a number ("a.0"), the matcher also looks for a field of that
//     name in the elements: it finds them missing, and no key says so. A document that satisfies P
//     by a missing field may then be under any key. An array that is named by number is a key as a
//     whole.
//  5. MinKey and MaxKey compare with everything, missing fields and whole arrays included.
//  6. An index that is not multikey says only that each document has one key or none: [5] and []
//     are in it. Bounds never depend on that, only what else may be done with them:
//      - the bounds of several predicates of one document go together, on one field or on several,
//        if the documents have one key. In a multikey index only the bounds of predicates that mean
//        the same element go together (index_bounds.cpp may_combine);
//      - the opposite of exact bounds is exact for such documents only.
//  7. The opposite of P ($not, $ne, $nin) can leave out of its bounds the keys that P is sure to
//     match. The other keys keep the promise for it on a multikey index, too: a document that P
//     does not match has none of the keys that P is sure to match.
//  8. A sparse index has no document of which all fields are missing: it is of no use to a
//     predicate that a missing field satisfies. A hash says nothing but equality.
//  9. Inside $elemMatch a predicate is about one element as it is, and so about its key. One that
//     goes on by number from the element ("0" of {a: {$elemMatch: {"0": 1}}}) goes into an array
//     inside of the array, not into the one that the index field goes into: none is of use to it
//     (conjunction.cpp).
#pragma once

#include "catalog/collection.h"
#include "query/match/match_tree.h"
#include "query/plan/interval.h"

namespace query {

// How much the bounds alone decide.
enum class Tightness {
    exact,          // every key inside is a match
    check_key,      // the predicate must still be evaluated, but the key is enough for it
    check_document  // only the document tells
};

struct PredicateBounds {
    IntervalList intervals;
    Tightness tightness = Tightness::exact;
};

// A field of an index, and what its path has to do with its keys.
struct IndexField {
    IndexField(const catalog::Index& of, size_t number);

    const catalog::Index& index;
    bool nested = false;    // the path has several parts
    bool numbered = false;  // and one behind the first is a number
    size_t place = 0;       // among the fields
    bool nameless = false;  // the last one is empty: over an array it means the array
};

// Whether the field can be used for a predicate of this kind on its path.
bool can_use(const MatchNode& node, const IndexField& field);

// The keys. can_use() must have agreed. Made-up values go to `arena`.
PredicateBounds bounds_of(const MatchNode& node, const IndexField& field, ValueArena& arena);

}  // namespace query

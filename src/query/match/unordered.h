// query/match/unordered.h - an order of values for which the fields of a document have none:
// {a: 1, b: 2} is {b: 2, a: 1}. For the keywords of $jsonSchema that ask whether values are equal.
#pragma once

#include "bson/view.h"

namespace query {

// Returns <0, 0, >0. Compares as bson::compare_values does, but documents, at any depth, with their
// fields sorted by name.
int compare_unordered(const bson::Element& a, const bson::Element& b);
int compare_unordered(bson::Doc a, bson::Doc b);

}  // namespace query

// query/update/document_difference.h - what makes one document of another, as $set and $unset, and
// as $push for an array that has lost its last elements.
#pragma once

#include "bson/builder.h"

namespace query {

// Writes {$set: {path: value, ...}, $unset: {path: true, ...}, $push: {path: {$each: [], $slice:
// new size}, ...}} to an empty buffer, of at most `bytes_max` and paths_max paths: applied in that
// order (Update::Options::in_given_order) it makes `after` of `before`, byte for byte. False, and
// what is written does not count, where these operators do not: fields that stay have changed their
// places, or new ones come before them; names that are no part of a path; a number that has become
// one of another type that equals it.
bool write_difference(bson::Doc before, bson::Doc after, size_t bytes_max, size_t paths_max,
                      bson::Buffer& out);

}  // namespace query

// query/update/document_check.h - which field names and nesting an update may store.
//
// Inserts are laxer (query/update/update.h fix_for_insert); these rules are those of updates and
// upserts: no name starts with '$' except in a well-formed DBRef, no stored name holds a dot.
#pragma once

#include "bson/view.h"

namespace query {

// True if the value holds no embedded document with a name that starts with '$' or holds a dot, so
// that it needs no check after it was written.
bool names_are_clean(const bson::Element& value);

// Checks all fields of a document or array, at any depth. `depth` is the nesting at which it
// stands. Throws base::Error 52, 55, 57, or 15 where nesting passes bson::kMaxDepth.
void check_stored_names(bson::Doc doc, bool is_array, int depth);

// Checks the element at `path` of a document (not its value's inside): its own name, seen among its
// siblings. `previous` and `parent` give the siblings.
void check_stored_name(const bson::Element& e, const bson::Element& previous, bson::Doc parent);

}  // namespace query

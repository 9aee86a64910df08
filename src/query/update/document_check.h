// query/update/document_check.h - which field names and nesting an update may store.
//
// Inserts are laxer (query/update/update.h fix_for_insert); these rules are those of updates and
// upserts: no name starts with '$' except in a well-formed DBRef, no stored name holds a dot. A
// client of OP_MSG may store both, as later servers let it; in `_id` only dots.
#pragma once

#include <cstdint>

#include "bson/view.h"
#include "dialect/dialect.h"
#include "dialect/updates.h"

namespace query {

enum class FieldNames : uint8_t {
    plain,   // the rules above
    dotted,  // dots may be there
    any,
};
// Returns the names that a document may have by OP_MSG, and by the old messages.
constexpr FieldNames names_in_documents(dialect::Dialect dialect) {
    return dialect.has(dialect::kNamesAreFree) ? FieldNames::any : FieldNames::plain;
}
// Throws base::Error 2: a client of today may store only one `_id` in a document.
[[noreturn]] void refuse_second_id();
constexpr FieldNames names_in_id(dialect::Dialect dialect) {
    return dialect.has(dialect::kNamesAreFree) ? FieldNames::dotted : FieldNames::plain;
}

// True if the value holds no embedded document with a name that starts with '$' or holds a dot, so
// that it needs no check after it was written.
bool names_are_clean(const bson::Element& value);

// Checks all fields of a document or array, at any depth. `depth` is the nesting at which it
// stands. Throws base::Error 52, 55, 57, or 15 where nesting passes bson::kDepthMax.
void check_stored_names(bson::Doc doc, bool is_array, int depth, FieldNames names);

// Checks an element of a document (not its value's inside): its own name, seen beside that of the
// element before it, which is missing for the first one, and of the one behind it.
void check_stored_name(const bson::Element& e, const bson::Element& previous, FieldNames names);

}  // namespace query

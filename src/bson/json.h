// bson/json.h - text forms: the shell-like notation of logs and error messages, and extended JSON
// for tests and tools.
#pragma once

#include <string>
#include <string_view>

#include "bson/builder.h"
#include "bson/view.h"

namespace bson {

// { a: 1, b: "x", c: ObjectId('...'), d: [ 1, 2 ] } as the old server printed documents and values.
std::string to_text(Doc doc);
std::string to_text(const Element& value);
// An index key as duplicate key messages show it: { : 1, : "x" }.
std::string key_to_text(Doc key);

// Canonical extended JSON v2 (by libbson), for tests and tools.
std::string to_json(Doc doc);
// Parses (extended) JSON; throws base::Error 9. $undefined, $symbol and $dbPointer are understood.
Object from_json(std::string_view json);

}  // namespace bson

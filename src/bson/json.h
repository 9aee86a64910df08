// bson/json.h - documents as text: in the shell-like notation of logs and error messages, and as
// extended JSON.
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

// Canonical extended JSON v2 (by libbson). Throws base::Error
// kInvalidBSON where there is none that readers take: texts that are not UTF-8, more than 90
// levels.
std::string to_json(Doc doc);
// Reads JSON by libbson, relaxed or canonical. Throws base::Error 9, also for what nests more than
// 100 levels deep. $undefined, $symbol and $dbPointer are understood.
Object from_json(std::string_view json);

}  // namespace bson

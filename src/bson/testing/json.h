// bson/testing/json.h - canonical extended JSON to BSON, for the oracle's files in tests. libbson's
// reader (bson/json.h) takes $regex and $type operators for values and misreads $code in arrays.
#pragma once

#include <string>
#include <string_view>

#include "bson/builder.h"

namespace bson {

// Type wrappers are recognised only in the exact shape that the canonical form gives them, so that
// query operators of the same name ({$regex, $options}, {$type}) stay what they are. Throws
// std::runtime_error.
bson::Object parse_test_json(std::string_view json);

}  // namespace bson

// bson/testing/json.h - extended JSON to BSON, in two ways: what a test writes by hand (from_json
// of bson/json.h), and the oracle's files, since libbson takes $regex and $type operators for
// values and misreads $code in arrays.
#pragma once

#include <string>
#include <string_view>

#include "bson/builder.h"
#include "bson/json.h"

namespace bson {

// Canonical. Type wrappers are recognised only in the exact shape that the canonical form gives
// them, so that query operators of the same name ({$regex, $options}, {$type}) stay what they are.
// Throws std::runtime_error.
bson::Object parse_test_json(std::string_view json);

}  // namespace bson

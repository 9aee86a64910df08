// catalog/value_hash.h - the hash that a hashed index stores for a value (mmapv1 spec 6.9).
#pragma once

#include <cstdint>

#include "bson/view.h"

namespace catalog {

// Equal numbers of different types hash alike, and so do numbers with the same whole part; a
// missing value hashes as null.
int64_t hash_value(const bson::Element& value, int32_t seed);

}  // namespace catalog

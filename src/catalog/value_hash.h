// catalog/value_hash.h - the hash that a hashed index stores for a value (mmapv1 spec 6.9).
#pragma once

#include <cstdint>

#include "bson/view.h"

namespace catalog {

// Equal numbers of different types hash alike, and so do numbers with the same whole part; a
// missing value hashes as null.
int64_t hash_value(const bson::Element& value, int32_t seed);

// The seed of an index definition: the number, truncated to 32 bits; 0 for anything else.
int32_t hash_seed(const bson::Element& seed);

}  // namespace catalog

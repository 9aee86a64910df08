// storage/index_limits.h - how much a key pattern may have: the catalogue derives no keys by more,
// and an engine does not keep up an index that has it.
#pragma once

#include <cstddef>

namespace storage {

constexpr int kKeyFieldsMax = 32;
// The most parts in the path of a field, in an index that is there already; new ones have fewer.
constexpr size_t kStoredPartsMax = 1024;

}  // namespace storage

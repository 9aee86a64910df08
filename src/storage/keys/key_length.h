// storage/keys/key_length.h - how long a key is for the limit of an index. It is the length that a
// v:1 index of mmapv1 stores (mmapv1 spec 6.5), so that every engine refuses the same documents.
#pragma once

#include <cstddef>

#include "bson/view.h"

namespace keys {

constexpr size_t kKeyLengthMax = 1024;

// Field names do not count.
size_t key_length(bson::Doc key);

}  // namespace keys

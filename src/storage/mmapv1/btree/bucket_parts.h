// storage/mmapv1/btree/bucket_parts.h - the parts of a bucket that an entry changes when it is put
// into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/mmapv1/btree/layout.h"

namespace mmapv1 {

// Returns the counters of the header: bytes of the hole and of key data, keys.
inline std::span<uint8_t> counters_of(uint8_t* bucket) {
    constexpr size_t kBegin = offsetof(BucketHeader, empty);
    return {bucket + kBegin, sizeof(BucketHeader) - kBegin};
}
// The nodes from one position up to another.
inline std::span<uint8_t> nodes_of(uint8_t* bucket, size_t from, size_t to) {
    return {bucket + sizeof(BucketHeader) + from * kNodeBytes, (to - from) * kNodeBytes};
}
inline std::span<uint8_t> key_of(uint8_t* bucket, uint16_t key_data, uint16_t key_bytes) {
    return {bucket + sizeof(BucketHeader) + key_data, key_bytes};
}

}  // namespace mmapv1

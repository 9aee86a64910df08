// base/crc32c.h - CRC-32C (Castagnoli), as messages with a checksum carry it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace base {

// The checksum of `size` bytes. Pass an earlier result as `seed` to go on where it stopped.
uint32_t crc32c(const void* data, size_t size, uint32_t seed = 0);

}  // namespace base

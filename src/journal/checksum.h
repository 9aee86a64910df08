// journal/checksum.h - the 16-byte hash of a section (journal spec 2.7): two sums, not
// cryptographic.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace journal {

using Hash = std::array<uint8_t, 16>;

Hash checksum(std::span<const uint8_t> bytes);

}  // namespace journal

// text/hash.h - the hash that stands for the rest of a long term: MurmurHash3, x64, 128 bits.
#pragma once

#include <string>
#include <string_view>

namespace text {

// Its bytes in the order of memory, as 32 digits; the seed is 0.
std::string hash_in_hex(std::string_view text);

}  // namespace text

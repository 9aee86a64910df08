#include "journal/checksum.h"

#include <cstring>

namespace journal {

namespace {

// Sum of (word i xor i) over n little-endian words.
uint64_t sum(const uint8_t* p, uint64_t n) {
    uint64_t total = 0;
    for (uint64_t i = 0; i < n; ++i) {
        uint64_t word;
        std::memcpy(&word, p + 8 * i, sizeof word);
        total += word ^ i;
    }
    return total;
}

}  // namespace

Hash checksum(std::span<const uint8_t> bytes) {
    const uint64_t half = bytes.size() / 16;
    uint64_t words[2] = {sum(bytes.data(), half), sum(bytes.data() + 8 * half, half)};
    // The rest goes in as signed bytes: one of 0x80 or above sets all bits above itself.
    uint64_t rest = 0;
    for (const uint8_t byte : bytes.subspan(16 * half))
        rest = (rest << 8) | static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(byte)));
    words[0] ^= bytes.size();
    words[1] ^= rest;
    Hash hash;
    std::memcpy(hash.data(), words, hash.size());
    return hash;
}

}  // namespace journal

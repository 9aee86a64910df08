#include "base/crc32c.h"

#include <array>

namespace base {

namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

constexpr std::array<uint32_t, 256> make_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit)
            value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
        table[i] = value;
    }
    return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

}  // namespace

uint32_t crc32c(const void* data, size_t size, uint32_t seed) {
    const auto* p = static_cast<const uint8_t*>(data);
    uint32_t crc = ~seed;
    for (size_t i = 0; i < size; ++i)
        crc = (crc >> 8) ^ kTable[(crc ^ p[i]) & 0xff];
    return ~crc;
}

}  // namespace base

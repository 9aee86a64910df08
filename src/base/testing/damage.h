// base/testing/damage.h - bytes as transmission errors, bad disks and attackers change them.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <span>

namespace base {

// Makes one to four changes: a bit, a byte, or an aligned or unaligned number that lengths, offsets
// and counts are sensitive to.
inline void damage(std::span<uint8_t> bytes, std::mt19937& random) {
    constexpr int32_t kNumbers[] = {0,  1,      -1,         4,          5,          16,
                                    -2, 0x7fff, 0x10000000, 0x7fffffff, -0x7fffffff};
    if (bytes.empty()) return;
    for (auto changes = random() % 4; changes < 4; ++changes) {
        const size_t at = random() % bytes.size();
        switch (random() % 3) {
            case 0:
                bytes[at] ^= static_cast<uint8_t>(1U << random() % 8);
                break;
            case 1:
                bytes[at] = static_cast<uint8_t>(random());
                break;
            default: {
                const int32_t number = kNumbers[random() % std::size(kNumbers)];
                std::memcpy(&bytes[at], &number, std::min(sizeof number, bytes.size() - at));
            }
        }
    }
}

}  // namespace base

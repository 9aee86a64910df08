#include "text/hash.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace text {

namespace {

constexpr uint64_t kFirst = 0x87c37b91114253d5;
constexpr uint64_t kSecond = 0x4cf5ad432745937f;

uint64_t finish(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccd;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53;
    return x ^ (x >> 33);
}

uint64_t first_mixed(uint64_t x) {
    return std::rotl(x * kFirst, 31) * kSecond;
}
uint64_t second_mixed(uint64_t x) {
    return std::rotl(x * kSecond, 33) * kFirst;
}

// Up to eight bytes, the first one lowest.
uint64_t number_of(std::string_view bytes) {
    uint64_t number = 0;
    std::memcpy(&number, bytes.data(), bytes.size());
    return number;
}

}  // namespace

std::string hash_in_hex(std::string_view text) {
    uint64_t a = 0;
    uint64_t b = 0;
    const size_t size = text.size();
    for (; text.size() >= 16; text.remove_prefix(16)) {
        a = (std::rotl(a ^ first_mixed(number_of(text.substr(0, 8))), 27) + b) * 5 + 0x52dce729;
        b = (std::rotl(b ^ second_mixed(number_of(text.substr(8, 8))), 31) + a) * 5 + 0x38495ab5;
    }
    if (text.size() > 8) b ^= second_mixed(number_of(text.substr(8)));
    if (!text.empty()) a ^= first_mixed(number_of(text.substr(0, 8)));
    a ^= size;
    b ^= size;
    a += b;
    b += a;
    a = finish(a);
    b = finish(b);
    a += b;
    b += a;
    std::string out;
    for (const uint64_t half : {a, b}) {
        for (int byte = 0; byte < 8; ++byte) {
            constexpr std::string_view kDigits = "0123456789abcdef";
            const auto value = static_cast<unsigned>(half >> (8 * byte)) & 0xff;
            out += kDigits[value >> 4];
            out += kDigits[value & 15];
        }
    }
    return out;
}

}  // namespace text

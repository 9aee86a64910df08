// storage/kv/bytes.h - numbers in the keys of rows: big-endian, so that they are in order.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "base/dcheck.h"
#include "storage/kv/map.h"

namespace kv {

template <typename T>
std::array<uint8_t, sizeof(T)> big_endian(T value) {
    std::array<uint8_t, sizeof(T)> bytes{};
    for (size_t i = sizeof(T); i > 0; --i, value = static_cast<T>(value >> 8))
        bytes[i - 1] = static_cast<uint8_t>(value);
    return bytes;
}

// REQUIRES: at least as many bytes.
template <typename T>
T from_big_endian(Bytes bytes) {
    DCHECK(bytes.size() >= sizeof(T));
    T value = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
        value = static_cast<T>(value << 8 | bytes[i]);
    return value;
}

inline Bytes as_bytes(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline std::string_view as_text(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace kv

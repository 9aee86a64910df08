#include "journal/stored_payload.h"

#include <vector>

namespace journal {

namespace {

std::vector<StoreRule>& rules() {
    static auto* instance = new std::vector<StoreRule>;  // filled from other files' static objects
    return *instance;
}

size_t write_varint(uint8_t* to, size_t value) {
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = static_cast<uint8_t>(value | 0x80);
    to[n++] = static_cast<uint8_t>(value);
    return n;
}

}  // namespace

StoreRuleRegistration::StoreRuleRegistration(StoreRule rule) {
    rules().push_back(rule);
}

bool is_stored(size_t raw_bytes, const FileFormat& format) {
    for (const StoreRule rule : rules())
        if (rule(raw_bytes, format)) return true;
    return false;
}

size_t write_stored_prefix(uint8_t* to, size_t raw_bytes) {
    const size_t varint = write_varint(to, raw_bytes);
    // A literal's tag says how many bytes its length takes: 60 + n in the upper six bits.
    size_t length_bytes = 4;
    if (raw_bytes <= kMaxInPlaceBytes) length_bytes = kInPlacePrefix - varint - 1;
    size_t n = varint;
    to[n++] = static_cast<uint8_t>((59 + length_bytes) << 2);
    for (size_t i = 0; i < length_bytes; ++i)
        to[n++] = static_cast<uint8_t>((raw_bytes - 1) >> (8 * i));
    return n;
}

}  // namespace journal

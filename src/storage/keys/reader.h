// storage/keys/reader.h - taking an encoded key apart; the bytes may be any.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"

namespace keys {

[[noreturn]] inline void damaged(const char* what) {
    base::fail(base::kInternalError, "an index key is damaged: {}", what);
}

// Walks over bytes that may be complemented. Throws base::Error where one is missing.
class Reader {
  public:
    enum class AtEnd : uint8_t {
        refuse,
        zeros
    };  // zeros: as `types`, whose last ones are left out

    Reader(std::span<const uint8_t> bytes, AtEnd at_end) : rest_(bytes), at_end_(at_end) {}

    bool at_end() const { return rest_.empty(); }
    void complement(uint8_t mask) { mask_ ^= mask; }

    uint8_t take() {
        if (rest_.empty()) {
            if (at_end_ == AtEnd::zeros) return 0;
            damaged("it ends inside a value");
        }
        const uint8_t byte = rest_.front();
        rest_ = rest_.subspan(1);
        return byte ^ mask_;
    }
    // Big-endian.
    uint64_t take_integer(int bytes) {
        uint64_t value = 0;
        for (int i = 0; i < bytes; ++i)
            value = value << 8 | take();
        return value;
    }
    // At most what is left, so that a length that is damaged asks for no memory.
    size_t size() const { return rest_.size(); }

  private:
    std::span<const uint8_t> rest_;
    uint8_t mask_ = 0;
    AtEnd at_end_;
};

}  // namespace keys

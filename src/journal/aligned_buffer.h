// journal/aligned_buffer.h - growable memory at an address that direct I/O accepts.
//
// Contents survive growth; there is no shrinking, since a commit thread uses the same buffer for
// ever. Growth: doubling up to 128 MB, then steps of 64 MB; above 256 MB a warning (journal spec
// 1.3). Above 3 GB, where the length of a section would no longer fit its 32 bits, the process
// ends: WriteCollector::kMostBytes and WriteAdmission keep commits from coming near.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace journal {

class AlignedBuffer {
  public:
    explicit AlignedBuffer(size_t capacity);

    uint8_t* data() { return data_.get(); }
    const uint8_t* data() const { return data_.get(); }
    size_t size() const { return size_; }
    size_t capacity() const { return capacity_; }
    void resize(size_t size) {  // new bytes are unspecified
        reserve(size);
        size_ = size;
    }
    void reserve(size_t capacity) {
        if (capacity > capacity_) grow(capacity);
    }
    uint8_t* extend(size_t bytes) {
        const size_t at = size_;
        resize(size_ + bytes);
        return data() + at;
    }
    void append(const void* bytes, size_t n) {
        if (n != 0) std::memcpy(extend(n), bytes, n);
    }
    template <typename T>
    void append_value(const T& value) {
        append(&value, sizeof value);
    }

  private:
    struct Free {
        void operator()(uint8_t* p) const;
    };
    void grow(size_t needed);

    std::unique_ptr<uint8_t[], Free> data_;
    size_t size_ = 0;
    size_t capacity_ = 0;
};

}  // namespace journal

// journal/aligned_buffer.h - growable memory at an address that direct I/O accepts.
//
// Contents survive growth. Growth: doubling up to 128 MB, then steps of 64 MB; above 256 MB a
// warning (journal spec 1.3). Above 3 GB, where the length of a section would no longer fit its 32
// bits, the process ends: CommitLimits::most_bytes and WriteAdmission keep commits from coming
// near. Commits use the same buffer for ever: memory that one large commit needed is freed, since
// no limit counts it (sched/memory.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace journal {

class AlignedBuffer {
  public:
    static constexpr size_t kKeptBytesMax = size_t{256} << 20;
    static constexpr int kUsesPerLook = 64;

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

    // The end of a use, and of what is in it. Beyond kKeptBytesMax all but the first capacity is
    // given back; short of that whatever is four times as much as kUsesPerLook uses have needed.
    void end_use();

  private:
    struct Free {
        void operator()(uint8_t* p) const;
    };
    size_t capacity_for(size_t needed) const;
    void grow(size_t needed);

    std::unique_ptr<uint8_t[], Free> data_;
    size_t size_ = 0;
    size_t capacity_ = 0;
    size_t first_capacity_ = 0;
    size_t most_needed_ = 0;  // since the last look
    int uses_ = 0;
};

}  // namespace journal

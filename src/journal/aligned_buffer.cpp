#include "journal/aligned_buffer.h"

#include <new>

#include "base/error.h"
#include "base/log.h"
#include "journal/format.h"

namespace journal {

namespace {

constexpr size_t kMB = size_t{1} << 20;
constexpr size_t kMostMB = 3 * 1024;
constexpr auto kAlignment = std::align_val_t{kBufferAlignment};

uint8_t* allocate(size_t bytes) {
    return static_cast<uint8_t*>(::operator new(bytes, kAlignment));
}

}  // namespace

void AlignedBuffer::Free::operator()(uint8_t* p) const {
    ::operator delete(p, kAlignment);
}

AlignedBuffer::AlignedBuffer(size_t capacity) : data_(allocate(capacity)), capacity_(capacity) {}

void AlignedBuffer::grow(size_t needed) {
    size_t capacity = capacity_;
    while (capacity < needed)
        capacity = capacity < 128 * kMB ? 2 * capacity : capacity + 64 * kMB;
    if (capacity > kMostMB * kMB)
        base::fatal(13548, fmt::format("journal buffer of {} bytes is too large", needed));
    if (capacity > 256 * kMB) base::log::warning("journal buffer grows to {}MB", capacity / kMB);
    std::unique_ptr<uint8_t[], Free> larger(allocate(capacity));
    std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
    capacity_ = capacity;
}

}  // namespace journal

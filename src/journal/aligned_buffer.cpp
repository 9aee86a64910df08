#include "journal/aligned_buffer.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "journal/format.h"

namespace journal {

namespace {

constexpr size_t kMB = size_t{1} << 20;
constexpr size_t kMBMax = 3 * 1024;
constexpr auto kAlignment = std::align_val_t{kBufferAlignment};

static_assert(std::has_single_bit(kBufferAlignment));
static_assert(AlignedBuffer::kKeptBytesMax < kMBMax * kMB);
static_assert(kMBMax * kMB <= UINT32_MAX);  // the length of a section

uint8_t* allocate(size_t bytes) {
    return static_cast<uint8_t*>(::operator new(bytes, kAlignment));
}

}  // namespace

void AlignedBuffer::Free::operator()(uint8_t* p) const {
    ::operator delete(p, kAlignment);
}

AlignedBuffer::AlignedBuffer(size_t capacity)
    : data_(allocate(capacity)), capacity_(capacity), first_capacity_(capacity) {
    DCHECK(capacity != 0);  // it is doubled
}

size_t AlignedBuffer::capacity_for(size_t needed) const {
    size_t capacity = first_capacity_;
    while (capacity < needed)
        capacity = capacity < 128 * kMB ? 2 * capacity : capacity + 64 * kMB;
    return capacity;
}

void AlignedBuffer::end_use() {
    most_needed_ = std::max(most_needed_, std::exchange(size_, 0));
    const bool too_much = capacity_ > kKeptBytesMax;
    if (++uses_ < kUsesPerLook && !too_much) return;
    const size_t enough = too_much ? first_capacity_ : capacity_for(most_needed_);
    uses_ = 0;
    most_needed_ = 0;
    if (enough > capacity_ / 4) return;
    try {
        data_.reset(allocate(enough));
        capacity_ = enough;
    } catch (const std::bad_alloc&) {  // then this one will do
    }
}

void AlignedBuffer::grow(size_t needed) {
    const size_t capacity = capacity_for(needed);
    if (capacity > kMBMax * kMB)
        base::fatal(13548, fmt::format("journal buffer of {} bytes is too large", needed));
    if (capacity > 256 * kMB) base::log::warning("journal buffer grows to {}MB", capacity / kMB);
    std::unique_ptr<uint8_t[], Free> larger(allocate(capacity));
    std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
    capacity_ = capacity;
    DCHECK(capacity_ >= needed && size_ <= capacity_);
}

}  // namespace journal
